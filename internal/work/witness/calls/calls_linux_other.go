//go:build linux && !amd64 && !arm64

package calls

// Other machines have no witness: nativeArch is none of theirs.
const (
	nativeArch = 0
	x32Bit     = 0
)

var own []numbered
