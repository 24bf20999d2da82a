package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
)

// incompressible is data that does not compress.
func incompressible(n int) []byte {
	data := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(data)
	return data
}

// fileOf writes data to a new file beside the store, and opens it.
func fileOf(t *testing.T, data []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPutFileGivesBackWhatItGot(t *testing.T) {
	text := []byte(strings.Repeat("one line of many\n", 200_000))
	for name, c := range map[string]struct {
		data []byte
		take bool
		link bool
		want []How
	}{
		"small":           {[]byte("x\n"), false, false, []How{Copied}},
		"small, given":    {[]byte("x\n"), true, false, []How{Copied}},
		"text":            {text, false, false, []How{Packed, Cloned}},
		"incompressible":  {incompressible(3 << 20), false, false, []How{Copied, Cloned}},
		"about to vanish": {incompressible(3 << 20), false, true, []How{Linked, Cloned}},
		"text to vanish":  {text, false, true, []How{Linked, Cloned}},
		"given":           {incompressible(3 << 20), true, false, []How{Taken}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			f := fileOf(t, c.data)
			src := Source{File: f, Durable: true}
			if c.take {
				src.Take = f.Name()
			}
			if c.link {
				src.Link = f.Name()
			}
			kept, err := s.PutFile(src)
			sum := delta.SumOf(c.data)
			if err != nil || kept.Sum != sum || kept.Size != int64(len(c.data)) {
				t.Fatalf("PutFile: %+v, %v", kept, err)
			}
			if runtime.GOOS == "linux" && !strings.Contains(fmt.Sprint(c.want), string(kept.How)) {
				t.Errorf("kept as %s, want one of %v", kept.How, c.want)
			}
			if _, err := os.Lstat(f.Name()); c.take != errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file afterwards: %v", err)
			}
			_ = os.Remove(f.Name())
			checkHas(t, s, sum, c.data)
			again, err := s.PutFile(Source{File: fileOf(t, c.data)})
			if err != nil || len(c.data) > maxWhole && again.How != Known {
				t.Errorf("again: %+v, %v", again, err)
			}
			if err := s.Remove(sum); err != nil || s.Has(sum) {
				t.Errorf("after Remove: has %v, %v", s.Has(sum), err)
			}
			if _, err := s.Open(sum); !errors.Is(err, ErrNotFound) {
				t.Errorf("Open after Remove: %v", err)
			}
			left, _ := filepath.Glob(filepath.Join(s.dir, largeDir, "*"))
			if len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// checkHas reads an object in every way there is.
func checkHas(t *testing.T, s *Store, sum delta.Sum, want []byte) {
	t.Helper()
	if !s.Has(sum) {
		t.Errorf("Has %s: false", sum)
	}
	if got, err := s.Get(sum); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Get: %d bytes, %v", len(got), err)
	}
	r, err := s.Open(sum)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Open: %d bytes, %v", len(got), err)
	}
	to := fileOf(t, nil)
	if err := s.CopyTo(sum, to); err != nil {
		t.Errorf("CopyTo: %v", err)
	}
	if got, err := os.ReadFile(to.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("CopyTo wrote %d bytes, %v", len(got), err)
	}
	if err := errors.Join(s.Verify(sum), s.Keep(sum, true), s.Sync(sum)); err != nil {
		t.Errorf("Verify, Keep and Sync: %v", err)
	}
	seen := 0
	if err := s.Walk(func(o Object) error {
		if o.Sum == sum {
			seen++
		}
		return nil
	}); err != nil || seen != 1 {
		t.Errorf("Walk showed it %d times, %v", seen, err)
	}
}

// TestOpenReadsWhatPutWrote opens objects of every form that Put and PutAll make.
func TestOpenReadsWhatPutWrote(t *testing.T) {
	s := openStore(t)
	base := incompressible(400 << 10)
	edited := append([]byte("new"), base...)
	contents := []Content{{Sum: delta.SumOf(base), Data: base}}
	contents = append(contents, Content{Sum: delta.SumOf(edited), Data: edited, Base: &contents[0]})
	for i := range 20 {
		data := bytes.Repeat([]byte{byte(i)}, 100*i)
		contents = append(contents, Content{Sum: delta.SumOf(data), Data: data})
	}
	if err := s.PutAll(contents, false); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("text\n"), 1<<20)} {
		sum, err := s.Put(data)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, Content{Sum: sum, Data: data})
	}
	for _, c := range contents {
		checkHas(t, s, c.Sum, c.Data)
	}
}

