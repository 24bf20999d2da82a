//go:build !linux

// Package faults runs a program and kills it, or makes a call fail, at a chosen system
// call. Only Linux offers what it needs.
package faults

import (
	"errors"
	"os/exec"
	"syscall"
)

// Plan says what happens at which call.
type Plan struct {
	At     int
	Kill   bool
	Errno  syscall.Errno
	Sticky bool
	Opens  bool
	See    func(Call)
	Below  []string
}

// Call is one counted call.
type Call struct{ Name, Path string }

// String returns name and path.
func (c Call) String() string { return c.Name + " " + c.Path }

// ErrUnavailable says that the system does not let us watch calls.
var ErrUnavailable = errors.New("system calls cannot be watched here")

// Flush tells whether the call asks the disk to keep what it has.
func (c Call) Flush() bool { return false }

// Run fails with ErrUnavailable.
func Run(*exec.Cmd, Plan) ([]Call, error) { return nil, ErrUnavailable }

// Child does nothing.
func Child() {}
