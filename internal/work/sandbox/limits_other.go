//go:build !linux

package sandbox

// DefaultLimits has none here: nothing would hold them.
func DefaultLimits() Limits { return Limits{} }
