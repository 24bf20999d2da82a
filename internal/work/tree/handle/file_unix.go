//go:build unix

package handle

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// File is an open regular file. Package os would ask of every one whether it can be
// waited for.
type File struct{ fd int }

// Read reads from where the last read ended.
func (f File) Read(b []byte) (int, error) {
	n, err := again(func() (int, error) { return unix.Read(f.fd, b) })
	if n == 0 && err == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// Rewind makes the next read begin at the beginning.
func (f File) Rewind() error {
	_, err := unix.Seek(f.fd, 0, io.SeekStart)
	return err
}

// WriteAll writes all of data.
func (f File) WriteAll(data []byte) error {
	for len(data) > 0 {
		n, err := again(func() (int, error) { return unix.Write(f.fd, data) })
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Lend gives the open file to use, which must neither close nor keep it.
func (f File) Lend(use func(*os.File) error) error {
	fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	lent := os.NewFile(uintptr(fd), "")
	defer lent.Close()
	return use(lent)
}

// Sig is the signature of the open file.
func (f File) Sig() (Signature, error) {
	var st unix.Stat_t
	if _, err := again(func() (int, error) { return 0, unix.Fstat(f.fd, &st) }); err != nil {
		return Signature{}, err
	}
	return sigOf(&st), nil
}

// Stat tells about the open file. It does not know of mounts.
func (f File) Stat() (Stat, error) {
	var st unix.Stat_t
	if _, err := again(func() (int, error) { return 0, unix.Fstat(f.fd, &st) }); err != nil {
		return Stat{}, err
	}
	return Stat{Signature: sigOf(&st), Nlink: uint64(st.Nlink), uid: st.Uid, gid: st.Gid, dev: uint64(st.Dev), fixed: true}, nil
}

// Chmod gives the file the permission bits of perm.
func (f File) Chmod(perm fs.FileMode) error {
	_, err := again(func() (int, error) { return 0, unix.Fchmod(f.fd, uint32(perm.Perm())) })
	return err
}

// Close releases the descriptor.
func (f File) Close() error { return unix.Close(f.fd) }

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
