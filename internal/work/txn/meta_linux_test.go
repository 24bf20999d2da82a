package txn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestSEC_E8_AttributesAndOwnerSurvive edits a file that has all there is to keep.
func TestSEC_E8_AttributesAndOwnerSurvive(t *testing.T) {
	f := newFixture(t)
	f.write("a*", "old")
	p := f.path("a")
	if err := unix.Setxattr(p, "user.kerf", []byte("kept"), 0); err != nil {
		t.Skip("extended attributes:", err)
	}
	// An access list: owner rwx, user 1234 r-x, group r-x, mask r-x, others --x.
	acl := []byte{2, 0, 0, 0,
		1, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, 2, 0, 5, 0, 0xd2, 4, 0, 0, 4, 0, 5, 0, 0xff, 0xff, 0xff, 0xff,
		0x10, 0, 5, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 1, 0, 0xff, 0xff, 0xff, 0xff}
	hasACL := unix.Setxattr(p, "system.posix_acl_access", acl, 0) == nil
	root := os.Geteuid() == 0
	if root {
		if err := os.Chown(p, 1234, 4321); err != nil {
			t.Fatal(err)
		}
	}
	f.commit(f.change("a", "new and longer"))
	if got := f.snapshot()["a"]; got != "-rwxr-x--x new and longer" {
		t.Error(got)
	}
	buf := make([]byte, 256)
	if n, err := unix.Getxattr(p, "user.kerf", buf); err != nil || string(buf[:n]) != "kept" {
		t.Errorf("attribute: %q, %v", buf[:max(n, 0)], err)
	}
	if n, err := unix.Getxattr(p, "system.posix_acl_access", buf); hasACL && (err != nil || !cmp.Equal(buf[:n], acl)) {
		t.Errorf("access list: %v, %v", buf[:max(n, 0)], err)
	}
	st, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Sys().(*syscall.Stat_t); root && (s.Uid != 1234 || s.Gid != 4321) {
		t.Errorf("owner %d:%d", s.Uid, s.Gid)
	}
}

// TestDirectoryWithoutWritePermission: the file can be written, its directory cannot.
func TestDirectoryWithoutWritePermission(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	f := newFixture(t)
	f.write("d/a", "old", "b", "b")
	if err := os.Chmod(f.path("d"), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(f.path("d"), 0o755)
	f.commit(f.change("d/a", "new"), f.change("b", "B"))
	if got := f.snapshot(); got["d/a"] != "-rw-r--r-- new" || got["b"] != "-rw-r--r-- B" {
		t.Error(got)
	}
	before := f.snapshot()
	if _, err := f.w.Commit(context.Background(), delta.Set{f.change("b", "x"), f.change("d/new", "y")},
		CommitOptions{}); err == nil {
		t.Error("a file was made in a directory that forbids it")
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Error(d)
	}
	f.checkClean()
}

func TestUmaskTakesItsPartOfNewFilesOnly(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	f := newFixture(t)
	f.write("a", "1")
	if err := os.Chmod(f.path("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	out := f.commit(f.change("a", "2"), f.change("n", "3"))
	want := map[string]string{"a": "-rw-rw-rw- 2", "n": "-rw-r----- 3"}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Error(d)
	}
	if got := out.Committed[1].Post.Mode; got != 0o640 {
		t.Errorf("reported mode %o", got)
	}
}

// TestSEC_E8_EachAttributeAloneSurvives: whatever a file has that a new one would not
// get by itself, it keeps, and it gets nothing that it did not have.
func TestSEC_E8_EachAttributeAloneSurvives(t *testing.T) {
	// Owner rw-, user 1234 r--, group r--, mask r--, others ---.
	acl := []byte{2, 0, 0, 0,
		1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, 2, 0, 4, 0, 0xd2, 4, 0, 0, 4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
		0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}
	for name, prepare := range map[string]func(dir, file string) error{
		"user attribute": func(_, file string) error { return unix.Setxattr(file, "user.kerf", []byte("kept"), 0) },
		"access list":    func(_, file string) error { return unix.Setxattr(file, "system.posix_acl_access", acl, 0) },
		"inherited list": func(dir, _ string) error { return unix.Setxattr(dir, "system.posix_acl_default", acl, 0) },
		"group":          func(_, file string) error { return os.Chown(file, -1, 4321) },
		"group of directory": func(dir, _ string) error {
			return errors.Join(os.Chown(dir, -1, 4321), os.Chmod(dir, 0o755|os.ModeSetgid))
		},
		"mode": func(_, file string) error { return os.Chmod(file, 0o606) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("d/a", "old", "d/b", "old")
			file := f.path("d/a")
			if err := prepare(f.path("d"), file); err != nil {
				t.Skip(err)
			}
			before := metaOf(t, file)
			f.commit(f.change("d/a", "new"), f.change("d/b", "new"))
			if d := cmp.Diff(before, metaOf(t, file)); d != "" {
				t.Error(d)
			}
		})
	}
}

// metaOf is all that is known of a file besides its content.
func metaOf(t *testing.T, file string) map[string]string {
	t.Helper()
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	sys := st.Sys().(*syscall.Stat_t)
	meta := map[string]string{"mode": st.Mode().String(), "owner": fmt.Sprint(sys.Uid, ":", sys.Gid)}
	names := make([]byte, 1024)
	n, err := unix.Listxattr(file, names)
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(string(names[:max(n, 0)]), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 1024)
		n, err := unix.Getxattr(file, name, value)
		if err != nil {
			t.Fatal(err)
		}
		meta[name] = string(value[:n])
	}
	return meta
}

// TestModesOfDirectories: a root and what is in it get other permission bits; what passes the
// group on to new files stays, and so does what keeps others from removing them.
func TestModesOfDirectories(t *testing.T) {
	f := newFixture(t)
	f.write("d/a", "old")
	const special = os.ModeSetgid | os.ModeSticky
	var chmod []ledger.DirMode
	for _, dir := range []string{f.root, f.path("d")} {
		if err := os.Chmod(dir, 0o755|special); err != nil {
			t.Fatal(err)
		}
		chmod = append(chmod, ledger.DirMode{Path: ledger.Path(dir), Pre: 0o755, Post: 0o700})
	}
	w := f.open(true, nil)
	if _, err := w.Commit(context.Background(), nil, CommitOptions{Chmod: chmod}); err != nil {
		t.Fatal(err)
	}
	for _, m := range chmod {
		st, err := os.Stat(string(m.Path))
		if err != nil || st.Mode() != os.ModeDir|special|0o700 {
			t.Errorf("%s: %v %v", m.Path, st.Mode(), err)
		}
	}
	list, err := w.Ledger.Read(0)
	if err != nil || len(list) != 1 || len(list[0].Modes) != 2 {
		t.Errorf("%v: %+v", err, list)
	}
}
