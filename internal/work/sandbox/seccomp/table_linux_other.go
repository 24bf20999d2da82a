//go:build linux && !amd64 && !arm64

package seccomp

// No filter is written for this kind of machine; the sandbox refuses.
const (
	NativeArch = 0
	x32Bit     = 0
)

var (
	allowed, own, shared, attributes, ownAttributes, ofProcess, refused, ownRefused []uint32
	ofSome                                                                          map[uint32]uint32
)
