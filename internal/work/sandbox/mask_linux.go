package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Placeholders are shared by all sandboxes of a workspace, of any Kerf process.
//
// For every directory that has some there is a file in the lock directory, which
// lists them. Whoever needs them holds a shared flock on it, makes what is
// missing, and adds it to the list. Who ends tries for the exclusive lock: the
// last one gets it, removes what is listed and empties the file. The kernel
// drops the locks of a killed Kerf; its watchdog does the same then.
//
// A Kerf with another home has another lock directory, so the directory of the
// placeholders is locked in the same way. Its lock is never waited for: anybody
// may hold it.

// raise makes the placeholders of a plan. lower gives them up.
func raise(p boundary.Plan) (lower func(), err error) {
	if len(p.Masks) == 0 {
		return func() {}, nil
	}
	locks, err := lockDir(p.LockDir)
	if err != nil {
		return nil, err
	}
	proc.Litter(locks)
	var held []hold
	lower = func() {
		for _, h := range held {
			h.giveUp()
		}
	}
	for dir, masks := range byDir(p.Masks) {
		h, err := take(locks, dir, masks)
		if err != nil {
			lower()
			return nil, err
		}
		held = append(held, h)
	}
	return lower, nil
}

func byDir(masks []boundary.Mask) map[string][]boundary.Mask {
	dirs := make(map[string][]boundary.Mask)
	for _, m := range masks {
		dir := filepath.Dir(m.Path)
		dirs[dir] = append(dirs[dir], m)
	}
	return dirs
}

// lockDir returns the lock directory, made if it was missing, and checks that
// nobody else can write there.
func lockDir(dir string) (string, error) {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "kerf-masks-"+strconv.Itoa(os.Geteuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("sandbox locks: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("sandbox locks: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("sandbox locks: %s is not a private directory of this user", dir)
	}
	return dir, nil
}

// hold is what one sandbox holds for one directory.
type hold struct {
	list *os.File
	dir  *os.File // nil when it could not be had
}

func take(locks, dir string, masks []boundary.Mask) (hold, error) {
	sum := sha256.Sum256([]byte(dir))
	f, err := os.OpenFile(filepath.Join(locks, hex.EncodeToString(sum[:16])),
		os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return hold{}, fmt.Errorf("sandbox locks: %w", err)
	}
	h := hold{list: f}
	// The exclusive lock is only ever held for the time of a few removals.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		f.Close()
		return hold{}, fmt.Errorf("sandbox locks: %w", err)
	}
	if h.dir, err = place(f, dir, masks); err != nil {
		h.giveUp()
		return hold{}, fmt.Errorf("sandbox: protect %s: %w", dir, err)
	}
	return h, nil
}

// place makes the placeholders in dir, through a handle to which no link leads,
// and returns that, locked.
func place(list *os.File, dir string, masks []boundary.Mask) (*os.File, error) {
	at, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	handle := os.NewFile(uintptr(at), dir)
	_ = unix.Flock(at, unix.LOCK_SH|unix.LOCK_NB)
	var lines strings.Builder
	for _, m := range masks {
		if !strings.Contains(m.Path, "\n") {
			lines.WriteString(m.Path + "\n")
		}
	}
	// First the list, then the placeholders: whoever cleans up finds them all.
	if _, err := list.WriteString(lines.String()); err != nil {
		return handle, err
	}
	for _, m := range masks {
		name := filepath.Base(m.Path)
		err := create(at, name, m)
		if errors.Is(err, fs.ErrExist) && (boundary.Disk{}).Placeholder(m.Path) {
			continue
		}
		if err != nil {
			return handle, fmt.Errorf("%s: %w", name, err)
		}
	}
	return handle, nil
}

func openDir(dir string) (int, error) {
	at, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOSYS) { // kernels before 5.6
		return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	return at, err
}

const sticky = unix.S_ISVTX

func create(at int, name string, m boundary.Mask) error {
	switch m.Kind {
	case boundary.MaskSocket:
		err := unix.Mknodat(at, name, unix.S_IFSOCK|0o600, 0)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		fallthrough // some file systems have no sockets
	case boundary.MaskDir:
		if err := unix.Mkdirat(at, name, 0o700); err != nil {
			return err
		}
		return unix.Fchmodat(at, name, sticky|0o555, 0)
	}
	fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(m.Content)); err != nil {
		return err
	}
	return unix.Fchmod(fd, sticky|0o444)
}

// giveUp removes what is listed if nobody else needs it.
func (h hold) giveUp() {
	f := h.list
	defer f.Close()
	if h.dir != nil {
		defer h.dir.Close()
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	if h.dir != nil && unix.Flock(int(h.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // what is listed is removed by whoever holds it, or by our next one
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	slices.Sort(lines)
	for _, path := range slices.Compact(lines) {
		if filepath.IsAbs(path) && (boundary.Disk{}).Placeholder(path) {
			remove(path)
		}
	}
	_ = f.Truncate(0)
}

func remove(path string) {
	at, err := openDir(filepath.Dir(path))
	if err != nil {
		return
	}
	defer unix.Close(at)
	name := filepath.Base(path)
	if errors.Is(unix.Unlinkat(at, name, 0), unix.EISDIR) {
		_ = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
}
