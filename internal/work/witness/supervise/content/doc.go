//go:build !linux

// Package content keeps what files hold before it is changed.
package content
