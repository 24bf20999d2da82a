//go:build unix

package tree

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

func (h handle) chmod(perm fs.FileMode) error { return unix.Fchmod(h.fd, uint32(perm)) }
