// Package proc runs commands and ends them with everything they started.
//
// A [Process] leads a session of its own. When it ends, or is killed, whatever
// it left behind ends too: its group, its descendants, and on Linux also
// daemons that left both, because Kerf adopts orphans (it is a subreaper) and
// knows its own by a random mark, KERF_RUN, in their environment. When Kerf
// itself is killed, the kernel kills the leaders and a small watchdog shell
// kills the rest. What escapes: a process that clears its environment, starts
// a session of its own and survives a Kerf that was killed with SIGKILL. The
// sandbox has no such gap, its process namespace ends as a whole.
//
// Output is kept in bounded memory, head and tail, with the exact number of
// bytes that were left out between them.
package proc
