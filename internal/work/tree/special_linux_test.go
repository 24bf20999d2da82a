package tree

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

func TestSEC_P4_SpecialFilesAreRefusedAtOnce(t *testing.T) {
	base, tr := place(t)
	if err := syscall.Mkfifo(base+"/w/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "s") // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	sock, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	f, err := os.Create(base + "/w/sparse")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(5 << 30); err != nil {
		t.Skip(err)
	}
	f.Close()
	everything := openTree(t, Options{Roots: []string{"/"}})
	for _, c := range []struct {
		tree *Tree
		path string
		what string
	}{
		{tr, "fifo", "FIFO"}, {everything, filepath.Join(short, "s"), "socket"}, {everything, "/dev/zero", "device"},
		{everything, "/proc/kmsg", "kernel file"}, {everything, "/proc/self/mem", "kernel file"},
		{everything, "/proc/self/status", "kernel file"},
	} {
		start := time.Now()
		_, err := c.tree.Read(c.path, 1<<20)
		var special *SpecialError
		if !errors.As(err, &special) || special.What != c.what {
			if errors.Is(err, os.ErrPermission) {
				continue
			}
			t.Errorf("%s: %v", c.path, err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s took %v", c.path, d)
		}
	}
	var large *TooLargeError
	if _, err := tr.Read("sparse", 1<<20); !errors.As(err, &large) || large.Size != 5<<30 {
		t.Error(err)
	}
}

// TestSEC_L3_ExchangedDirectoriesDoNotLetReadsOut exchanges a directory and a link to
// outside while files below it are read.
func TestSEC_L3_ExchangedDirectoriesDoNotLetReadsOut(t *testing.T) {
	base, tr := place(t)
	if err := os.Mkdir(base+"/w/d", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, base+"/w/d/victim", "inside")
	link(t, base+"/out", base+"/w/l")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, base+"/w/d", unix.AT_FDCWD, base+"/w/l", unix.RENAME_EXCHANGE)
			}
		}
	}()
	inside, refused := 0, 0
	for range 5000 {
		img, err := tr.Read("d/victim", 0)
		switch {
		case err != nil:
			refused++
		case img == nil || string(img.Data) != "inside":
			t.Fatalf("read %v", img)
		default:
			inside++
		}
	}
	close(stop)
	<-done
	if inside == 0 || refused == 0 {
		t.Logf("%d reads inside, %d refused: the race may not have run", inside, refused)
	}
}

func TestSEC_P5_ProtectionIsByIdentity(t *testing.T) {
	base, _ := place(t)
	if err := os.MkdirAll(base+"/w/.git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, base+"/w/.git/hooks/pre-commit", "#!")
	if err := os.Link(base+"/w/.git/hooks/pre-commit", base+"/w/innocent"); err != nil {
		t.Fatal(err)
	}
	bound := boundary.NewSession(boundary.Disk{}, boundary.WorkspaceWrite, func(mode string) boundary.Policy {
		return boundary.Policy{Mode: mode, Roots: []string{base + "/w"}}
	})
	refused := func(err error) bool {
		var e *boundary.RefusedError
		return errors.As(err, &e) && e.Access == boundary.Protected
	}
	seen := func(path string, many bool) *Entry {
		e := &Entry{Links: many}
		if st, err := os.Lstat(base + "/w/" + path); err == nil {
			e.Sig = handle.SignatureOf(st)
		}
		return e
	}
	tr := openTree(t, Options{Roots: []string{base + "/w"}, Boundary: bound})
	for path, many := range map[string]bool{".git/hooks/x": false, ".git/hooks/pre-commit": false, "innocent": true} {
		if err := tr.CheckWrite(base+"/w/"+path, seen(path, many)); !refused(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := tr.CheckWrite(base+"/w/f", nil); err != nil {
		t.Error(err)
	}
	// The same directory under a second name, as on a case-blind file system.
	if err := os.Mkdir(base+"/w/GIT", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(base+"/w/.git", base+"/w/GIT", "", unix.MS_BIND, ""); err != nil {
		t.Skip("bind mount:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base+"/w/GIT", 0) })
	bound.Moved()
	if err := tr.CheckWrite(base+"/w/GIT/hooks/x", nil); !refused(err) {
		t.Error(err)
	}
}
