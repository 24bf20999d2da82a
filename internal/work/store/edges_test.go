package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
)

// TestWhatCannotBeNamedIsNotKept: something stands where a directory of the store belongs. Every
// way of putting says so, whether it is to be durable or not, and leaves nothing behind.
func TestWhatCannotBeNamedIsNotKept(t *testing.T) {
	text := []byte(strings.Repeat("a line that is kept\n", 2*maxWhole/20))
	for name, put := range map[string]func(s *Store, durable bool) error{
		"put": func(s *Store, durable bool) error {
			_, err := s.put(text, durable)
			return err
		},
		"with others": func(s *Store, durable bool) error {
			return s.PutAll([]Content{{Sum: delta.SumOf(text), Data: text}}, durable)
		},
		"a file": func(s *Store, durable bool) error {
			_, err := s.PutFile(Source{File: fileOf(t, text), Durable: durable})
			return err
		},
	} {
		for _, durable := range []bool{false, true} {
			s := openStore(t)
			shard := filepath.Dir(s.path(delta.SumOf(text)))
			if err := errors.Join(os.Mkdir(s.dir, 0o700), os.WriteFile(shard, []byte("in the way"), 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := put(s, durable); err == nil || s.Has(delta.SumOf(text)) {
				t.Errorf("%s, durable %v: error %v, has it: %v", name, durable, err, s.Has(delta.SumOf(text)))
			}
			strays, _ := filepath.Glob(filepath.Join(s.dir, "*", tmpPrefix+"*"))
			if len(strays) > 0 {
				t.Errorf("%s, durable %v: left %v", name, durable, strays)
			}
		}
	}
}

// TestRemoveTakesEveryForm: processes that put at the same time may keep one content in several
// forms. Removed, it is gone in all of them.
func TestRemoveTakesEveryForm(t *testing.T) {
	s := openStore(t)
	all := manyContents(minPack+2, 3)
	alone, err := s.Put(all[0])
	if err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(s.path(alone), aside); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAll(contentsOf(all), false); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, s.path(alone)); err != nil {
		t.Fatal(err)
	}
	if _, packed := s.find(alone); !packed {
		t.Fatal("it is not in the pack")
	}
	if err := s.Remove(alone); err != nil || s.Has(alone) {
		t.Errorf("still there: %v, %v", s.Has(alone), err)
	}
}

// TestFewContentsMakeNoPack: from minPack on they share a file.
func TestFewContentsMakeNoPack(t *testing.T) {
	for n, want := range map[int]int{minPack - 1: 0, minPack: 1} {
		s := openStore(t)
		if err := s.PutAll(contentsOf(manyContents(n, 4)), false); err != nil {
			t.Fatal(err)
		}
		if packs, _ := os.ReadDir(filepath.Join(s.dir, packDir)); len(packs) != want {
			t.Errorf("%d contents made %d packs, want %d", n, len(packs), want)
		}
	}
}

// TestASpliceWithoutItsBaseSaysWhatIsMissing, and is kept anew when it is put again.
func TestASpliceWithoutItsBaseSaysWhatIsMissing(t *testing.T) {
	s := openStore(t)
	pre := largeText(1)
	post := append([]byte("first\n"), pre...)
	sum, base := putPair(t, s, pre, post), delta.SumOf(pre)
	if err := os.Remove(s.path(base)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(sum); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), base.String()) {
		t.Errorf("without its base: %v", err)
	}
	if _, err := s.Put(post); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(sum); err != nil || !bytes.Equal(got, post) {
		t.Errorf("put again: %d bytes, %v", len(got), err)
	}
}

