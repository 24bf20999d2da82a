package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"kerf/internal/text/delta"
)

// aged opens a store in dir and fills it with objects, loose and packed, that were
// put long ago. It returns the sums.
func aged(t *testing.T, dir string, n int) []delta.Sum {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var sums []delta.Sum
	var many [][]byte
	for i := range n {
		data := fmt.Appendf(nil, "content %d", i)
		sums = append(sums, delta.SumOf(data))
		if i%2 == 0 {
			many = append(many, data)
		} else if _, err := s.Put(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutAll(contentsOf(many), false); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	err = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(p, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func reopen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSweepRemovesWhatNobodyWants(t *testing.T) {
	dir := t.TempDir()
	sums := aged(t, dir, 60)
	s := reopen(t, dir)
	keep := func(o Object) bool { return o.Sum[0]%2 == 0 }
	dry, err := s.Sweep(t.Context(), s.Horizon(time.Now()), keep, true)
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Sweep(t.Context(), s.Horizon(time.Now()), keep, false)
	if err != nil {
		t.Fatal(err)
	}
	if dry != done || done.Objects != len(sums) || done.Removed == 0 {
		t.Errorf("dry run %+v, real run %+v of %d", dry, done, len(sums))
	}
	for _, sum := range sums {
		if want := sum[0]%2 == 0; s.Has(sum) != want {
			t.Errorf("%s: there is %v, want %v", sum, s.Has(sum), want)
		}
	}
}

// TestSweepKilledAtEveryCall ends a collection before each of its calls that change
// the disk: whatever is wanted can be read, and the next collection comes to the same
// end as one that was not killed.
func TestSweepKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	keep := func(o Object) bool { return o.Sum[0]%3 == 0 }
	dead := errors.New("killed")
	calls := 0
	for at := 1; ; at++ {
		dir := t.TempDir()
		sums := aged(t, dir, 40)
		s := reopen(t, dir)
		n := 0
		s.Hook = func(string, string) error {
			if n++; n >= at {
				return dead
			}
			return nil
		}
		_, err := s.Sweep(t.Context(), s.Horizon(time.Now()), keep, false)
		if err == nil {
			break
		}
		calls++
		after := reopen(t, dir)
		for _, sum := range sums {
			if keep(Object{Sum: sum}) {
				if _, err := after.Get(sum); err != nil {
					t.Fatalf("killed at call %d: %v", at, err)
				}
			}
		}
		if _, err := after.Sweep(t.Context(), after.Horizon(time.Now()), keep, false); err != nil {
			t.Fatalf("killed at call %d: %v", at, err)
		}
		for _, sum := range sums {
			if after.Has(sum) != keep(Object{Sum: sum}) {
				t.Fatalf("killed at call %d, then swept again: %s is there: %v", at, sum, after.Has(sum))
			}
		}
	}
	if calls < 20 {
		t.Fatalf("%d calls", calls)
	}
	t.Logf("killed at %d calls", calls)
}

// TestSweepBesidePuts collects all the time, wanting nothing, while others put old
// objects again: what a put returned is there.
func TestSweepBesidePuts(t *testing.T) {
	dir := t.TempDir()
	aged(t, dir, 400)
	ctx, cancel := context.WithCancel(t.Context())
	var collector, putters sync.WaitGroup
	collector.Go(func() {
		s := reopen(t, dir)
		for ctx.Err() == nil {
			if _, err := s.Sweep(ctx, time.Now().Add(-Least), func(Object) bool { return false }, false); err != nil &&
				ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for p := range 4 {
		putters.Go(func() {
			s := reopen(t, dir)
			for i := p; i < 400; i += 4 {
				sum, err := s.Put(fmt.Appendf(nil, "content %d", i))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Get(sum); err != nil {
					t.Errorf("put, and then: %v", err)
					return
				}
			}
		})
	}
	putters.Wait()
	cancel()
	collector.Wait()
}

// TestLeaseSparesWhatALivingProcessPut: an object that was put long ago by somebody
// who still uses the store stays, and goes once he is done.
func TestLeaseSparesWhatALivingProcessPut(t *testing.T) {
	data := []byte("kept in memory only")
	sum := delta.SumOf(data)
	one := func(s *Store) error { _, err := s.Put(data); return err }
	for name, c := range map[string]struct{ before, put func(s *Store) error }{
		"put":         {nil, one},
		"put durably": {nil, func(s *Store) error { _, err := s.PutSync(data); return err }},
		"put again":   {one, one},
		"kept":        {one, func(s *Store) error { return s.Keep(sum, false) }},
		"with another": {nil, func(s *Store) error {
			return s.PutAll(contentsOf([][]byte{data, []byte("another")}), false)
		}},
		"with many": {nil, func(s *Store) error {
			return s.PutAll(contentsOf(append(manyContents(50, 1), data)), false)
		}},
		"a file": {nil, func(s *Store) error { _, err := s.PutFile(Source{File: fileOf(t, data)}); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.before != nil {
				earlier := reopen(t, dir)
				if err := errors.Join(c.before(earlier), earlier.Close()); err != nil {
					t.Fatal(err)
				}
			}
			s := reopen(t, dir)
			if err := c.put(s); err != nil {
				t.Fatal(err)
			}
			age(t, dir)
			gc := reopen(t, dir)
			none := func(Object) bool { return false }
			if _, err := gc.Sweep(t.Context(), gc.Horizon(time.Now()), none, false); err != nil || !reopen(t, dir).Has(sum) {
				t.Fatalf("collected under a lease (%v)", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := gc.Sweep(t.Context(), gc.Horizon(time.Now()), none, false); err != nil || reopen(t, dir).Has(sum) {
				t.Fatalf("not collected after the lease (%v)", err)
			}
		})
	}
}

// TestHorizon: a lease that is held moves it back, one that a killed process left goes.
func TestHorizon(t *testing.T) {
	s, now := openStore(t), time.Now()
	if got := s.Horizon(now); !got.Equal(now.Add(-Least)) {
		t.Errorf("without leases %v, at %v", got, now)
	}
	if _, err := s.Put([]byte("x")); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(s.dir, liveDir)
	left := filepath.Join(in, "left")
	held, err := filepath.Glob(filepath.Join(in, "*"))
	if err != nil || len(held) != 1 {
		t.Fatal(held, err)
	}
	since, earlier := now.Add(-24*time.Hour), now.Add(-48*time.Hour)
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.Chtimes(left, earlier, earlier),
		os.Chtimes(held[0], since, since)); err != nil {
		t.Fatal(err)
	}
	got, want := reopen(t, s.dir).Horizon(now), since.Add(-touchAge-time.Minute)
	if d := got.Sub(want).Abs(); d > time.Millisecond { // as exact as times of files are
		t.Errorf("%v, want %v", got, want)
	}
	if there, err := filepath.Glob(filepath.Join(in, "*")); err != nil || len(there) != 1 || there[0] != held[0] {
		t.Errorf("leases %q, want %q; %v", there, held, err)
	}
	for range 2 { // closing again does nothing
		if err := s.Close(); err != nil || !s.Horizon(now).Equal(now.Add(-Least)) {
			t.Errorf("closed: %v", err)
		}
	}
}

// TestWithoutTheLockNothingIsTouchedOrRemoved: a collector and a put may have met otherwise.
func TestWithoutTheLockNothingIsTouchedOrRemoved(t *testing.T) {
	s := openStore(t)
	sums := forms(t, s)
	age(t, s.dir)
	past, old := time.Now().Add(-48*time.Hour), map[string]time.Time{}
	if err := os.Chtimes(s.largePath(sums["file"]), past, past); err != nil { // age is for files
		t.Fatal(err)
	}
	for form, sum := range sums {
		old[form] = s.lastPut(sum)
	}
	if err := os.Mkdir(filepath.Join(s.dir, lockName), 0o700); err != nil {
		t.Fatal(err)
	}
	for form, sum := range sums {
		if err := s.Keep(sum, false); !errors.Is(err, ErrNotFound) || !s.lastPut(sum).Equal(old[form]) {
			t.Errorf("%s: kept: %v, put last %v, was %v", form, err, s.lastPut(sum), old[form])
		}
	}
	done, err := s.Sweep(t.Context(), time.Now(), func(Object) bool { return false }, false)
	if err == nil || done.Removed > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	for form, sum := range sums {
		if !s.Has(sum) {
			t.Errorf("%s: it is gone", form)
		}
	}
}

func BenchmarkSweep(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		if _, err := s.Put(fmt.Appendf(nil, "content %d", i)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.Sweep(b.Context(), time.Now(), func(Object) bool { return true }, false); err != nil {
			b.Fatal(err)
		}
	}
}
