package handle

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// List returns the names in the directory, in no order.
func (h Dir) List() ([]Named, error) {
	fd, err := openat(h.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]Named, 0, len(names))
	for _, name := range names {
		if st, err := h.Lstat(name); err == nil { // else it has gone
			all = append(all, Named{name, st.Mode & fs.ModeType})
		}
	}
	return all, nil
}