// TestChangedLinkIsDamaged lets somebody write to a file whose second name the store
// has: without, and with the time of the file set back.
func TestChangedLinkIsDamaged(t *testing.T) {
	for _, hide := range []bool{false, true} {
		s := openStore(t)
		data := incompressible(2 << 20)
		f := fileOf(t, data)
		kept, err := s.PutFile(Source{File: f, Link: f.Name()})
		if err != nil {
			t.Fatal(err)
		}
		if kept.How != Linked {
			t.Skipf("kept as %s here", kept.How)
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("!"), 1<<20); err != nil {
			t.Fatal(err)
		}
		if hide {
			err = os.Chtimes(f.Name(), st.ModTime(), st.ModTime())
		} else {
			later := st.ModTime().Add(time.Second)
			err = os.Chtimes(f.Name(), later, later)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, getErr := s.Get(kept.Sum)
		for what, err := range map[string]error{"Get": getErr, "Verify": s.Verify(kept.Sum),
			"CopyTo": s.CopyTo(kept.Sum, fileOf(t, nil))} {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s (time set back: %v): %v", what, hide, err)
			}
		}
		if hide {
			continue
		}
		if s.Has(kept.Sum) {
			t.Error("Has does not see the time")
		}
		if _, err := s.PutFile(Source{File: fileOf(t, data)}); err != nil {
			t.Fatal(err)
		}
		checkHas(t, s, kept.Sum, data)
	}
}

// TestFailedPutFileLosesNothing lets each call that changes the disk fail in turn. The
// file stays where it was, and the store has all of it or nothing.
func TestFailedPutFileLosesNothing(t *testing.T) {
	for _, way := range []string{"", "take", "link"} {
		for nth := 1; ; nth++ {
			s := openStore(t)
			data := incompressible(maxWhole + 1000)
			f := fileOf(t, data)
			src := Source{File: f, Durable: true}
			switch way {
			case "take":
				src.Take = f.Name()
			case "link":
				src.Link = f.Name()
			}
			calls, fault := 0, errors.New("seeded")
			s.Hook = func(op, path string) error {
				if calls++; calls == nth {
					return fault
				}
				return nil
			}
			kept, err := s.PutFile(src)
			if calls < nth {
				if nth < 5 {
					t.Errorf("%q: only %d calls", way, calls)
				}
				break
			}
			s.Hook = nil
			if !errors.Is(err, fault) {
				t.Fatalf("%q, call %d: %+v, %v", way, nth, kept, err)
			}
			sum := delta.SumOf(data)
			if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, data) {
				if !s.Has(sum) {
					t.Fatalf("%q, call %d: the content is gone: %v", way, nth, err)
				}
			}
			if s.Has(sum) {
				checkHas(t, s, sum, data)
			}
			tmp, _ := filepath.Glob(filepath.Join(s.dir, largeDir, tmpPrefix+"*"))
			if len(tmp) > 0 {
				t.Errorf("%q, call %d: left %v", way, nth, tmp)
			}
		}
	}
}

// TestAFileThatCannotBeTakenIsToldOf: the content is kept, and who gave the file away learns that
// it is still there.
func TestAFileThatCannotBeTakenIsToldOf(t *testing.T) {
	s := openStore(t)
	dir := t.TempDir() // a directory with something in it is not removed
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := []byte("small")
	if _, err := s.PutFile(Source{File: fileOf(t, data), Take: dir}); err == nil {
		t.Error("no error")
	}
	checkHas(t, s, delta.SumOf(data), data)
}

// TestLargeFilesAreNotInMemory measures what is allocated for a file of 64 MB.
func TestLargeFilesAreNotInMemory(t *testing.T) {
	s := openStore(t)
	for _, data := range [][]byte{incompressible(64 << 20), bytes.Repeat([]byte("0123456789abcde\n"), 4<<20)} {
		f := fileOf(t, data)
		to := fileOf(t, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		kept, err := s.PutFile(Source{File: f})
		if err == nil {
			err = s.CopyTo(kept.Sum, to)
		}
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Errorf("%s: %d MB were allocated", kept.How, n>>20)
		}
	}
}

// TestCopiesLeaveRoom refuses a copy that would fill the disk, and no link.
func TestCopiesLeaveRoom(t *testing.T) {
	s := openStore(t)
	f := fileOf(t, incompressible(2<<20))
	kept, err := s.PutFile(Source{File: f, Leave: 1 << 60})
	if kept.How == Cloned {
		t.Skip("files are cloned here")
	}
	if !errors.Is(err, ErrNoRoom) {
		t.Errorf("a copy: %+v, %v", kept, err)
	}
	if kept, err := s.PutFile(Source{File: f, Link: f.Name(), Leave: 1 << 60}); err != nil {
		t.Errorf("a link: %+v, %v", kept, err)
	}
}

