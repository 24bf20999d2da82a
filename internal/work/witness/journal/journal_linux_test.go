package journal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
)

// records are n records of many sizes.
func records(n int) []*journal.Record {
	list := []*journal.Record{{Kind: journal.Began, Number: 7, To: "/a\x00/b"}}
	for i := range n {
		list = append(list, &journal.Record{Kind: journal.Touch, Path: "/a/" + string(rune('a'+i%26)), Number: int64(i),
			Before: journal.State{Kind: journal.File, Mode: 0o644, How: journal.Inline, Links: 1,
				Sig: journal.Sig{Ino: uint64(i), Size: int64(i)}, Data: bytes.Repeat([]byte{byte(i)}, i*i*131%70000)}})
	}
	return append(list, &journal.Record{Kind: journal.Touch, Path: "/a/new", Number: int64(n)},
		&journal.Record{Kind: journal.End})
}

func read(t *testing.T, dir string) []*journal.Record {
	t.Helper()
	r, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return next(t, r)
}

func next(t *testing.T, r *journal.Reader) []*journal.Record {
	t.Helper()
	list, whole, err := r.Next()
	if err != nil || !whole {
		t.Fatalf("%d records, whole: %v, %v", len(list), whole, err)
	}
	var got []*journal.Record
	for i := range list {
		got = append(got, &list[i])
	}
	return got
}

func same(t *testing.T, got, want []*journal.Record) {
	t.Helper()
	opts := cmp.Options{cmpopts.IgnoreUnexported(journal.Record{}), cmp.Comparer(bytes.Equal)}
	if d := cmp.Diff(want, got, opts); d != "" {
		t.Errorf("want -, got +\n%.2000s", d)
	}
}

func TestRecordsAreReadWhileTheJournalGrows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := records(60)
	var got []*journal.Record
	r, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, rec := range want {
		if r.More() {
			t.Fatalf("more before record %d", i)
		}
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		if !r.More() {
			t.Fatalf("record %d is not there", i)
		}
		got = append(got, next(t, r)...)
	}
	same(t, got, want)
	if r.Written() == 0 {
		t.Error("nothing is known of when the last record was written")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, dir), want)
	if len(next(t, r)) > 0 {
		t.Error("closing the journal added records")
	}
}

// A writer that never closed is one that was killed.
func TestRecordsOfAKilledWriterAreThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := records(12)
	if err := w.Write(want...); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, dir), want)
	name := filepath.Join(dir, journal.Name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(b, "\x00"))
	for cut := used - 200; cut < used; cut += 3 { // the end of the last record never came
		torn := append(bytes.Clone(b[:cut]), make([]byte, len(b)-cut)...)
		if err := os.WriteFile(name, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := r.Next()
		r.Close()
		if err != nil || len(list) >= len(want) || len(list) < len(want)-6 {
			t.Fatalf("cut at %d of %d: %d records of %d, %v", cut, used, len(list), len(want), err)
		}
	}
}

// TestAFullDiskRefusesTheRecord writes onto a disk of 240 KB until it is full: the last of them
// where no more room can be set aside at once.
func TestAFullDiskRefusesTheRecord(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=240k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("SKIP mount: %v %s", err, out)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	w, err := journal.Create(filepath.Join(dir, "j"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var want []*journal.Record
	for {
		r := &journal.Record{Kind: journal.Touch, Path: "/a", Number: int64(len(want)),
			Before: journal.State{Kind: journal.Dir, Data: bytes.Repeat([]byte{1}, 900)}}
		if err = w.Write(r); err != nil {
			break
		}
		want = append(want, r)
	}
	if len(want) < 240 || w.Write(&journal.Record{Kind: journal.End}) == nil {
		t.Errorf("after %d records: %v, and then no error", len(want), err)
	}
	same(t, read(t, filepath.Join(dir, "j")), want)
}

// TestAJournalThatWasCutOffRefusesTheRecord takes the file away under the mapped memory.
func TestAJournalThatWasCutOffRefusesTheRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(records(1)...); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, journal.Name), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(records(1)...); err == nil {
		t.Error("a record was written into nothing")
	}
}

