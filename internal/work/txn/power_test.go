//go:build unix

package txn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/powerloss"
	"kerf/internal/text/delta"
)

// TestSEC_E4_PowerLoss loses power before every call of durable commits.
func TestSEC_E4_PowerLoss(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(t *testing.T) (*fixture, delta.Set)
		fresh bool
	}{
		"every kind":      {begin: func(t *testing.T) (*fixture, delta.Set) { return scene(t, 1) }},
		"first commit":    {begin: func(t *testing.T) (*fixture, delta.Set) { return scene(t, 1) }, fresh: true},
		"large contents":  {begin: largeScene},
		"flushed at once": {begin: func(t *testing.T) (*fixture, delta.Set) { return scene(t, 4) }},
		"one file": {begin: func(t *testing.T) (*fixture, delta.Set) {
			f := newFixture(t)
			f.write("a*", "old content")
			return f, delta.Set{f.change("a", "new content")}
		}},
		"in place": {begin: func(t *testing.T) (*fixture, delta.Set) {
			f := newFixture(t)
			f.write("h1", "linked content")
			if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
				t.Skip(err)
			}
			return f, delta.Set{f.change("h1", "other content, longer than before")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "flushed at once" || name == "large contents" {
				long.Slow(t)
			}
			t.Parallel()
			powerLoss(t, tt.begin, tt.fresh)
		})
	}
}

func powerLoss(t *testing.T, begin func(t *testing.T) (*fixture, delta.Set), fresh bool) {
	f, set := begin(t)
	if !fresh { // an earlier commit, so that the files of the workspace are there
		f.write("zzz", "0")
		f.commit(f.change("zzz", "1"))
	}
	entries := len(f.entries())
	_ = f.w.Close()
	_ = f.w.Ledger.Close()
	old := f.snapshot()
	d, err := powerloss.New(filepath.Dir(f.root))
	if err != nil {
		t.Fatal(err)
	}
	type moment struct {
		what  string
		state powerloss.State
		acked bool
	}
	var moments []moment
	tried := map[string]bool{}
	all := os.Getenv("KERF_LONG") != ""
	r := rand.New(rand.NewPCG(1, 2))
	look := func(what string, acked bool) {
		if err := d.Observe(); err != nil {
			t.Fatal(err)
		}
		d.Losses(r, all, func(how string, s powerloss.State) {
			if key := fmt.Sprint(acked, s.Key()); !tried[key] {
				tried[key] = true
				moments = append(moments, moment{what + ", " + how, s, acked})
			}
		})
	}
	calls := 0
	w, err := openAt(f.root, f.home, true, func(op, path string) error {
		calls++
		look(fmt.Sprintf("before call %d (%s %s)", calls, op, filepath.Base(path)), false)
		switch op {
		case "syncall":
			d.FlushAll()
		case "sync", "syncdir":
			d.Flush(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(context.Background(), set, CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	look("after the commit", true)
	next := f.snapshot()
	_ = w.Close()
	_ = w.Ledger.Close()
	olds, news := 0, 0
	if !all {
		r.Shuffle(len(moments), func(i, k int) { moments[i], moments[k] = moments[k], moments[i] })
		acked := func(m moment) bool { return m.acked }
		after := slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return !acked(m) })
		before := slices.DeleteFunc(moments, acked)
		moments = append(before[:min(len(before), 36)], after[:min(len(after), 8)]...)
	}
	for _, m := range moments {
		if err := m.state.Build(); err != nil {
			t.Fatal(err)
		}
		w, err := openAt(f.root, f.home, false, nil)
		if err != nil {
			t.Fatalf("%s: %v", m.what, err)
		}
		got := f.snapshot()
		ledger, err := w.Ledger.Read(0)
		if err != nil {
			t.Fatalf("%s: %v", m.what, err)
		}
		n := len(ledger) - entries
		switch {
		case same(got, next) && n == 1:
			news++
		case same(got, old) && n == 0 && !m.acked:
			olds++
		default:
			t.Fatalf("%s: %d entries; acknowledged %v\n-old +got\n%s\n-new +got\n%s", m.what, n, m.acked, cmp.Diff(old, got),
				cmp.Diff(next, got))
		}
		for i := range ledger[max(0, len(ledger)-n):] {
			for _, c := range ledger[entries+i].Set() {
				for _, img := range []*delta.Image{c.Pre, c.Post} {
					if img == nil {
						continue
					}
					if _, err := w.Store.Get(img.Sum); err != nil {
						t.Fatalf("%s: %s cannot be had back: %v", m.what, c.Path, err)
					}
				}
			}
		}
		_ = w.Close()
		_ = w.Ledger.Close()
	}
	t.Logf("%d calls, %d states after a loss of power: %d old, %d new", calls, len(moments), olds, news)
	if olds == 0 || news == 0 {
		t.Error("only one of the two outcomes came up")
	}
}
