//go:build !linux

// Package listener takes the calls that a seccomp filter reports, on Linux.
package listener
