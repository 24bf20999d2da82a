package tree

import "io/fs"

// Chmod gives the directory itself the permission bits of perm.
func (d *Dir) Chmod(perm fs.FileMode) error {
	return d.call("chmod", "", func() error { return d.h.Chmod(perm.Perm()) })
}
