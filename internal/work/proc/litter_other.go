//go:build !linux

package proc

// Litter does nothing here: only the Linux sandbox leaves placeholders.
func Litter(lock, path string) (forget func()) { return func() {} }
