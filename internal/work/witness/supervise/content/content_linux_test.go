package content

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
)

// TestHolesStayHoles: a file that is to be written is kept as it is, and takes no more of the disk, however
// large it says it is.
func TestHolesStayHoles(t *testing.T) {
	for _, size := range []int64{1 << 20, 64 << 20, 1 << 42} {
		from, dir := t.TempDir(), t.TempDir()
		f, err := os.Create(filepath.Join(from, "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Skip(err) // a file system of small files
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
		if err := k.Keep(&thing, Written); err != nil || thing.State.How != journal.Apart {
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
		if used := occupied(int(kept.Fd())); used > 1<<19 {
			t.Errorf("%d bytes: the copy takes %d", size, used)
		}
		if st, err := kept.Stat(); err != nil || st.Size() != size {
			t.Errorf("%d bytes: the copy has %v, %v", size, st, err)
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
