package handle

import (
	"encoding/binary"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// The head of what the kernel tells of one name: inode, offset, length, type.
const (
	lengthAt = 16
	typeAt   = 18
	nameAt   = 19
)

// List returns the names in the directory, in no order.
func (h Dir) List() (all []Named, err error) {
	if h.pathOnly {
		return nil, unix.EACCES
	}
	if _, err := unix.Seek(h.fd, 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	var buf [8 << 10]byte
	for {
		n, err := unix.Getdents(h.fd, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n <= 0:
			return all, nil
		}
		all = h.appendNames(all, string(buf[:n]))
	}
}

func (h Dir) appendNames(all []Named, told string) []Named {
	for len(told) > nameAt {
		length := int(binary.NativeEndian.Uint16([]byte(told[lengthAt:typeAt])))
		if length <= nameAt || length > len(told) {
			return all
		}
		name, _, _ := strings.Cut(told[nameAt:length], "\x00")
		kind := told[typeAt]
		told = told[length:]
		if name == "." || name == ".." {
			continue
		}
		mode := fileMode(uint32(kind) << 12) // both are numbered alike
		if kind == unix.DT_UNKNOWN {
			st, err := statAt(h.fd, name)
			if err != nil {
				continue // it has gone
			}
			mode = st.Mode
		}
		all = append(all, Named{name, mode & fs.ModeType})
	}
	return all
}
