//go:build unix

package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeSpace is what this user can still write below dir, in bytes.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
