package seccomp

import "golang.org/x/sys/unix"

const (
	// NativeArch is the one kind of calls that a filter lets through; 0 where no filter
	// is written for the machine.
	NativeArch = unix.AUDIT_ARCH_AARCH64
	x32Bit     = 0
)

// This machine has the common calls only.
var own, ownAttributes, ownRefused []uint32

// ownModes and ownCreates are as modes and creates.
var (
	ownModes   map[uint32]int
	ownCreates map[uint32][2]int
)
