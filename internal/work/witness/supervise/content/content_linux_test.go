package content

import (
	"bytes"
	"os"
	"path/filepath"
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
