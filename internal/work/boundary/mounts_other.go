//go:build !linux

package boundary

// Mounts are not told here.
func (Disk) Mounts() []MountPoint { return nil }
