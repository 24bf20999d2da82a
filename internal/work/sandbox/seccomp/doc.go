// Package seccomp says which system calls a sandboxed program may make, and makes the
// filter that holds it to them.
//
// The tables name what is allowed. A call that is in no table is answered as by a kernel
// that does not have it, so the calls of kernels to come are closed until somebody has
// looked at them.
package seccomp
