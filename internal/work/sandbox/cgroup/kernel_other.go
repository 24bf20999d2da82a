//go:build !linux

package cgroup

// Own has no parent: cgroups are Linux's.
func Own() (*Parent, error) { return nil, ErrNone }

func name() string { return "" }
