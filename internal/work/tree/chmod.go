package tree

import "io/fs"

// Chmod gives the directory itself the permission bits of perm.
func (d *Dir) Chmod(perm fs.FileMode) error {
	return d.call("chmod", "", func() error { return d.h.Chmod(perm.Perm()) })
}

// Enterable reports whether its permissions let us reach the names in the directory.
func (d *Dir) Enterable() error { return d.named("enter", "", d.h.Enterable()) }
