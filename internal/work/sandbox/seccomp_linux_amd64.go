package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	// x32Bit marks calls of the x32 interface.
	x32Bit = 0x40000000
)
