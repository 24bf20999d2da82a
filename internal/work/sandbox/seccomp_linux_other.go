//go:build linux && !amd64 && !arm64

package sandbox

// No filter is written for this kind of machine; Wrap refuses.
const (
	nativeArch = 0
	x32Bit     = 0
)
