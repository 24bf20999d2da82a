package room

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestRoomThereIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := New(dir, t.TempDir())
	t.Cleanup(func() { _ = r.Close() })
	for range 3 {
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, reserveName)); err != nil || st.Size() != reserved {
		t.Errorf("the reserve: %v, %v", st, err)
	}
	r.Spend()
	if st, err := os.Stat(filepath.Join(dir, reserveName)); err != nil || st.Size() != 0 {
		t.Errorf("the reserve once it is spent: %v, %v", st, err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	var none *Room
	none.Spend()
	if err := errors.Join(none.Check(), none.Close()); err != nil {
		t.Error(err)
	}
}

// TestFullDisk fills a small file system.
func TestFullDisk(t *testing.T) {
	dir := small(t, "4m")
	r := New(filepath.Join(dir, "w"))
	t.Cleanup(func() { _ = r.Close() })
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(dir, "filler"))
	err := r.Check()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrFull) || e.Dir != filepath.Join(dir, "w") {
		t.Fatalf("on a full disk: %v", err)
	}
	if s := err.Error(); strings.Contains(s, "\n") || !strings.Contains(s, "make room") {
		t.Errorf("the message is %q", s)
	}
	r.Spend()
	if err := os.WriteFile(filepath.Join(dir, "w", "entry"), make([]byte, reserved-4096), 0o600); err != nil {
		t.Errorf("the reserve is of no use: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestAQuotaIsToldAsOne(t *testing.T) {
	err := &Error{"/home/me", plain(&os.PathError{Op: "mkdir", Path: "/home/me/x", Err: syscall.EDQUOT})}
	if s := err.Error(); !errors.Is(err, ErrFull) || !strings.Contains(s, syscall.EDQUOT.Error()) || !strings.Contains(s, "make room") {
		t.Errorf("the message is %q", s)
	}
}

func TestReadOnlyHome(t *testing.T) {
	dir := small(t, "4m")
	r := New(filepath.Join(dir, "w"))
	t.Cleanup(func() { _ = r.Close() })
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close() // a file that is open for writing keeps the mount writable
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot remount: %v: %s", err, out)
	}
	if err := r.Check(); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "make it writable") {
		t.Errorf("on a read-only file system: %v", err)
	}
}

func TestHomeOfSomebodyElse(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("needs a user whom modes bind")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	for _, d := range []string{dir, filepath.Join(dir, "not", "there")} {
		if err := New(d).Check(); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// small mounts a file system of some size.
func small(t *testing.T, size string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux to mount a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// fill writes until there is no space left.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !Full(err) {
		t.Fatal(err)
	}
}

func BenchmarkCheck(b *testing.B) {
	r := New(b.TempDir(), b.TempDir())
	defer r.Close()
	for b.Loop() {
		if err := r.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
