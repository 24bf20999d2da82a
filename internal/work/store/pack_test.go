package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

// contentsOf names contents by their sums.
func contentsOf(all [][]byte) []Content {
	var list []Content
	for _, data := range all {
		list = append(list, Content{Sum: delta.SumOf(data), Data: data})
	}
	return list
}

func manyContents(n, version int) [][]byte {
	var all [][]byte
	for i := range n {
		all = append(all, bytes.Repeat(fmt.Appendf(nil, "content %d.%d ", version, i), 1+i*40))
	}
	return all
}

func TestPackedObjectsAreLikeOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := manyContents(20, 1)
	alone, err := s.Put([]byte("alone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutAll(contentsOf(append(all, all[3])), true); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(filepath.Join(dir, packDir)); len(names) != 1 {
		t.Fatalf("%d files in the pack directory", len(names))
	}
	other, _ := Open(dir)
	want := []delta.Sum{alone}
	for _, data := range all {
		sum := delta.SumOf(data)
		want = append(want, sum)
		got, err := other.Get(sum)
		if err != nil || !bytes.Equal(got, data) || !other.Has(sum) {
			t.Fatalf("get: %v", err)
		}
		if _, err := other.PutSync(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.PutAll(contentsOf(all), true); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(want, func(a, b delta.Sum) int { return bytes.Compare(a[:], b[:]) })
	var walked []delta.Sum
	if err := other.Walk(func(o Object) error { walked = append(walked, o.Sum); return nil }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, walked); d != "" {
		t.Errorf("walk -want +got\n%s", d)
	}
	if names, _ := os.ReadDir(filepath.Join(dir, packDir)); len(names) != 1 {
		t.Errorf("known contents were stored again: %v", names)
	}
}

func TestRemovedFromAPackIsGoneForAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, _ := Open(dir)
	other, _ := Open(dir)
	all := manyContents(10, 1)
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	first := delta.SumOf(all[0])
	if !other.Has(first) {
		t.Fatal("not there")
	}
	if err := s.Remove(first); err != nil {
		t.Fatal(err)
	}
	for _, st := range []*Store{s, other} {
		if _, err := st.Get(first); st.Has(first) || !errors.Is(err, ErrNotFound) {
			t.Errorf("still there: %v", err)
		}
	}
	// Put again it is there whatever becomes of the pack.
	if _, err := other.Put(all[0]); err != nil {
		t.Fatal(err)
	}
	for _, data := range all[1:] {
		if err := s.Remove(delta.SumOf(data)); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := os.ReadDir(filepath.Join(dir, packDir)); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
	if got, err := s.Get(first); err != nil || !bytes.Equal(got, all[0]) {
		t.Error(err)
	}
}

// TestPacksAgreeWithAMap puts and removes at random through two stores over one
// directory.
func TestPacksAgreeWithAMap(t *testing.T) {
	t.Parallel()
	pool, base := manyContents(24, 7), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		a, _ := Open(dir)
		b, _ := Open(dir)
		model := map[int]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			s := rapid.SampledFrom([]*Store{a, b}).Draw(t, "store")
			picks := rapid.SliceOfN(rapid.IntRange(0, len(pool)-1), 1, 20).Draw(t, "picks")
			if rapid.Bool().Draw(t, "remove") {
				for _, i := range picks {
					// An object may be in two packs; removing ends when it is in none.
					for s.Has(delta.SumOf(pool[i])) {
						if err := s.Remove(delta.SumOf(pool[i])); err != nil {
							t.Fatal(err)
						}
					}
					delete(model, i)
				}
				continue
			}
			var contents [][]byte
			for _, i := range picks {
				contents = append(contents, pool[i])
				model[i] = true
			}
			if err := s.PutAll(contentsOf(contents), false); err != nil {
				t.Fatal(err)
			}
		}
		for i, data := range pool {
			got, err := b.Get(delta.SumOf(data))
			if model[i] != (err == nil) || model[i] && !bytes.Equal(got, data) || a.Has(delta.SumOf(data)) != model[i] {
				t.Fatalf("%d: want %v, got %v", i, model[i], err)
			}
		}
	})
}