// TestWalkPassesOverWhatGoesMeanwhile: another process collects while this one walks.
func TestWalkPassesOverWhatGoesMeanwhile(t *testing.T) {
	s := openStore(t)
	byShard := map[byte][]delta.Sum{}
	var pair []delta.Sum
	for i := 0; pair == nil; i++ {
		sum, err := s.Put([]byte{byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		shard := sum.String()[0]
		if byShard[shard] = append(byShard[shard], sum); len(byShard[shard]) == 2 {
			pair = byShard[shard]
		}
	}
	seen := 0
	err := s.Walk(func(o Object) error {
		for i, sum := range pair {
			if o.Sum == sum {
				seen++
				return s.Remove(pair[1-i])
			}
		}
		return nil
	})
	if err != nil || seen != 1 {
		t.Errorf("%d of two were seen, one of them was gone by then; %v", seen, err)
	}
}

// TestALargeFileThatLostItsLineIsNotThere: a loss of power may take the line beside a content,
// and the content itself down to nothing. It counts as not there, and is kept anew.
func TestALargeFileThatLostItsLineIsNotThere(t *testing.T) {
	s := openStore(t)
	data := incompressible(2 << 20)
	sum := delta.SumOf(data)
	if err := os.MkdirAll(s.largePath(sum), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.contentPath(sum), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s.Has(sum) {
		t.Error("it counts as there")
	}
	if err := s.Keep(sum, true); !errors.Is(err, ErrNotFound) {
		t.Errorf("Keep: %v", err)
	}
	if _, err := s.PutFile(Source{File: fileOf(t, data)}); err != nil {
		t.Fatal(err)
	}
	checkHas(t, s, sum, data)
}

// TestAFileThatGrewIsNotCutOff: it was small when its size was asked for.
func TestAFileThatGrewIsNotCutOff(t *testing.T) {
	s := openStore(t)
	if kept, whole, err := s.putSmallFile(Source{File: fileOf(t, incompressible(maxWhole+1))}); whole || err != nil {
		t.Errorf("%+v, kept whole: %v, %v", kept, whole, err)
	}
}

// TestPutAgain: what is put again is not written again. If it is old it becomes young, and where
// that fails, as it does when a collector took it a moment before, it is written anew, or the put
// fails; what is there is never lost.
func TestPutAgain(t *testing.T) {
	packs := contentsOf(manyContents(minPack, 5))
	large := incompressible(2 << 20)
	for name, form := range map[string]struct {
		sum  delta.Sum
		put  func(s *Store) error
		path func(s *Store) string // whose time counts
	}{
		"alone": {delta.SumOf([]byte("alone")), func(s *Store) error {
			_, err := s.Put([]byte("alone"))
			return err
		}, func(s *Store) string { return s.path(delta.SumOf([]byte("alone"))) }},
		"packed": {packs[0].Sum, func(s *Store) error { return s.PutAll(packs, false) }, func(s *Store) string {
			p, _ := s.find(packs[0].Sum)
			return p.in.path
		}},
		"a file": {delta.SumOf(large), func(s *Store) error {
			_, err := s.PutFile(Source{File: fileOf(t, large)})
			return err
		}, func(s *Store) string { return s.largePath(delta.SumOf(large)) }},
	} {
		for _, c := range []struct {
			name  string
			age   time.Duration
			fails bool
		}{{"young", touchAge / 2, false}, {"old", 2 * touchAge, false}, {"old, and gone a moment later", 2 * touchAge, true}} {
			t.Run(name+", "+c.name, func(t *testing.T) {
				s := openStore(t)
				if err := form.put(s); err != nil {
					t.Fatal(err)
				}
				path := form.path(s)
				then := time.Now().Add(-c.age).Truncate(time.Second)
				if err := os.Chtimes(path, then, then); err != nil {
					t.Fatal(err)
				}
				before, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				if c.fails { // nobody can take the lock
					if err := os.Mkdir(filepath.Join(s.dir, lockName), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				putErr := form.put(s)
				if putErr != nil && !c.fails {
					t.Fatal(putErr)
				}
				after, err := os.Lstat(path)
				switch young := time.Now().Add(-touchAge); {
				case c.fails:
					if !s.Has(form.sum) || putErr == nil && s.lastPut(form.sum).Before(young) {
						t.Errorf("has it: %v, last put %v, %v", s.Has(form.sum), s.lastPut(form.sum), putErr)
					}
				case err != nil || !os.SameFile(before, after):
					t.Errorf("it was written again: %v", err)
				case c.age > touchAge && after.ModTime().Before(young):
					t.Errorf("it stayed old: %v", after.ModTime())
				case c.age < touchAge && !after.ModTime().Equal(then):
					t.Errorf("it was touched: %v, not %v", after.ModTime(), then)
				}
			})
		}
	}
}

// TestWalkEndsWithAnErrorOfItsCaller, whatever form the object has that it is called for.
func TestWalkEndsWithAnErrorOfItsCaller(t *testing.T) {
	s := openStore(t)
	alone, err := s.Put([]byte("alone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutAll(contentsOf(manyContents(3*minPack, 6)), false); err != nil {
		t.Fatal(err)
	}
	pre := largeText(1)
	spliced := putPair(t, s, pre, append([]byte("first\n"), pre...))
	kept, err := s.PutFile(Source{File: fileOf(t, incompressible(2<<20))})
	if err != nil {
		t.Fatal(err)
	}
	var all []delta.Sum
	if err := s.Walk(func(o Object) error { all = append(all, o.Sum); return nil }); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	for i, last := range all {
		n := 0
		err := s.Walk(func(o Object) error {
			if n++; o.Sum == last {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || n != i+1 {
			t.Errorf("%d of %d objects were shown, %v", n, i+1, err)
		}
	}
	for _, sum := range []delta.Sum{alone, spliced, kept.Sum} {
		if !slices.Contains(all, sum) {
			t.Errorf("%s was not shown", sum)
		}
	}
}

// TestPacksAreNoLargerThanTheirContents: what does not get smaller is packed as it is.
func TestPacksAreNoLargerThanTheirContents(t *testing.T) {
	s := openStore(t)
	var all []Content
	want := int64(len(packMagic) + packFoot)
	for i := range minPack {
		data := noise(t, minPackCompress+i)
		all = append(all, Content{Sum: delta.SumOf(data), Data: data})
		want += int64(len(data) + packRow)
	}
	if err := s.PutAll(all, false); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(s.dir, packDir, "*"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	if st, err := os.Stat(packs[0]); err != nil || st.Size() != want {
		t.Errorf("the pack has %d bytes, want %d; %v", st.Size(), want, err)
	}
}

// TestALinkToAFileThatChangesIsNoKeeping: somebody wrote to the file after it got its second name.
func TestALinkToAFileThatChangesIsNoKeeping(t *testing.T) {
	f := fileOf(t, []byte("text"))
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		how   How
		mtime int64
		want  error
	}{{Linked, st.ModTime().UnixNano(), nil}, {Linked, 1, errUnsteady}, {Cloned, 1, nil}} {
		in := &incoming{path: f.Name(), kept: Kept{How: c.how, Mtime: c.mtime}}
		if err := in.measure(); !errors.Is(err, c.want) || in.kept.Sum != delta.SumOf([]byte("text")) {
			t.Errorf("%s of %d: %v, sum %s", c.how, c.mtime, err, in.kept.Sum)
		}
	}
}

// TestALinkToAFileThatChangesIsCopied: somebody keeps writing to the file while it is measured.
func TestALinkToAFileThatChangesIsCopied(t *testing.T) {
	data := incompressible(2 * maxWhole)
	for range 50 { // until a change falls into the time of measuring
		s, f := openStore(t), fileOf(t, data)
		end, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for i := int64(1); ; i++ {
				select {
				case <-end:
					ended <- nil
					return
				default:
				}
				if err := os.Chtimes(f.Name(), time.Unix(i, 0), time.Unix(i, 0)); err != nil {
					ended <- err
					return
				}
			}
		}()
		kept, err := s.PutFile(Source{File: f, Link: f.Name()})
		close(end)
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(kept.Sum); err != nil || kept.How != Linked && !bytes.Equal(got, data) {
			t.Fatalf("%s: %d bytes, %v", kept.How, len(got), err)
		}
		if kept.How != Linked {
			return
		}
	}
	t.Error("it was linked each time")
}
