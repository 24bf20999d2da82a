// Package launch carries a sandbox program out in the process that becomes it.
//
// Kerf compiles a plan into a list of system calls ([Program]), puts it into a
// memory file and starts its own binary again with that file as descriptor 3.
// This package sees that before anything else of Kerf is initialised. A launcher that was started
// before its program was made waits for the word that it is there before it reads it; the first
// process is cloned by then, and waits, too:
//
//	launcher    clones the first process of the new namespaces, waits for it
//	            and passes its exit code on; dies with Kerf
//	first       runs the list, which ends with the seccomp filter; forks the
//	            command, reaps, and ends when the command does; dies with the
//	            launcher, and the kernel ends the rest with it
//	command     leads a session of its own and runs the program
//
// First and command come from a fork of a Go program. Between fork and exec
// nothing may allocate, grow the stack or wait for the runtime: hence a list of
// calls that was made beforehand, and raw calls only.
//
// The package imports syscall and unsafe alone. The order in which Go
// initialises packages then runs it first, before package os raises the limit
// of open files and before everything that costs time.
package launch

// Flag, as the first argument, makes the binary a launcher.
const Flag = "--kerf-launch"