// TestTornPackIsNoPack: what a crash or a stranger left does not hide the rest.
func TestTornPackIsNoPack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, _ := Open(dir)
	all := manyContents(10, 1)
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	names, _ := os.ReadDir(filepath.Join(dir, packDir))
	whole, err := os.ReadFile(filepath.Join(dir, packDir, names[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(whole); cut += 97 {
		if err := os.WriteFile(filepath.Join(dir, packDir, "TORN"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		fresh, _ := Open(dir)
		for _, data := range all {
			if got, err := fresh.Get(delta.SumOf(data)); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
	}
}

func BenchmarkPutAll(b *testing.B) {
	s, _ := Open(b.TempDir())
	for version := 0; b.Loop(); version++ {
		b.StopTimer()
		var all [][]byte
		for i := range 1000 {
			all = append(all, bytes.Repeat(fmt.Appendf(nil, "%d.%d ", version, i), 300))
		}
		b.StartTimer()
		if err := s.PutAll(contentsOf(all), false); err != nil {
			b.Fatal(err)
		}
	}
}

// failsAt is a file whose nth read fails.
type failsAt struct {
	*bytes.Reader
	left int
}

func (f *failsAt) ReadAt(b []byte, off int64) (int, error) {
	if f.left--; f.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return f.Reader.ReadAt(b, off)
}

// TestAnIndexThatCannotBeRead is told, whichever read fails: a pack without objects would be one to remove.
func TestAnIndexThatCannotBeRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutAll(contentsOf(manyContents(20, 1)), true); err != nil {
		t.Fatal(err)
	}
	packs, _ := filepath.Glob(filepath.Join(dir, packDir, "*"))
	b, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		rows, err := indexOf(&failsAt{bytes.NewReader(b), n}, int64(len(b)))
		if n == 0 && (err != nil || len(rows) != 20*packRow) || n > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %d fails: %d bytes, %v", n, len(rows), err)
		}
	}
}

// TestAPackThatGoesUnseen: where the time of the directory does not tell that one is gone, the others
// are listed all the same.
func TestAPackThatGoesUnseen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for version := range 2 {
		if err := s.PutAll(contentsOf(manyContents(20, version)), true); err != nil {
			t.Fatal(err)
		}
	}
	in, old := filepath.Join(dir, packDir), time.Now().Add(-time.Hour)
	list := func() (n int) {
		for _, objects := range s.packedObjects() {
			n += len(objects)
		}
		return n
	}
	if err := os.Chtimes(in, old, old); err != nil || list() != 40 {
		t.Fatalf("%v, %d objects", err, list())
	}
	packs, _ := filepath.Glob(filepath.Join(in, "*"))
	if err := errors.Join(os.Remove(packs[0]), os.Chtimes(in, old, old)); err != nil || list() != 20 {
		t.Errorf("%v, %d objects", err, list())
	}
}

// TestWhatIsNoCompressedContent is damaged.
func TestWhatIsNoCompressedContent(t *testing.T) {
	if data, err := new(codec).decompress([]byte("junk")); !errors.Is(err, ErrDamaged) {
		t.Errorf("%q, %v", data, err)
	}
}

// TestALargeContentIsInNoPack: it has a file of its own, so that it can be read in parts.
func TestALargeContentIsInNoPack(t *testing.T) {
	s := openStore(t)
	for _, c := range []struct {
		size int
		in   bool
	}{{maxPacked, true}, {maxPacked + 1, false}} {
		all := append(manyContents(minPack, c.size), incompressible(c.size))
		if err := s.PutAll(contentsOf(all), false); err != nil {
			t.Fatal(err)
		}
		if _, in := s.find(delta.SumOf(all[minPack])); in != c.in {
			t.Errorf("%d bytes: in a pack %v", c.size, in)
		}
	}
}

// TestAPackThatCannotBeTakenFromSaysSo: the reason is told at each step, and nothing is said to be gone that is
// there.
func TestAPackThatCannotBeTakenFromSaysSo(t *testing.T) {
	block := func(path string) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return os.MkdirAll(filepath.Join(path, "in the way"), 0o700)
	}
	for _, c := range []struct {
		call, suffix string
		gone         bool
	}{{"write", deadSuffix, false}, {"unlink", "", true}, {"unlink", deadSuffix, true}} {
		s := openStore(t)
		all := manyContents(minPack, 1)
		if err := s.PutAll(contentsOf(all), false); err != nil {
			t.Fatal(err)
		}
		last := delta.SumOf(all[minPack-1])
		for _, data := range all[:minPack-1] {
			if err := s.Remove(delta.SumOf(data)); err != nil {
				t.Fatal(err)
			}
		}
		pack := s.packs.at[last].in.path
		s.Hook = func(op, path string) error {
			if op == c.call && path == pack+c.suffix {
				return block(path)
			}
			return nil
		}
		if err := s.Remove(last); err == nil || !strings.Contains(err.Error(), pack+c.suffix) {
			t.Errorf("%s of %q: %v", c.call, c.suffix, err)
		}
		if s.Hook = nil; s.Has(last) == c.gone {
			t.Errorf("%s of %q: there %v", c.call, c.suffix, !c.gone)
		}
	}
}

