//go:build !linux

// Package calls lists the system calls that change names or contents of files, on Linux.
package calls
