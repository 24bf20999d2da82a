// Package placeholders puts something in the place of protected names that are absent, while
// commands run. They are shared by all sandboxes of a workspace, of any Kerf process.
//
// For every directory that has some there is a file in the lock directory, which
// lists them. Whoever needs them holds a shared flock on it, makes what is
// missing, and adds it to the list. Who ends tries for the exclusive lock: the
// last one gets it, removes what is listed and empties the file. The kernel
// drops the locks of a killed Kerf; its watchdog does the same then.
//
// In a try the same path is another directory, with a list of its own.
//
// A Kerf with another home has another lock directory, so the directory of the
// placeholders is locked in the same way. Its lock is never waited for: anybody
// may hold it.
//
// A placeholder that is a directory may be filled meanwhile, as git does beside
// the command. Then it stays when the last one ends, as whoever filled it would
// have made it.
package placeholders