// TestBlocksInCommonCountOnce: a file that was linked, written and linked again is two objects, and takes
// the space of one.
func TestBlocksInCommonCountOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are not what they are elsewhere")
	}
	s := openStore(t)
	f := fileOf(t, incompressible(2<<20))
	for range 2 {
		if put, err := s.PutFile(Source{File: f, Link: f.Name()}); err != nil || put.How != Linked {
			t.Fatal(put.How, err)
		}
		if _, err := f.WriteAt([]byte("changed"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.PutFile(Source{File: fileOf(t, incompressible(3<<20))}); err != nil {
		t.Fatal(err)
	}
	n, size := 0, int64(0)
	if err := s.Walk(func(o Object) error {
		n, size = n+1, size+o.Size
		return nil
	}); err != nil || n != 3 || size < 5<<20 || size > 6<<20 {
		t.Errorf("%d objects of %d bytes, %v", n, size, err)
	}
}

// TestSweepTakesLargeFiles collects them by age like others, and counts a link once.
func TestSweepTakesLargeFiles(t *testing.T) {
	s := openStore(t)
	data := incompressible(2 << 20)
	f := fileOf(t, data)
	old, err := s.PutFile(Source{File: f, Link: f.Name()})
	if err != nil {
		t.Fatal(err)
	}
	young, err := s.PutFile(Source{File: fileOf(t, incompressible(3<<20))})
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(s.largePath(old.Sum), long, long); err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		done, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour), func(Object) bool { return false }, dry)
		if err != nil || done.Removed != 1 || done.RemovedBytes < 2<<20 || done.RemovedBytes > 3<<20 || done.Objects != 2 {
			t.Errorf("dry %v: %+v, %v", dry, done, err)
		}
	}
	if s.Has(old.Sum) || !s.Has(young.Sum) {
		t.Error("the wrong one went")
	}
	if now, err := os.Stat(f.Name()); err != nil || !now.ModTime().Equal(st.ModTime()) {
		t.Errorf("the user's file was touched: %v", err)
	}
}

// BenchmarkPutFile keeps a file of 256 MB, copied and linked.
func BenchmarkPutFile(b *testing.B) {
	dir := b.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, incompressible(256<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, way := range []string{"copy", "link", "take"} {
		b.Run(way, func(b *testing.B) {
			b.SetBytes(256 << 20)
			for i := range b.N {
				s, err := Open(filepath.Join(dir, way, fmt.Sprint(i)))
				if err != nil {
					b.Fatal(err)
				}
				f, err := os.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				src := Source{File: f}
				switch way {
				case "link":
					src.Link = name
				case "take":
					src.Take = filepath.Join(dir, "again")
					if err := os.Link(name, src.Take); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := s.PutFile(src); err != nil {
					b.Fatal(err)
				}
				f.Close()
				_ = s.Close()
				_ = os.RemoveAll(filepath.Join(dir, way))
			}
		})
	}
}

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestZeroesComeBackAsHoles: a content comes back as it was, whatever lies between its zeroes, and these take
// little of the disk.
func TestZeroesComeBackAsHoles(t *testing.T) {
	s := openStore(t)
	for name, parts := range map[string][]int{ // zeroes and other bytes, by turns
		"nothing": nil, "zeroes": {8 << 20}, "few": {100}, "begins": {4 << 20, 1}, "ends": {0, 3, 8 << 20},
		"between": {0, 5, 4 << 20, 100_000, 4 << 20, 7}, "dense": {0, 3 << 20},
	} {
		var data []byte
		for i, n := range parts {
			part := make([]byte, n)
			if i%2 == 1 {
				part = bytes.ReplaceAll(incompressible(n), []byte{0}, []byte{1})
			}
			data = append(data, part...)
		}
		kept, err := s.PutFile(Source{File: fileOf(t, data)})
		if err != nil {
			t.Fatal(err)
		}
		to := fileOf(t, nil)
		if err := s.CopyTo(kept.Sum, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to.Name()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back, of %d, or others: %v", name, len(got), len(data), err)
		}
		st, err := to.Stat()
		if err != nil {
			t.Fatal(err)
		}
		full := 0
		for i, n := range parts {
			if i%2 == 1 {
				full += n
			}
		}
		if used, id := onDisk(st); id != (inode{}) && used > int64(full+3*chunk) {
			t.Errorf("%s: %d bytes of the disk for %d", name, used, full)
		}
	}
}
