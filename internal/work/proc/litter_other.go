//go:build !linux

package proc

// Litter does nothing here: only the Linux sandbox makes placeholders.
func Litter(dir string) {}