// TestEachFieldComesBack writes records in which every field tells something, and nothing tells the
// same: what is read is what was written, and when.
func TestEachFieldComesBack(t *testing.T) {
	var want []*journal.Record
	for kind := uint8(journal.Absent); kind <= journal.Special; kind++ {
		for _, refused := range []bool{false, true} {
			r := &journal.Record{Kind: journal.Touch, Path: "/path", To: "/to", Number: -5, Refused: refused, Gone: !refused,
				Why: "reason", Before: journal.State{Kind: kind, How: journal.Same}}
			if kind != journal.Absent {
				r.Before = journal.State{Kind: kind, How: journal.Same, Mode: 0o751, Links: 3, Number: 1 << 40, Data: []byte("data"),
					Sig: journal.Sig{Dev: 11, Ino: 12, Size: 13, Mtime: 14, Ctime: 15, Born: 16}}
			}
			want = append(want, r)
		}
	}
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().UnixNano()
	if err := errors.Join(w.Write(want...), w.Close()); err != nil {
		t.Fatal(err)
	}
	after := time.Now().UnixNano()
	got := read(t, dir)
	same(t, got, want)
	for i, r := range got {
		if r.Time() < before || r.Time() > after {
			t.Errorf("record %d was written at %d, not between %d and %d", i, r.Time(), before, after)
		}
	}
}

// TestAJournalIsItsOwnersAlone: what files held is in it.
func TestAJournalIsItsOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, w.File().Name(): 0o600} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	if _, err := journal.Create(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second journal in the same place: %v", err)
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Create(filepath.Join(inTheWay, "j")); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a journal below a file: %v", err)
	}
}

// TestClosingTakesTheRoomThatIsLeft: a closed journal ends with its last record.
func TestClosingTakesTheRoomThatIsLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		st, err := os.Stat(filepath.Join(dir, journal.Name))
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	var ends []int64
	for range 2 {
		if err := w.Write(&journal.Record{Kind: journal.End}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, size())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := size(); n > 200 || n == 0 || n%8 != 0 {
		t.Errorf("%d bytes for two records, after %v while it was open", n, ends)
	}
	same(t, read(t, dir), []*journal.Record{{Kind: journal.End}, {Kind: journal.End}})
}

// TestADamagedEndKeepsTheRest flips a bit in the last of many records, which are more than is read
// at once: those before come back, and the rest is said to be damaged.
func TestADamagedEndKeepsTheRest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []*journal.Record{}
	for i := range 3 {
		want = append(want, &journal.Record{Kind: journal.Touch, Path: "/a", Number: int64(i), Before: journal.State{
			Kind: journal.Dir, Data: bytes.Repeat([]byte{1}, 600<<10)}})
	}
	if err := errors.Join(w.Write(want...), w.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, journal.Name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-300<<10] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, whole, err := r.Next()
	if err != nil || whole {
		t.Errorf("whole: %v, %v", whole, err)
	}
	var got []*journal.Record
	for i := range list {
		got = append(got, &list[i])
	}
	same(t, got, want[:2])
}

// TestManyRecordsAreReadAtOnce writes records of 4,096 bytes each, so that what is read at once
// ends where a record ends; and nothing of a closed journal stays in memory.
func TestManyRecordsAreReadAtOnce(t *testing.T) {
	const size = 4096
	record := func(data int) *journal.Record {
		return &journal.Record{Kind: journal.Touch, Path: "/a", Before: journal.State{Kind: journal.Dir,
			Data: bytes.Repeat([]byte{1}, data)}}
	}
	dir := filepath.Join(t.TempDir(), "j")
	w, err := journal.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []*journal.Record{}
	for range 600 { // the fields beside the data take between 8 and 64 bytes
		want = append(want, record(size-40))
	}
	if err := errors.Join(w.Write(want...), w.Close()); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, journal.Name))
	if err != nil || st.Size() != int64(len(want)*size) {
		t.Fatalf("%d bytes for each record, %v", st.Size()/int64(len(want)), err)
	}
	same(t, read(t, dir), want)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || bytes.Contains(maps, []byte(dir)) {
		t.Errorf("a closed journal is mapped, %v", err)
	}
}
