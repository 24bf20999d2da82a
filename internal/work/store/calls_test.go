package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

// calls are the calls that change the disk which f makes, with the names of temporary files, packs and
// sums as one letter each.
func calls(s *Store, f func() error) ([]string, error) {
	var list []string
	was := s.Hook
	s.Hook = func(op, path string) error {
		rel, _ := filepath.Rel(s.dir, path)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		for i, part := range parts {
			dead := ""
			if before, ok := strings.CutSuffix(part, deadSuffix); ok {
				part, dead = before, deadSuffix
			}
			switch {
			case strings.HasPrefix(part, tmpPrefix):
				part = "TMP"
			case len(part) >= 63:
				part = "SUM"
			case len(part) == 26:
				part = "PACK"
			case len(part) == 1 && part != ".":
				part = "D"
			}
			parts[i] = part + dead
		}
		list = append(list, op+" "+strings.Join(parts, "/"))
		return nil
	}
	err := f()
	s.Hook = was
	return list, err
}

// TestWhatEachPutWrites: the calls of each way of putting a content, for the first time and again, for
// now and to last. What is there already is flushed at most; what is to last is flushed before it has
// its name, and its name after.
func TestWhatEachPutWrites(t *testing.T) {
	small := []byte("small")
	pre := largeText(1)
	pair := contentsOf([][]byte{pre, append([]byte("first\n"), pre...)})
	pair[1].Base = &pair[0]
	many := contentsOf(manyContents(minPack, 1))
	large, text := incompressible(maxWhole+1), []byte(strings.Repeat("a line of text\n", 100_000))
	file := func(data []byte, src Source) func(*Store, bool) error {
		return func(s *Store, durable bool) error {
			src := src
			src.File, src.Durable = fileOf(t, data), durable
			if src.Take != "" {
				src.Take = src.File.Name()
			}
			if src.Link != "" {
				src.Link = src.File.Name()
			}
			_, err := s.PutFile(src)
			return err
		}
	}
	loose := "create D/TMP; write D/TMP; rename D/SUM"
	lasting := "create D/TMP; write D/TMP; sync D/TMP; rename D/SUM; syncdir D"
	about := "create large/TMP/kept; write large/TMP/kept; "
	made := func(dir, then string) string { return "mkdir " + dir + "; syncdir .; syncdir ..; " + then }
	for _, c := range []struct {
		name                     string
		put                      func(s *Store, durable bool) error
		first, firstDurable, how string
		againDurable             string
	}{
		{"put", func(s *Store, durable bool) error { _, err := s.put(small, durable); return err },
			made("D", loose), made("D", lasting), "", "sync D/SUM; syncdir D"},
		{"alone of many", func(s *Store, durable bool) error { return s.PutAll(contentsOf([][]byte{small}), durable) },
			made("D", loose), made("D", lasting), "", "sync D/SUM; syncdir D"},
		{"many", func(s *Store, durable bool) error { return s.PutAll(many, durable) },
			made("pack", "create pack/TMP; write pack/TMP; rename pack/PACK"),
			made("pack", "create pack/TMP; write pack/TMP; sync pack/TMP; rename pack/PACK; syncdir pack"), "",
			"sync pack/PACK; syncdir pack"},
		{"a splice", func(s *Store, durable bool) error { return s.PutAll(pair, durable) },
			made("D", loose) + "; " + made("splice", "create splice/TMP; write splice/TMP; rename splice/SUM"),
			made("D", lasting) + "; sync D/SUM; syncdir D; " +
				made("splice", "create splice/TMP; write splice/TMP; sync splice/TMP; rename splice/SUM; syncdir splice"), "",
			"sync D/SUM; syncdir D; sync D/SUM; syncdir D; sync splice/SUM; syncdir splice"},
		{"a small file", file(small, Source{}), made("D", loose), made("D", lasting), "", "sync D/SUM; syncdir D"},
		{"a large file", file(large, Source{}),
			made("large", "mkdir large/TMP; create large/TMP/content; create large/TMP/content; write large/TMP/content; "+about+
				"rename large/SUM"),
			made("large", "mkdir large/TMP; create large/TMP/content; create large/TMP/content; write large/TMP/content; "+
				"sync large/TMP/content; "+about+"sync large/TMP/kept; syncdir large/TMP; rename large/SUM; syncdir large"), "copied",
			"mkdir large/TMP; create large/TMP/content; create large/TMP/content; write large/TMP/content; sync large/TMP/content; " +
				"sync large/SUM/content; syncdir large/SUM; syncdir large"},
		{"a large text", file(text, Source{}),
			made("large", "mkdir large/TMP; create large/TMP/content; create large/TMP/content; write large/TMP/content; "+
				made("D", "rename D/SUM")),
			made("large", "mkdir large/TMP; create large/TMP/content; create large/TMP/content; write large/TMP/content; "+
				"sync large/TMP/content; "+made("D", "rename D/SUM; syncdir D")), "copied",
			"mkdir large/TMP; create large/TMP/content; create large/TMP/content; write large/TMP/content; sync large/TMP/content; " +
				"sync D/SUM; syncdir D"},
		{"a link", file(large, Source{Link: "x"}),
			made("large", "mkdir large/TMP; create large/TMP/content; link large/TMP/content; "+about+"rename large/SUM"),
			made("large", "mkdir large/TMP; create large/TMP/content; link large/TMP/content; "+about+"sync large/TMP/kept; "+
				"sync large/TMP/content; syncdir large/TMP; rename large/SUM; syncdir large"), "linked",
			"mkdir large/TMP; create large/TMP/content; link large/TMP/content; sync large/SUM/content; syncdir large/SUM; syncdir large"},
		{"a gift", file(large, Source{Take: "x"}),
			made("large", "mkdir large/TMP; rename large/TMP/content; "+about+"rename large/SUM"),
			made("large", "mkdir large/TMP; rename large/TMP/content; "+about+"sync large/TMP/kept; sync large/TMP/content; "+
				"syncdir large/TMP; rename large/SUM; syncdir large"), "",
			"mkdir large/TMP; rename large/TMP/content; sync large/SUM/content; syncdir large/SUM; syncdir large"},
	} {
		for _, durable := range []bool{false, true} {
			s := openStore(t)
			got, err := calls(s, func() error { return c.put(s, durable) })
			if c.how != "" && !slices.Contains(got, "link large/TMP/content") && !strings.Contains(strings.Join(got, " "), "content create large/TMP/content") {
				t.Logf("%s: files are cloned here", c.name)
				continue
			}
			want := c.first
			if durable {
				want = c.firstDurable
			}
			if d := cmp.Diff(want, strings.Join(got, "; ")); d != "" || err != nil {
				t.Errorf("%s, to last %v: %v (-want +got):\n%s", c.name, durable, err, d)
			}
			got, err = calls(s, func() error { return c.put(s, true) })
			if d := cmp.Diff(c.againDurable, strings.Join(got, "; ")); d != "" || err != nil {
				t.Errorf("%s, again: %v (-want +got):\n%s", c.name, err, d)
			}
			again, err := calls(s, func() error { return c.put(s, false) })
			if d := slices.ContainsFunc(again, func(call string) bool {
				return strings.HasPrefix(call, "sync") || strings.HasPrefix(call, "rename") && !strings.Contains(call, "TMP")
			}); d || err != nil {
				t.Errorf("%s, again for now: %q, %v", c.name, again, err)
			}
		}
	}
}

