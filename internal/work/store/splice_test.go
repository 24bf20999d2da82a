package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

// largeText is a content that splices are made of.
func largeText(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < minSplice+64<<10 {
		fmt.Fprintf(&b, "line %d of %d\n", r.IntN(1000), seed)
	}
	return b.Bytes()
}

func putPair(t testing.TB, s *Store, pre, post []byte) delta.Sum {
	t.Helper()
	pair := contentsOf([][]byte{pre, post})
	pair[1].Base = &pair[0]
	if err := s.PutAll(pair, true); err != nil {
		t.Fatal(err)
	}
	return pair[1].Sum
}

func spliceCount(t testing.TB, dir string) int {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(dir, spliceDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(files)
}

// TestSplicesAreLikeOthers edits large contents in chains: every version can be had,
// by another process too, and most take little room.
func TestSplicesAreLikeOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "kerf-splice")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all := [][]byte{largeText(rapid.Uint64Range(1, 3).Draw(t, "seed"))}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			pre := all[len(all)-1]
			at := rapid.IntRange(0, len(pre)).Draw(t, "at")
			end := min(len(pre), at+rapid.SampledFrom([]int{0, 0, 1, 50, 40_000, 100_000}).Draw(t, "cut"))
			fill := bytes.Repeat([]byte("x"), rapid.SampledFrom([]int{0, 1, 3, 5000, 100_000}).Draw(t, "fill"))
			post := bytes.Join([][]byte{pre[:at], fill, pre[end:]}, nil)
			pair := contentsOf([][]byte{pre, post})
			pair[1].Base = &pair[0]
			if err := s.PutAll(pair, false); err != nil {
				t.Fatal(err)
			}
			all = append(all, post)
		}
		other, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := map[delta.Sum]bool{}
		for i, data := range all {
			sum := delta.SumOf(data)
			want[sum] = true
			if got, err := other.Get(sum); err != nil || !bytes.Equal(got, data) || !other.Has(sum) {
				t.Fatalf("version %d of %d bytes: %v", i, len(data), err)
			}
		}
		walked := map[delta.Sum]bool{}
		if err := other.Walk(func(o Object) error { walked[o.Sum] = true; return nil }); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, walked); d != "" {
			t.Fatal(d)
		}
	})
}

func TestSmallEditsOfLargeContentsTakeLittleRoom(t *testing.T) {
	dir := t.TempDir()
	s := reopen(t, dir)
	text := largeText(1)
	for i := range 20 {
		next := bytes.Clone(text)
		copy(next[len(text)/2+i*100:], "edited")
		putPair(t, s, text, next)
		text = next
	}
	var size int64
	if err := s.Walk(func(o Object) error { size += o.Size; return nil }); err != nil {
		t.Fatal(err)
	}
	if n := spliceCount(t, dir); n != 20 || size > int64(len(text))+20*4096 {
		t.Errorf("%d splices, %d bytes for a content of %d", n, size, len(text))
	}
}

// TestSweepKeepsWhatSplicesNeed: nobody names the base, which is old.
func TestSweepKeepsWhatSplicesNeed(t *testing.T) {
	dir := t.TempDir()
	s := reopen(t, dir)
	pre := largeText(1)
	post := append([]byte("first\n"), pre...)
	sum := putPair(t, s, pre, post)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	age(t, dir)
	s = reopen(t, dir)
	sweep := func(keep func(Object) bool) {
		t.Helper()
		if _, err := s.Sweep(t.Context(), s.Horizon(time.Now()), keep, false); err != nil {
			t.Fatal(err)
		}
	}
	sweep(func(o Object) bool { return o.Sum == sum })
	if got, err := s.Get(sum); err != nil || !bytes.Equal(got, post) {
		t.Fatalf("the splice was lost with its base: %v", err)
	}
	none := func(Object) bool { return false }
	age(t, dir)
	sweep(none)
	age(t, dir)
	sweep(none)
	if s.Has(sum) || s.Has(delta.SumOf(pre)) {
		t.Error("splice or base is left")
	}
}

// age makes everything in the store look as if it had been put long ago.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(p, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPutOfASpliceMakesItsBaseYoung: a put finds the splice, a collection follows
// that began before.
func TestPutOfASpliceMakesItsBaseYoung(t *testing.T) {
	dir := t.TempDir()
	s := reopen(t, dir)
	pre := largeText(1)
	post := append([]byte("first\n"), pre...)
	sum := putPair(t, s, pre, post)
	age(t, dir)
	if _, err := s.PutSync(post); err != nil {
		t.Fatal(err)
	}
	horizon := time.Now().Add(-Least)
	if s.lastPut(sum).Before(horizon) || s.lastPut(delta.SumOf(pre)).Before(horizon) {
		t.Error("the splice or its base stayed old")
	}
	if gone, err := s.removeOld(delta.SumOf(pre), horizon); err != nil || gone {
		t.Errorf("removed %v, %v", gone, err)
	}
}

// TestFailedSplicesLoseNothing fails every call of a put once.
func TestFailedSplicesLoseNothing(t *testing.T) {
	pre := largeText(1)
	post := append([]byte("first\n"), pre...)
	errBroken := errors.New("broken")
	for k := 1; ; k++ {
		dir := t.TempDir()
		s := reopen(t, dir)
		n := 0
		s.Hook = func(string, string) error {
			if n++; n == k {
				return errBroken
			}
			return nil
		}
		pair := contentsOf([][]byte{pre, post})
		pair[1].Base = &pair[0]
		err := s.PutAll(pair, true)
		if n < k {
			if err != nil || k < 5 {
				t.Fatalf("%d calls, %v", n, err)
			}
			return
		}
		if err == nil && !s.Has(pair[1].Sum) {
			t.Fatalf("call %d: success without the content", k)
		}
		s.Hook = nil
		if err := s.PutAll(pair, true); err != nil {
			t.Fatal(err)
		}
		for i, c := range pair {
			if got, err := s.Get(c.Sum); err != nil || !bytes.Equal(got, c.Data) {
				t.Fatalf("call %d: content %d: %v", k, i, err)
			}
		}
	}
}

func TestDamagedSplicesAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := reopen(t, dir)
	pre := largeText(1)
	sum := putPair(t, s, pre, append([]byte("first\n"), pre...))
	good, err := os.ReadFile(s.splicePath(sum))
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x81
		if err := os.WriteFile(s.splicePath(sum), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(sum); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotFound) {
			t.Fatalf("byte %d flipped: %v", at, err)
		}
	}
}

// TestSweepCompressesWhatWasPutInHaste: the bytes stay, the room shrinks.
func TestSweepCompressesWhatWasPutInHaste(t *testing.T) {
	dir := t.TempDir()
	s := reopen(t, dir)
	text := bytes.Repeat([]byte("a line that says little\n"), maxWhole/20)
	c := Content{Sum: delta.SumOf(text), Data: text}
	if err := s.PutAll([]Content{c}, false); err != nil {
		t.Fatal(err)
	}
	size := func() (n int64) {
		if err := s.Walk(func(o Object) error { n += o.Size; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := size()
	for range 2 {
		if _, err := s.Sweep(t.Context(), s.Horizon(time.Now()), func(Object) bool { return true }, false); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Get(c.Sum); err != nil || !bytes.Equal(got, text) {
		t.Fatal(err)
	}
	if after := size(); before < int64(len(text)) || after > before/10 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}
