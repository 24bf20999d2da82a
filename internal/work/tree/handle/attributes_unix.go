//go:build linux || darwin

package handle

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives the file dst the extended attributes of src, access lists
// among them, and takes away those it got by inheritance.
func copyAttributes(src, dst int) error {
	want, err := attributes(src)
	if err != nil {
		return err
	}
	have, err := attributes(dst)
	if err != nil {
		return err
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := unix.Fremovexattr(dst, name); err != nil && !ignorable(name, err) {
				return err
			}
		}
	}
	for name, value := range want {
		if old, ok := have[name]; ok && old == value {
			continue
		}
		if err := unix.Fsetxattr(dst, name, []byte(value), 0); err != nil && !ignorable(name, err) {
			return err
		}
	}
	return nil
}

// attributes reads what copyAttributes keeps. Capabilities go, as they do in a
// write; labels of the system are given by the system.
func attributes(fd int) (map[string]string, error) {
	names, err := grow(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if err != nil || len(names) == 0 {
		return nil, err
	}
	values := make(map[string]string)
	for name := range strings.SplitSeq(string(names), "\x00") {
		if !keeps(name) {
			continue
		}
		v, err := grow(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
		if err != nil {
			if ignorable(name, err) {
				continue
			}
			return nil, err
		}
		values[name] = string(v)
	}
	return values, nil
}

// keeps reports whether copyAttributes looks at an attribute.
func keeps(name string) bool {
	return name != "" && !strings.HasPrefix(name, "security.") && !strings.HasPrefix(name, "trusted.")
}

// kept reports whether one of the names, each of which a zero ends, is kept.
func kept(names []byte) bool {
	for name := range strings.SplitSeq(string(names), "\x00") {
		if keeps(name) {
			return true
		}
	}
	return false
}

// grow calls get with larger and larger buffers until the answer fits.
func grow(get func([]byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 16 {
		buf := make([]byte, size)
		n, err := get(buf)
		if errors.Is(err, unix.ERANGE) && size < 1<<24 {
			continue
		}
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

// ignorable errors concern attributes that are not the user's to keep.
func ignorable(name string, err error) bool {
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, errNoAttribute) {
		return true
	}
	return errors.Is(err, unix.EPERM) && !strings.HasPrefix(name, "user.")
}