// forms puts contents in every form that the store has, or in those that are named, and returns the sum
// of each.
func forms(t *testing.T, s *Store, names ...string) map[string]delta.Sum {
	t.Helper()
	pre := largeText(1)
	many := contentsOf(manyContents(minPack, 1))
	sums := map[string]delta.Sum{}
	for name, put := range map[string]func() (err error){
		"loose": func() (err error) { sums["loose"], err = s.Put([]byte("small")); return err },
		"file": func() error {
			kept, err := s.PutFile(Source{File: fileOf(t, incompressible(maxWhole+1))})
			sums["file"] = kept.Sum
			return err
		},
		"packed": func() error { sums["packed"] = many[0].Sum; return s.PutAll(many, false) },
		"splice": func() error {
			sums["base"], sums["splice"] = delta.SumOf(pre), putPair(t, s, pre, append([]byte("first\n"), pre...))
			return nil
		},
	} {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	return sums
}

// TestEachFormIsRemovedByItsOwnCalls, and one that is not there by none that does harm.
func TestEachFormIsRemovedByItsOwnCalls(t *testing.T) {
	s := openStore(t)
	sums := forms(t, s)
	sums["nothing"] = delta.Sum{1}
	for form, want := range map[string]string{
		"loose": "unlink D/SUM", "splice": "unlink D/SUM", "nothing": "unlink D/SUM",
		"file": "unlink D/SUM; rename large/SUM", "packed": "unlink D/SUM; write pack/PACK.dead",
	} {
		got, err := calls(s, func() error { return s.Remove(sums[form]) })
		if d := cmp.Diff(want, strings.Join(got, "; ")); d != "" || err != nil || s.Has(sums[form]) {
			t.Errorf("%s: %v, is there: %v (-want +got):\n%s", form, err, s.Has(sums[form]), d)
		}
	}
	last := contentsOf(manyContents(minPack, 1))[1:]
	for i, c := range last {
		got, err := calls(s, func() error { return s.Remove(c.Sum) })
		want := "unlink D/SUM; write pack/PACK.dead"
		if i == len(last)-1 {
			want += "; unlink pack/PACK; unlink pack/PACK.dead"
		}
		if d := cmp.Diff(want, strings.Join(got, "; ")); d != "" || err != nil {
			t.Errorf("number %d of a pack: %v (-want +got):\n%s", i, err, d)
		}
	}
}

// TestEachCallThatFailsIsTold, of every put, flush and removal of every form; what was there stays.
func TestEachCallThatFailsIsTold(t *testing.T) {
	fault := errors.New("seeded")
	for _, form := range []string{"loose", "file", "packed", "splice"} {
		for what, do := range map[string]func(s *Store, sum delta.Sum) error{
			"sync":   func(s *Store, sum delta.Sum) error { return s.Sync(sum) },
			"keep":   func(s *Store, sum delta.Sum) error { return s.Keep(sum, true) },
			"remove": (*Store).Remove,
			"put with many": func(s *Store, sum delta.Sum) error {
				data, err := s.Get(sum)
				return errors.Join(err, s.PutAll(append(contentsOf(manyContents(minPack, 2)), Content{Sum: sum, Data: data}), true))
			},
		} {
			for nth := 1; ; nth++ {
				s := openStore(t)
				sum := forms(t, s, form)[form]
				want, err := s.Get(sum)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				s.Hook = func(string, string) error {
					if n++; n == nth {
						return fault
					}
					return nil
				}
				err = do(s, sum)
				s.Hook = nil
				if n < nth {
					if err != nil || nth == 1 {
						t.Errorf("%s of %s: %d calls, %v", what, form, n, err)
					}
					break
				}
				if !errors.Is(err, fault) {
					t.Errorf("%s of %s, call %d: %v", what, form, nth, err)
				}
				if got, err := s.Get(sum); what != "remove" && (err != nil || !bytes.Equal(got, want)) {
					t.Errorf("%s of %s, call %d: it is gone: %v", what, form, nth, err)
				}
			}
		}
	}
}

// TestErrorsNameTheObject, and say whether it is not there or damaged; for every form and every way of
// reading.
func TestErrorsNameTheObject(t *testing.T) {
	ways := map[string]func(s *Store, sum delta.Sum) error{
		"get":    func(s *Store, sum delta.Sum) error { _, err := s.Get(sum); return err },
		"verify": (*Store).Verify,
		"copy":   func(s *Store, sum delta.Sum) error { return s.CopyTo(sum, fileOf(t, nil)) },
	}
	for what, way := range ways {
		s := openStore(t)
		sums := forms(t, s)
		none := delta.Sum{1}
		if err, want := way(s, none), fmt.Sprintf("object %s: not in the store", none); err == nil || err.Error() != want {
			t.Errorf("%s of nothing: %v", what, err)
		}
		damage := func(path string, at int64) {
			t.Helper()
			raw, err := os.ReadFile(path)
			if err == nil {
				raw[at] ^= 0x10
				err = os.WriteFile(path, raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		p, _ := s.find(sums["packed"])
		damage(s.path(sums["loose"]), 0)
		damage(s.contentPath(sums["file"]), 5)
		damage(p.in.path, p.off)
		damage(s.splicePath(sums["splice"]), int64(spliceHead))
		for _, form := range []string{"loose", "file", "packed", "splice"} {
			err, want := way(s, sums[form]), fmt.Sprintf("object %s: damaged object", sums[form])
			if err == nil || !errors.Is(err, ErrDamaged) || err.Error() != want {
				t.Errorf("%s of a damaged object, %s: %v", what, form, err)
			}
		}
		for form, path := range map[string]string{"loose": s.path(sums["loose"]), "file": s.contentPath(sums["file"]),
			"packed": p.in.path, "splice": s.splicePath(sums["splice"])} {
			for _, size := range []int64{int64(headerLen) + 1, int64(headerLen) - 1, 0} {
				if err := os.Truncate(path, size); err != nil {
					t.Fatal(err)
				}
				if err := way(s, sums[form]); !errors.Is(err, ErrDamaged) {
					t.Errorf("%s of an object cut off at %d, %s: %v", what, size, form, err)
				}
			}
		}
	}
	s := openStore(t)
	for what, err := range map[string]error{
		"object %s: not in the store":      s.Keep(delta.Sum{2}, false),
		"sync object %s: not in the store": s.Sync(delta.Sum{2}),
	} {
		if want := fmt.Sprintf(what, delta.Sum{2}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	s.Hook = func(string, string) error { return errors.New("seeded") }
	small := []byte("x")
	_, putErr := s.Put(small)
	f := fileOf(t, small)
	_, fileErr := s.PutFile(Source{File: f})
	for _, c := range [][2]any{{putErr, fmt.Sprintf("store %s: seeded", delta.SumOf(small))},
		{s.PutAll(contentsOf([][]byte{small}), false), fmt.Sprintf("store %s: seeded", delta.SumOf(small))},
		{s.PutAll(contentsOf(manyContents(minPack, 1)), false), fmt.Sprintf("store %d contents: seeded", minPack)},
		{fileErr, fmt.Sprintf("store %s: store %s: seeded", f.Name(), delta.SumOf(small))}} {
		if err, _ := c[0].(error); err == nil || err.Error() != c[1] {
			t.Errorf("%v, want %s", err, c[1])
		}
	}
	if _, err := s.PutFile(Source{File: dirOpen(t)}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open("relative"); err == nil || err.Error() != "open store relative: path is not absolute" {
		t.Errorf("a relative path: %v", err)
	}
}

func dirOpen(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestWalkTellsEachObjectOnce, in order, with its size and when it was put; others in the directories
// of the store are no objects, and stay unless they are old and temporary.
func TestWalkTellsEachObjectOnce(t *testing.T) {
	s := openStore(t)
	sums := forms(t, s)
	twice := contentsOf(manyContents(minPack, 1))[0] // packed, and now alone, too
	packs := contentsOf(manyContents(minPack, 1))
	if err := errors.Join(s.write(s.path(twice.Sum), twice.Data, false), // and one is a splice, too
		s.write(s.splicePath(packs[2].Sum), packs[2].Data, false)); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	young := time.Now().Add(-23 * time.Hour)
	var stays, goes []string
	for _, dir := range []string{"a", packDir, spliceDir, largeDir} {
		for name, at := range map[string]time.Time{"stranger": old, tmpPrefix: old, tmpPrefix + "Y": young, tmpPrefix + "O": old,
			strings.Repeat("0", 62): old, strings.Repeat("a", 65): old} {
			path := filepath.Join(s.dir, dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, tmpPrefix) && at == old {
				goes = append(goes, path)
			} else {
				stays = append(stays, path)
			}
		}
	}
	if err := os.Chtimes(s.path(sums["loose"]), old, old); err != nil {
		t.Fatal(err)
	}
	seen := map[delta.Sum]Object{}
	var last delta.Sum
	err := s.Walk(func(o Object) error {
		if _, again := seen[o.Sum]; again || len(seen) > 0 && bytes.Compare(last[:], o.Sum[:]) >= 0 {
			t.Errorf("%s comes twice, or after %s", o.Sum, last)
		}
		seen[o.Sum], last = o, o.Sum
		return nil
	})
	if want := minPack + 4; err != nil || len(seen) != want {
		t.Errorf("%d objects, want %d; %v", len(seen), want, err)
	}
	size := func(path string) int64 {
		st, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	p, _ := s.find(contentsOf(manyContents(minPack, 1))[1].Sum)
	for sum, want := range map[delta.Sum]int64{sums["loose"]: size(s.path(sums["loose"])), sums["base"]: size(s.path(sums["base"])),
		sums["splice"]: size(s.splicePath(sums["splice"])), twice.Sum: size(s.path(twice.Sum)),
		contentsOf(manyContents(minPack, 1))[1].Sum: int64(p.n)} {
		if got := seen[sum].Size; got != want {
			t.Errorf("%s takes %d bytes, want %d", sum, got, want)
		}
	}
	if got := seen[sums["file"]].Size; got < maxWhole || got > 2*maxWhole {
		t.Errorf("the large file takes %d bytes", got)
	}
	if !seen[sums["loose"]].Time.Equal(old) || seen[sums["splice"]].Time.Before(young) || seen[sums["file"]].Time.Before(young) {
		t.Errorf("times: %v, %v, %v", seen[sums["loose"]].Time, seen[sums["splice"]].Time, seen[sums["file"]].Time)
	}
	for _, path := range goes {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	for _, path := range stays {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
	oldest, err := s.Oldest()
	if err != nil || len(oldest) != len(seen) || oldest[0].Sum != sums["loose"] ||
		!slices.IsSortedFunc(oldest, func(a, b Object) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("the oldest first: %v, %v", oldest, err)
	}
}

// TestWhatOthersDoToAPackMeanwhile: the last object of a pack goes, and the pack is gone already, or is
// something else that cannot be removed.
func TestWhatOthersDoToAPackMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(pack string) error
		fails     bool
	}{
		"gone": {os.Remove, false},
		"a directory": {func(pack string) error {
			return errors.Join(os.Remove(pack), os.MkdirAll(filepath.Join(pack, "x"), 0o700))
		}, true},
	} {
		s := openStore(t)
		all := contentsOf(manyContents(minPack, 1))
		if err := s.PutAll(all, false); err != nil {
			t.Fatal(err)
		}
		s.Hook = func(op, path string) error {
			if op == "unlink" && filepath.Base(filepath.Dir(path)) == packDir && !strings.HasSuffix(path, deadSuffix) {
				return c.meanwhile(path)
			}
			return nil
		}
		for i, one := range all {
			if err := s.Remove(one.Sum); (err != nil) != (c.fails && i == len(all)-1) {
				t.Errorf("%s: object %d: %v", name, i, err)
			}
		}
	}
}

// TestPacksOfOthersAreSeen by a store that has looked before.
func TestPacksOfOthersAreSeen(t *testing.T) {
	dir := t.TempDir()
	s, other := reopen(t, dir), reopen(t, dir)
	for version := range 3 {
		all := contentsOf(manyContents(minPack, version))
		if s.Has(all[0].Sum) {
			t.Fatal("it is there before it was put")
		}
		if err := other.PutAll(all, false); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(time.Duration(version-5) * time.Hour) // the directory is not young
		if err := os.Chtimes(filepath.Join(dir, packDir), old, old); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if !s.Has(all[0].Sum) {
				t.Errorf("pack %d is not seen", version)
			}
		}
	}
}

// TestWhatIsCompressed: in packs from a size on, alone from another, and never what gets no smaller.
func TestWhatIsCompressed(t *testing.T) {
	s := openStore(t)
	text := func(n int) []byte { return bytes.Repeat([]byte("a"), n) }
	var all []Content
	for i := range minPack {
		data := append(text(minPackCompress/2), byte(i))
		all = append(all, Content{Sum: delta.SumOf(data), Data: data})
	}
	for _, data := range [][]byte{text(minPackCompress - 1), text(minPackCompress), incompressible(minPackCompress)} {
		all = append(all, Content{Sum: delta.SumOf(data), Data: data})
	}
	if err := s.PutAll(all, false); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]byte{0: codecRaw, minPack: codecRaw, minPack + 1: codecZstd, minPack + 2: codecRaw} {
		if p, ok := s.find(all[i].Sum); !ok || p.codec != want || (p.n < minPackCompress/2) != (want == codecZstd) {
			t.Errorf("%d bytes in a pack: %c, %d", len(all[i].Data), p.codec, p.n)
		}
	}
	for _, c := range []struct {
		data []byte
		want byte
	}{{text(minCompress - 1), codecRaw}, {text(minCompress), codecZstd}, {incompressible(minCompress), codecRaw},
		{text(maxWhole), codecZstd}, {text(maxWhole + 1), codecZstd}, {incompressible(maxWhole), codecRaw}, {incompressible(maxWhole + 1), codecRaw}} {
		sum, err := s.Put(c.data)
		raw, err2 := os.ReadFile(s.path(sum))
		if err := errors.Join(err, err2); err != nil || raw[len(magic)] != c.want {
			t.Errorf("%d bytes alone: %c, %v", len(c.data), raw[len(magic)], err)
		}
	}
}

// TestASweepWritesOnlyWhatItShrinks: what is compressed, is no object of its own, or gets no smaller
// stays as it is; called off, it ends with that.
func TestASweepWritesOnlyWhatItShrinks(t *testing.T) {
	s := openStore(t)
	forms(t, s)
	hasty := bytes.Repeat([]byte("a line\n"), maxWhole/3)
	text := []byte(strings.Repeat("a line of text\n", 100_000))
	f := fileOf(t, text)
	_, err := s.PutFile(Source{File: f, Link: f.Name()})
	_, err2 := s.Put(incompressible(maxWhole + 2))
	if err := errors.Join(err, err2, s.PutAll(contentsOf([][]byte{hasty}), false)); err != nil {
		t.Fatal(err)
	}
	all := func(Object) bool { return true }
	if got, err := calls(s, func() error {
		_, err := s.Sweep(t.Context(), time.Now(), all, true)
		return err
	}); len(got) > 0 || err != nil {
		t.Errorf("a sweep that only looks: %v, %v", got, err)
	}
	for i, want := range []string{"create D/TMP; write D/TMP; sync D/TMP; rename D/SUM; syncdir D", ""} {
		got, err := calls(s, func() error {
			_, err := s.Sweep(t.Context(), time.Now(), all, false)
			return err
		})
		if d := cmp.Diff(want, strings.Join(got, "; ")); d != "" || err != nil {
			t.Errorf("sweep %d: %v (-want +got):\n%s", i+1, err, d)
		}
	}
	for name, text := range map[string]string{strings.Repeat("1", 64): "", strings.Repeat("2", 64): "KS1s and no more"} {
		if err := os.WriteFile(filepath.Join(s.dir, spliceDir, name), []byte(text), 0o600); err != nil { // power was lost
			t.Fatal(err)
		}
	}
	if _, err := s.Sweep(t.Context(), time.Now(), all, false); err != nil {
		t.Errorf("with splices that were cut off: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	swept, err := s.Sweep(done, time.Now(), all, false)
	if !errors.Is(err, context.Canceled) || err.Error() != "sweep store "+s.dir+": context canceled" || swept.Objects != 1 {
		t.Errorf("called off: %+v, %v", swept, err)
	}
}

// TestALargeFileThatCannotGetItsName: another process was faster with the same content, or the rename
// fails for another reason, which is told.
func TestALargeFileThatCannotGetItsName(t *testing.T) {
	data := incompressible(maxWhole + 1)
	for name, meanwhile := range map[string]func(s, other *Store) error{
		"another was faster": func(_, other *Store) error {
			_, err := other.PutFile(Source{File: fileOf(t, data)})
			return err
		},
		"no such directory": func(s, _ *Store) error { return os.RemoveAll(filepath.Join(s.dir, largeDir)) },
	} {
		dir := t.TempDir()
		s, other := reopen(t, dir), reopen(t, dir)
		s.Hook = func(op, path string) error {
			if op == "rename" && path == s.largePath(delta.SumOf(data)) {
				s.Hook = nil
				return meanwhile(s, other)
			}
			return nil
		}
		_, err := s.PutFile(Source{File: fileOf(t, data)})
		if name == "another was faster" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkHas(t, s, delta.SumOf(data), data)
		} else if !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAFileThatCannotBeReadIsNotKept, small or large.
func TestAFileThatCannotBeReadIsNotKept(t *testing.T) {
	for _, n := range []int{5, maxWhole + 1} {
		s := openStore(t)
		name := fileOf(t, incompressible(n)).Name()
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := s.PutFile(Source{File: f})
		if err := errors.Join(f.Close()); err != nil {
			t.Fatal(err)
		}
		if err == nil && kept.How != Cloned {
			t.Errorf("%d bytes: kept as %+v", n, kept)
		}
	}
}

// TestWhatIsOldIsKept: asked to keep an object of any form, the store makes it young.
func TestWhatIsOldIsKept(t *testing.T) {
	s := openStore(t)
	for form, sum := range forms(t, s) {
		old := time.Now().Add(-2 * touchAge)
		for _, path := range []string{s.path(sum), s.splicePath(sum), s.largePath(sum)} {
			_ = os.Chtimes(path, old, old) // it has one of them
		}
		if p, ok := s.find(sum); ok {
			_ = os.Chtimes(p.in.path, old, old)
		}
		if err := s.Keep(sum, false); err != nil || time.Since(s.lastPut(sum)) > touchAge {
			t.Errorf("%s: last put %v, %v", form, s.lastPut(sum), err)
		}
	}
}

// TestSplicesWithinBounds are parsed, others are damage.
func TestSplicesWithinBounds(t *testing.T) {
	for _, c := range []struct {
		head, tail int64
		ok         bool
	}{{0, 0, true}, {maxObject, 0, true}, {0, maxObject, true}, {maxObject + 1, 0, false}, {0, maxObject + 1, false}, {-1, 0, false},
		{0, -1, false}} {
		want := splice{base: delta.Sum{3}, head: c.head, tail: c.tail, mid: []byte("m")}
		got, err := parseSplice(want.bytes())
		if (err == nil) != c.ok || c.ok && cmp.Diff(want, got, cmp.AllowUnexported(splice{})) != "" {
			t.Errorf("%d and %d: %+v, %v", c.head, c.tail, got, err)
		}
	}
}

// TestCommonEnds do not overlap, whatever blocks they are compared by.
func TestCommonEnds(t *testing.T) {
	long := incompressible(100_000)
	for _, c := range []struct {
		a, b       []byte
		head, tail int
	}{{nil, nil, 0, 0}, {[]byte("a"), nil, 0, 0}, {[]byte("ab"), []byte("ab"), 2, 0}, {[]byte("xab"), []byte("ab"), 0, 2},
		{[]byte("aba"), []byte("aa"), 1, 1}, {[]byte("aa"), []byte("aaa"), 2, 0}, {[]byte("abc"), []byte("axc"), 1, 1},
		{long, long, 100_000, 0}, {long, long[1:], 0, 99_999}, {long, long[:99_999], 99_999, 0},
		{long, slices.Concat(long[:40_000], []byte("x"), long[40_000:]), 40_000, 60_000},
		{long, slices.Concat(long[:32<<10], []byte{long[32<<10] ^ 1}, long[32<<10:]), 32 << 10, 100_000 - 32<<10}} {
		if head, tail := common(c.a, c.b); head != c.head || tail != c.tail {
			t.Errorf("%d and %d bytes: %d and %d, want %d and %d", len(c.a), len(c.b), head, tail, c.head, c.tail)
		}
	}
}

// TestAllInAStoreIsPrivate, whatever was done with it.
func TestAllInAStoreIsPrivate(t *testing.T) {
	s := openStore(t)
	sums := forms(t, s)
	age(t, s.dir)
	if err := errors.Join(s.Keep(sums["loose"], true), s.Keep(sums["packed"], true), s.Remove(sums["packed"]), s.Remove(sums["file"])); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sweep(t.Context(), s.Horizon(time.Now()), func(Object) bool { return false }, false); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(s.dir, func(path string, st os.FileInfo, err error) error {
		want := os.FileMode(0o600)
		if st.IsDir() {
			want = 0o700
		}
		if err == nil && st.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestContentsOfThisSizeAreNoSplices: those that may be in a pack, or whose base may.
func TestContentsOfThisSizeAreNoSplices(t *testing.T) {
	long := incompressible(minSplice + 2)
	for _, c := range []struct {
		pre, post int
		want      int
	}{{minSplice, minSplice + 1, 0}, {minSplice + 1, minSplice, 0}, {minSplice + 1, minSplice + 2, 1}, {minSplice + 2, minSplice + 1, 1}} {
		s := openStore(t)
		sum := putPair(t, s, long[:c.pre], long[:c.post])
		if got := spliceCount(t, s.dir); got != c.want {
			t.Errorf("%d after %d bytes: %d splices", c.post, c.pre, got)
		}
		checkHas(t, s, sum, long[:c.post])
	}
}
