//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// makeFIFO makes one that nobody ever writes to.
func makeFIFO(v *victim, path string) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		v.t.Skip(err)
	}
}

// ranUser runs the user's own git as it is configured, and tells how it ended.
func ranUser(v *victim, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = v.repo, v.env
	return cmd.Run()
}