// TestListsOfTheDeadGoWithTheirPacks: one that an interrupted removal left goes with the next walk, and no other.
func TestListsOfTheDeadGoWithTheirPacks(t *testing.T) {
	s := openStore(t)
	all := manyContents(minPack, 1)
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(delta.SumOf(all[0])); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(s.dir, packDir, "0123.pack"+deadSuffix)
	if err := os.WriteFile(left, make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := 0
	if err := s.Walk(func(Object) error { seen++; return nil }); err != nil || seen != minPack-1 {
		t.Errorf("%d objects, %v", seen, err)
	}
	if lists, _ := filepath.Glob(filepath.Join(s.dir, packDir, "*"+deadSuffix)); len(lists) != 1 || lists[0] == left {
		t.Errorf("the lists are %q", lists)
	}
}

// TestAContentWhosePackWentUnseenIsNotFound: somebody took the pack away, and no time tells.
func TestAContentWhosePackWentUnseenIsNotFound(t *testing.T) {
	s := openStore(t)
	all := manyContents(minPack, 1)
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	in, old := filepath.Join(s.dir, packDir), time.Now().Add(-time.Hour)
	sum := delta.SumOf(all[0])
	if err := os.Chtimes(in, old, old); err != nil || !s.Has(sum) {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(s.packs.at[sum].in.path), os.Chtimes(in, old, old)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(sum); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := s.Keep(sum, false); !errors.Is(err, ErrNotFound) {
		t.Errorf("kept: %v", err)
	}
}

// TestPacksThatCouldNotBeListedAreThereAgain: what kept the directory from being read may pass.
func TestPacksThatCouldNotBeListedAreThereAgain(t *testing.T) {
	s := openStore(t)
	all := manyContents(minPack, 1)
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	sum := delta.SumOf(all[0])
	in, aside := filepath.Join(s.dir, packDir), filepath.Join(s.dir, "aside")
	before, after := time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	if err := os.Chtimes(in, before, before); err != nil || !s.Has(sum) {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(in, aside), os.WriteFile(in, nil, 0o600), os.Chtimes(in, after, after)); err != nil {
		t.Fatal(err)
	}
	if s.Has(sum) {
		t.Fatal("a pack is found where there is no directory")
	}
	if err := errors.Join(os.Remove(in), os.Rename(aside, in), os.Chtimes(in, after, after)); err != nil {
		t.Fatal(err)
	}
	if !s.Has(sum) {
		t.Error("the pack is not found any more")
	}
}

// TestAPackThatCouldNotBeReadIsLookedAtAgain: what kept it from being read may pass.
func TestAPackThatCouldNotBeReadIsLookedAtAgain(t *testing.T) {
	s := openStore(t)
	all := manyContents(minPack, 1)
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	sum, in := delta.SumOf(all[0]), filepath.Join(s.dir, packDir)
	packs, err := os.ReadDir(in)
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	pack := filepath.Join(in, packs[0].Name())
	whole, err := os.ReadFile(pack)
	if err := errors.Join(err, os.WriteFile(pack, whole[:len(whole)-1], 0o600)); err != nil {
		t.Fatal(err)
	}
	other := reopen(t, s.dir)
	if other.Has(sum) {
		t.Fatal("a torn pack is one")
	}
	later := time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(pack, whole, 0o600), os.Chtimes(in, later, later)); err != nil {
		t.Fatal(err)
	}
	if !other.Has(sum) {
		t.Error("the pack is not found any more")
	}
}

// TestASweepThatCannotReadTheSplicesRemovesNothing: a content may be what another one is made of.
func TestASweepThatCannotReadTheSplicesRemovesNothing(t *testing.T) {
	for name, block := range map[string]func(dir string) error{
		"all": func(dir string) error { return os.WriteFile(dir, []byte("in the way"), 0o600) },
		"one splice": func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, delta.SumOf([]byte("x")).String()), 0o700)
		},
	} {
		s := openStore(t)
		sum, err := s.Put([]byte("an old content"))
		if err := errors.Join(err, block(filepath.Join(s.dir, spliceDir))); err != nil {
			t.Fatal(err)
		}
		done, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), func(Object) bool { return false }, false)
		if err == nil || done.Removed != 0 || !s.Has(sum) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

// TestABaseThatCannotBeReadIsNotGone: only what is not there is not found.
func TestABaseThatCannotBeReadIsNotGone(t *testing.T) {
	s := openStore(t)
	sums := forms(t, s, "splice")
	base := s.path(sums["base"])
	if err := os.Remove(base); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(sums["splice"]); !errors.Is(err, ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(sums["splice"]); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("not readable: %v", err)
	}
}

// TestPacksThatComeAtTheSameTimeAreSeen: the time of the directory does not tell of a second one.
func TestPacksThatComeAtTheSameTimeAreSeen(t *testing.T) {
	s := openStore(t)
	other := reopen(t, s.dir)
	soon := time.Now().Add(time.Hour) // as young as can be, however slow this is
	for i := range 2 {
		all := manyContents(minPack, i+1)
		if err := other.PutAll(contentsOf(all), false); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(s.dir, packDir), soon, soon); err != nil {
			t.Fatal(err)
		}
		if !s.Has(delta.SumOf(all[0])) {
			t.Errorf("pack %d is not seen", i+1)
		}
	}
}
