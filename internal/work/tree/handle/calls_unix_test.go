//go:build unix

package handle

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// opened is a handle of a new directory, and its path.
func opened(t *testing.T) (Dir, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(base, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, base
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h Dir) plant(t *testing.T, name, text string) {
	t.Helper()
	f, err := h.Create(name, 0o644)
	must(t, err)
	must(t, errors.Join(f.WriteAll([]byte(text)), f.Close()))
}

func (h Dir) text(t *testing.T, name string) string {
	t.Helper()
	f, err := h.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "(nothing)"
	}
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	must(t, err)
	return string(b)
}

// TestAFileIsWrittenReadAndFlushed through one handle, and is made only once.
func TestAFileIsWrittenReadAndFlushed(t *testing.T) {
	d, base := opened(t)
	f, err := d.Create("a", 0o640)
	must(t, err)
	defer f.Close()
	long := strings.Repeat("0123456789", 100_000)
	must(t, errors.Join(f.WriteAll([]byte(long)), f.WriteAll(nil), f.Sync(), f.Rewind(), f.Chmod(0o604), d.Sync()))
	got, err := io.ReadAll(f)
	if err != nil || string(got) != long {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if n, err := f.Read(nil); n != 0 || err != nil {
		t.Errorf("read into nothing: %d, %v", n, err)
	}
	if _, err := d.Create("a", 0o640); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	w, err := d.OpenWrite("a")
	must(t, err)
	if _, err := w.WriteAt([]byte("X"), 1); errors.Join(err, w.Close()) != nil {
		t.Error(err)
	}
	if got := d.text(t, "a"); got != "0X"+long[2:] {
		t.Errorf("after a write in place: %.10q", got)
	}
	info, err := os.Lstat(filepath.Join(base, "a"))
	must(t, err)
	if info.Mode() != 0o604 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := d.SyncAll(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SyncAll: %v", err)
	}
	for what, f := range map[string]func(string) error{
		"OpenRead": func(n string) error { _, err := d.OpenRead(n); return err },
		"OpenWrite": func(n string) error {
			_, err := d.OpenWrite(n)
			return err
		},
		"OpenSync": func(n string) error { _, err := d.OpenSync(n); return err },
		"Lstat":    func(n string) error { _, err := d.Lstat(n); return err },
		"Readlink": func(n string) error { _, err := d.Readlink(n); return err },
		"Access":   d.Access, "Unlink": d.Unlink, "Rmdir": d.Rmdir,
	} {
		if err := f("none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
}

// TestAllWaysOfAskingAgree: what the handle, the open file and package os say of a file is one
// signature, on systems that tell all in one call and on those that do not.
func TestAllWaysOfAskingAgree(t *testing.T) {
	d, base := opened(t)
	d.plant(t, "file", "text")
	must(t, d.Mkdir("dir", 0o700))
	must(t, d.Symlink("nowhere", "link"))
	fifo(t, filepath.Join(base, "pipe"))
	kinds := map[string]fs.FileMode{"file": 0, "dir": fs.ModeDir, "link": fs.ModeSymlink, "pipe": fs.ModeNamedPipe}
	for name, kind := range kinds {
		st, err := d.Lstat(name)
		must(t, err)
		parts, err := statByParts(d.fd, name)
		must(t, err)
		info, err := os.Lstat(filepath.Join(base, name))
		must(t, err)
		if of := SignatureOf(info); of != st.Signature || parts.Signature != st.Signature || st.Mode.Type() != kind {
			t.Errorf("%s: %+v, by parts %+v, os %+v", name, st.Signature, parts.Signature, of)
		}
		if st.Nlink != Links(info) || parts.Nlink != st.Nlink {
			t.Errorf("%s: %d names, by parts %d, os %d", name, st.Nlink, parts.Nlink, Links(info))
		}
		if parts.MayWrite() {
			t.Errorf("%s: without its attributes nobody knows that it may be written", name)
		}
	}
	f, err := d.OpenRead("file")
	must(t, err)
	defer f.Close()
	sig, err := f.Sig()
	must(t, err)
	open, err := f.Stat()
	must(t, err)
	st, err := d.Lstat("file")
	must(t, err)
	if sig != st.Signature || open.Signature != sig || open.Nlink != 1 || open.Own() != st.Own() || open.MayWrite() {
		t.Errorf("open: %+v, %+v, named: %+v", sig, open, st)
	}
	if runtime.GOOS == "linux" && (!st.MayWrite() || st.InPlace()) {
		t.Errorf("a file of our own: may write %v, in place %v", st.MayWrite(), st.InPlace())
	}
	must(t, d.Link("file", "more"))
	if st, err := d.Lstat("file"); err != nil || st.Nlink != 2 || !st.InPlace() || st.MayWrite() {
		t.Errorf("with two names: %+v, %v", st, err)
	}
	if st, err := d.Lstat("dir"); err != nil || st.InPlace() || st.MayWrite() {
		t.Errorf("a directory: %+v, %v", st, err)
	}
	must(t, os.Chmod(filepath.Join(base, "file"), 0o444))
	must(t, d.Unlink("more"))
	if st, err := d.Lstat("file"); err != nil || st.MayWrite() {
		t.Errorf("what nobody may write: %+v, %v", st, err)
	}
	if got := fileMode(unix.S_IFREG | unix.S_ISUID | unix.S_ISGID | unix.S_ISVTX | 0o751); got !=
		fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|0o751 {
		t.Errorf("special bits: %v", got)
	}
	for bits, mode := range map[uint32]fs.FileMode{unix.S_IFBLK: fs.ModeDevice, unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice,
		unix.S_IFSOCK: fs.ModeSocket} {
		if got := fileMode(bits | 0o600); got != mode|0o600 {
			t.Errorf("%o: %v", bits, got)
		}
	}
}

// TestNoCallFollowsALink at its name, and none waits for a FIFO.
func TestNoCallFollowsALink(t *testing.T) {
	d, base := opened(t)
	d.plant(t, "file", "text")
	target := strings.Repeat("long/", 200) + "target"
	must(t, errors.Join(d.Symlink("file", "link"), d.Symlink(target, "long")))
	for _, f := range []func(string) (File, error){d.OpenRead, d.OpenSync} {
		if _, err := f("link"); !errors.Is(err, ErrLink) {
			t.Errorf("opened to read: %v", err)
		}
	}
	if _, err := d.OpenWrite("link"); !errors.Is(err, ErrLink) {
		t.Errorf("opened to write: %v", err)
	}
	if got, err := d.Readlink("long"); got != target || err != nil {
		t.Errorf("%d bytes of %d, %v", len(got), len(target), err)
	}
	fifo(t, filepath.Join(base, "pipe"))
	f, err := d.OpenRead("pipe") // a test that waits runs out of time
	must(t, err)
	must(t, f.Close())
}

// TestNamesAreTaken only where the call says so.
func TestNamesAreTaken(t *testing.T) {
	d, _ := opened(t)
	must(t, d.Mkdir("sub", 0o700))
	sub, err := d.OpenDir("sub")
	must(t, err)
	defer sub.Close()
	d.plant(t, "a", "A")
	d.plant(t, "b", "B")
	if err := d.RenameNew("a", d, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a file that is there: %v", err)
	}
	must(t, d.RenameNew("a", sub, "c"))
	if d.text(t, "a") != "(nothing)" || d.text(t, "b") != "B" || sub.text(t, "c") != "A" {
		t.Errorf("a holds %s, b %s, sub/c %s", d.text(t, "a"), d.text(t, "b"), sub.text(t, "c"))
	}
	d.plant(t, "a", "new")
	if err := d.Exchange("a", "b"); errors.Is(err, errors.ErrUnsupported) {
		must(t, errors.Join(d.Rename("a", "x"), d.Rename("b", "a"), d.Rename("x", "b")))
	} else {
		must(t, err)
	}
	if d.text(t, "a") != "B" || d.text(t, "b") != "new" {
		t.Errorf("traded: a holds %s, b %s", d.text(t, "a"), d.text(t, "b"))
	}
	must(t, d.Rename("a", "b"))
	if d.text(t, "a") != "(nothing)" || d.text(t, "b") != "B" {
		t.Errorf("replaced: a holds %s, b %s", d.text(t, "a"), d.text(t, "b"))
	}
	must(t, d.Access("b"))
	if err := d.Rmdir("sub"); !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory with something in it: %v", err)
	}
	must(t, errors.Join(sub.Unlink("c"), d.Rmdir("sub"), d.Unlink("b")))
	if all, err := d.List(); err != nil || len(all) > 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}

// TestChmodKeepsSpecialBits of a directory: only its permissions are what is changed.
func TestChmodKeepsSpecialBits(t *testing.T) {
	d, base := opened(t)
	must(t, os.Chmod(base, fs.ModeSticky|0o755))
	must(t, d.Chmod(0o700))
	info, err := os.Lstat(base)
	must(t, err)
	if info.Mode() != fs.ModeDir|fs.ModeSticky|0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestMetaIsCopied: attributes that users set, and none that the new file got otherwise. What is
// no file has none to give.
func TestMetaIsCopied(t *testing.T) {
	d, base := opened(t)
	d.plant(t, "like", "")
	d.plant(t, "new", "")
	must(t, d.Symlink("like", "link"))
	set := func(name, key, value string) {
		t.Helper()
		if err := unix.Setxattr(filepath.Join(base, name), key, []byte(value), 0); err != nil {
			t.Skip("no attributes here:", err)
		}
	}
	large := strings.Repeat("v", 2000)
	set("like", "user.kept", large)
	set("like", "user.same", "as here")
	set("new", "user.same", "as here")
	set("new", "user.other", "goes")
	f, err := d.OpenRead("new")
	must(t, err)
	defer f.Close()
	must(t, d.CopyMeta(f, "like"))
	got, err := attributes(f.fd)
	must(t, err)
	if len(got) != 2 || got["user.kept"] != large || got["user.same"] != "as here" {
		t.Errorf("attributes %v", got)
	}
	must(t, d.CopyMeta(f, "link")) // nothing to copy
	if err := d.CopyMeta(f, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("like nothing: %v", err)
	}
	if got, err := attributes(f.fd); len(got) != 2 || err != nil {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	for _, c := range []struct {
		names string
		want  bool
	}{{"", false}, {"security.selinux\x00", false}, {"trusted.x\x00security.y\x00", false}, {"security.x\x00user.y\x00", true},
		{"system.posix_acl_access\x00", true}} {
		if got := kept([]byte(c.names)); got != c.want {
			t.Errorf("%q: kept %v", c.names, got)
		}
	}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{{"user.x", unix.ENOTSUP, true}, {"user.x", errNoAttribute, true}, {"user.x", unix.EPERM, false},
		{"system.x", unix.EPERM, true}, {"system.x", unix.EIO, false}} {
		if got := ignorable(c.name, c.err); got != c.want {
			t.Errorf("%s, %v: ignored %v", c.name, c.err, got)
		}
	}
}

// TestGrowAsksUntilTheAnswerFits, and not for ever.
func TestGrowAsksUntilTheAnswerFits(t *testing.T) {
	for _, c := range []struct {
		err     error
		fits    int
		want    string
		wantErr error
	}{{unix.ERANGE, 5000, "answer", nil}, {unix.ENOTSUP, 1 << 30, "", nil}, {unix.EIO, 1 << 30, "", unix.EIO},
		{unix.ERANGE, 1 << 30, "", unix.ERANGE}} {
		got, err := grow(func(buf []byte) (int, error) {
			if len(buf) < c.fits {
				return -1, c.err
			}
			return copy(buf, "answer"), nil
		})
		if string(got) != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%v: %q, %v", c.err, got, err)
		}
	}
}

// TestFresh: a change proves nothing while another may have the same time.
func TestFresh(t *testing.T) {
	now := time.Unix(1000, 500_000_000)
	at := func(ago time.Duration) int64 { return now.Add(-ago).UnixNano() }
	for _, c := range []struct {
		mtime, ctime time.Duration // ago
		want         bool
	}{{time.Hour, 10 * time.Millisecond, true}, {10 * time.Millisecond, time.Hour, true}, {time.Hour, 60 * time.Millisecond, false},
		{time.Hour, 50 * time.Millisecond, false}, {time.Hour, 500 * time.Millisecond, true}, // a whole second
		{time.Hour, 1500 * time.Millisecond, true}, {time.Hour, 2500 * time.Millisecond, false}} {
		if got := (Signature{Mtime: at(c.mtime), Ctime: at(c.ctime)}).Fresh(now); got != c.want {
			t.Errorf("%v and %v ago: fresh %v", c.mtime, c.ctime, got)
		}
	}
	one := Signature{Dev: 1, Ino: 2}
	for _, c := range []struct {
		other Signature
		want  bool
	}{{one, true}, {Signature{Dev: 1, Ino: 3}, false}, {Signature{Dev: 2, Ino: 2}, false}, {Signature{}, true}} {
		if one.SameFile(c.other) != c.want || c.other.SameFile(one) != c.want {
			t.Errorf("%+v and %+v: the same %v", one, c.other, !c.want)
		}
	}
	if !SamePath("a", "a") || SamePath("a", "A") {
		t.Error("a path is its bytes")
	}
}

// TestADirectoryThatMayNotBeListed can be entered, and says that it can neither be listed nor
// flushed. Root may list every directory.
func TestADirectoryThatMayNotBeListed(t *testing.T) {
	_, base := opened(t)
	must(t, os.MkdirAll(filepath.Join(base, "d/sub"), 0o755))
	must(t, os.Chmod(filepath.Join(base, "d"), 0o111))
	defer os.Chmod(filepath.Join(base, "d"), 0o755)
	d, err := Open(base, "d")
	must(t, err)
	defer d.Close()
	if _, err := d.Lstat("sub"); err != nil {
		t.Errorf("entered: %v", err)
	}
	if _, err := d.List(); os.Geteuid() != 0 && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("listed: %v", err)
	}
	bare := Dir{fd: d.fd, pathOnly: true}
	if _, err := bare.List(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without the right to: %v", err)
	}
	if err := bare.SyncAll(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("flushed without the right to: %v", err)
	}
	if err := bare.Sync(); err != nil && !slices.Contains([]error{unix.EBADF, errors.ErrUnsupported}, err) {
		t.Errorf("Sync: %v", err)
	}
}
