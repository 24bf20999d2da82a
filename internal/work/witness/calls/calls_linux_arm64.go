package calls

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	x32Bit     = 0
)

// own are the calls that this machine has beside the common ones.
var own []numbered
