package content

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
)

// TestHolesStayHoles: a file that is to be written is kept as it is, and its copy takes no more of the disk. One
// that would not fit without its holes is not kept, so that the user is asked.
func TestHolesStayHoles(t *testing.T) {
	for _, size := range []int64{1 << 20, 64 << 20, 4 << 30, 1 << 43} {
		from, dir := t.TempDir(), t.TempDir()
		f, err := os.Create(filepath.Join(from, "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		parts := []int64{0, size / 3, size / 2}
		for _, at := range parts {
			if _, err := f.WriteAt([]byte("some text"), at); err != nil {
				t.Fatal(err)
			}
		}
		root, err := unix.Open(from, unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		to, err := unix.Open(dir, unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		thing, err := Open(root, "f")
		if err != nil {
			t.Fatal(err)
		}
		k := &Keeper{Dir: to}
		err = k.Keep(&thing, Written)
		var disk unix.Statfs_t
		if unix.Fstatfs(to, &disk) == nil && size > int64(disk.Bavail)*disk.Bsize {
			if err == nil {
				t.Errorf("%d bytes are kept, and do not fit", size)
			}
			continue
		}
		if err != nil || thing.State.How != journal.Apart {
			t.Fatalf("%d bytes: %v, %d", size, err, thing.State.How)
		}
		thing.Close()
		unix.Close(root)
		unix.Close(to)
		kept, err := os.Open(journal.ApartPath(dir, thing.State.Number))
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(kept.Fd()), &st); err != nil || st.Size != size || 512*st.Blocks > 1<<19 {
			t.Errorf("%d bytes: the copy has %d, in %d blocks, %v", size, st.Size, st.Blocks, err)
		}
		want, got := make([]byte, 64<<10), make([]byte, 64<<10)
		for _, at := range append(parts, size/2+1, size-64<<10) {
			_, _ = f.ReadAt(want, at)
			if _, _ = kept.ReadAt(got, at); !bytes.Equal(want, got) {
				t.Errorf("%d bytes: the copy is another one at %d", size, at)
			}
		}
	}
}

// TestACopyIsWholeWhereHolesAreNotTold: some file systems do not know the calls, or only one of them.
func TestACopyIsWholeWhereHolesAreNotTold(t *testing.T) {
	data := append(append([]byte("begins"), make([]byte, 3<<20)...), "ends"...)
	for name, refused := range map[string][]int{
		"nothing": {unix.SEEK_DATA, unix.SEEK_HOLE}, "no data": {unix.SEEK_DATA}, "no holes": {unix.SEEK_HOLE}, "all": nil,
	} {
		from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
		if err := os.WriteFile(from, data, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := os.Create(to)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		calls := 0
		err = copyParts(int(out.Fd()), int(in.Fd()), func(fd int, offset int64, whence int) (int64, error) {
			if calls++; calls > 100 {
				t.Fatalf("%s: it does not end", name)
			}
			if slices.Contains(refused, whence) {
				return 0, unix.EINVAL
			}
			return unix.Seek(fd, offset, whence)
		})
		if got, readErr := os.ReadFile(to); err != nil || readErr != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v, %v", name, len(got), err, readErr)
		}
	}
}

// TestWhatCannotBeReadLaterIsNotKeptByALink: a file that another user keeps from being read does not become Kerf's only
// copy of it.
func TestWhatCannotBeReadLaterIsNotKeptByALink(t *testing.T) {
	if dir := os.Getenv("KERF_TEST_OF_ANOTHER"); dir != "" {
		for name, want := range map[string]error{"closed": unix.EACCES, "open": nil} {
			fd, err := unix.Open(filepath.Join(dir, name), unix.O_PATH, 0)
			if err != nil {
				t.Fatal(err)
			}
			thing := Thing{FD: fd}
			if err := thing.Stat(fd, ""); err != nil {
				t.Fatal(err)
			}
			if thing.openLater() != (want == nil) {
				t.Errorf("%s: it may be read later: %t", name, want != nil)
			}
			at, _ := unix.Open(filepath.Join(dir, "kept"), unix.O_PATH|unix.O_DIRECTORY, 0)
			if err := (&Keeper{Dir: at}).Keep(&thing, Removed); err != want {
				t.Errorf("%s: kept: %v, want %v", name, err, want)
			}
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, for files of another user")
	}
	dir, err := os.MkdirTemp("", "kerf-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range map[string]os.FileMode{"closed": 0o600, "open": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), mode); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "test")
	self, _ := os.ReadFile("/proc/self/exe")
	if err := errors.Join(os.WriteFile(program, self, 0o755), os.Mkdir(filepath.Join(dir, "kept"), 0o777),
		os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "kept"), 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "KERF_TEST_OF_ANOTHER="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
