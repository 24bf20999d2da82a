//go:build !linux

package lean

// unmap does nothing: the system does so by itself.
func unmap() {}
