package placeholders

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
)

// Raise makes the placeholders of a plan. lower gives them up.
func Raise(p boundary.Plan) (lower func(), err error) {
	if len(p.Masks) == 0 && len(p.Kept) == 0 {
		return func() {}, nil
	}
	locks, err := LockDir(p.LockDir)
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
	for dir, w := range byDir(p) {
		h, err := take(locks, dir, w)
		if err != nil {
			lower()
			return nil, err
		}
		held = append(held, h)
	}
	return lower, nil
}

// wanted is what is to stand in one directory.
type wanted struct {
	masks []boundary.Mask
	kept  []string // directories in it, which are there or are masks
}

func byDir(p boundary.Plan) map[string]wanted {
	dirs := make(map[string]wanted)
	for _, m := range p.Masks {
		w := dirs[filepath.Dir(m.Path)]
		w.masks = append(w.masks, m)
		dirs[filepath.Dir(m.Path)] = w
	}
	for _, path := range p.Kept {
		w := dirs[filepath.Dir(path)]
		w.kept = append(w.kept, path)
		dirs[filepath.Dir(path)] = w
	}
	return dirs
}

// paths are all that comes to stand there, what lies in others first.
func (w wanted) paths() (all []string) {
	for _, path := range w.kept {
		keeper := filepath.Join(path, boundary.Keeper)
		all = append(all, filepath.Join(keeper, boundary.KeeperLock), keeper)
	}
	for _, m := range w.masks {
		all = append(all, m.Path)
	}
	return slices.DeleteFunc(all, func(path string) bool { return strings.Contains(path, "\n") })
}

// LockDir returns the lock directory, made if it was missing, and checks that
// nobody else can write there.
func LockDir(dir string) (string, error) {
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

// seen is a directory as this Kerf sees it. In a try it has the same path, and what stands there
// is another's.
func seen(dir string) string {
	if info, err := os.Lstat(dir); err == nil {
		id, _ := boundary.IdentityOf(info)
		return fmt.Sprint(dir, "\x00", id)
	}
	return dir
}

func take(locks, dir string, w wanted) (hold, error) {
	sum := sha256.Sum256([]byte(seen(dir)))
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
	if h.dir, err = place(f, dir, w); err != nil {
		h.giveUp()
		return hold{}, fmt.Errorf("sandbox: protect %s: %w", dir, err)
	}
	return h, nil
}

// place makes the placeholders in dir, through a handle to which no link leads,
// and returns that, locked.
func place(list *os.File, dir string, w wanted) (*os.File, error) {
	at, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	handle := os.NewFile(uintptr(at), dir)
	_ = unix.Flock(at, unix.LOCK_SH|unix.LOCK_NB)
	// First the list, then the placeholders: whoever cleans up finds them all.
	if paths := w.paths(); len(paths) > 0 {
		if _, err := list.WriteString(strings.Join(paths, "\n") + "\n"); err != nil {
			return handle, err
		}
	}
	for _, m := range w.masks {
		name := filepath.Base(m.Path)
		err := create(at, name, m)
		if errors.Is(err, fs.ErrExist) && (boundary.Disk{}).Placeholder(m.Path) {
			continue
		}
		if err != nil {
			return handle, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, path := range w.kept {
		if err := keep(path); err != nil {
			return handle, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return handle, nil
}

// keep puts into dir what keeps git from removing it. Git may take that away in the
// moment before it is locked: the error is [fs.ErrNotExist] then. What has the name of
// the lock, and is not ours, does as well and stays as it is: it may be a pipe, or
// another name of a file elsewhere.
func keep(dir string) error {
	at, err := OpenDir(dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := unix.Mkdirat(at, boundary.Keeper, sticky|0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := openIn(at, boundary.Keeper)
	if err != nil {
		return err
	}
	defer unix.Close(in)
	lock, err := unix.Openat(in, boundary.KeeperLock,
		unix.O_RDONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, sticky|0o444)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(lock)
	var now unix.Stat_t
	if err := unix.Fstat(lock, &now); err != nil {
		return err
	}
	if now.Mode&unix.S_IFMT != unix.S_IFREG || now.Nlink != 1 || now.Size != 0 {
		return nil
	}
	return errors.Join(chmod(lock, sticky|0o444), chmod(in, sticky|0o755))
}

// openIn opens the directory name in at, which is no link.
func openIn(at int, name string) (int, error) {
	return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// OpenDir opens a directory to which no link leads.
func OpenDir(dir string) (int, error) {
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
		// As whoever fills it would make it, but for the bit.
		if err := unix.Mkdirat(at, name, sticky|0o777); err != nil {
			return err
		}
		var now unix.Stat_t
		if unix.Fstatat(at, name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && now.Mode&sticky != 0 {
			return nil
		}
		return mark(at, name, true) // not all file systems take the bit at once
	}
	fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, sticky|0o444)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if m.Content != "" {
		if _, err := unix.Write(fd, []byte(m.Content)); err != nil {
			return err
		}
	}
	return chmod(fd, sticky|0o444)
}

// chmod gives an open file a mode that it may have already.
func chmod(fd int, mode uint32) error {
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Mode&^unix.S_IFMT == mode {
		return err
	}
	return unix.Fchmod(fd, mode)
}

// mark sets or clears the bit by which a directory in at is known as a placeholder. It does
// so through a handle: a command of another sandbox may put a link in its place meanwhile.
func mark(at int, name string, ours bool) error {
	dir, err := openIn(at, name)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var now unix.Stat_t
	if err := unix.Fstat(dir, &now); err != nil {
		return err
	}
	mode := now.Mode &^ (unix.S_IFMT | sticky)
	if ours {
		mode |= sticky
	}
	if now.Mode&^unix.S_IFMT == mode {
		return nil
	}
	return unix.Fchmod(dir, mode)
}

// giveUp removes what is listed if nobody else needs it.
func (h hold) giveUp() {
	f := h.list
	defer f.Close()
	defer h.dir.Close() // nil, where it could not be had, has nothing to close
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
	for _, path := range slices.Backward(slices.Compact(lines)) { // what lies in others comes first
		if filepath.IsAbs(path) {
			remove(path)
		}
	}
	_ = f.Truncate(0)
}

// remove takes a placeholder away, and leaves a directory that was filled to those who did.
func remove(path string) {
	ours := (boundary.Disk{}).Placeholder(path)
	at, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return
	}
	defer unix.Close(at)
	name := filepath.Base(path)
	if ours && !errors.Is(unix.Unlinkat(at, name, 0), unix.EISDIR) {
		return
	}
	if !ours || unix.Unlinkat(at, name, unix.AT_REMOVEDIR) != nil {
		_ = mark(at, name, false)
	}
}
