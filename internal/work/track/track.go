// Package track keeps the net change of a turn while it grows.
//
// It consumes what was committed and what was found, nothing that was only meant.
// A commit that may have landed unseen puts its paths in doubt; they are looked at
// before the next answer, and the answer is exact again, or says where it is not.
package track

import (
	"fmt"
	"slices"
	"sort"

	"kerf/internal/text/delta"
)

// Reader looks at what a path holds now; nil is nothing.
type Reader func(path string) (*delta.Image, error)

// Tracker follows one turn. The zero value with its two functions is ready. It is
// for one goroutine.
type Tracker struct {
	// Look reads a path that is in doubt.
	Look Reader
	// Load gives an image its bytes.
	Load func(*delta.Image) (*delta.Image, error)

	steps []delta.Step
	doubt map[string]*delta.Image // by path: what it held when it was last certain
	found delta.Set               // what later sets told of paths in doubt, since the last answer
}

// Add takes in a set that landed, in the order in which sets did.
func (t *Tracker) Add(set delta.Set, outside bool) {
	if len(set) == 0 {
		return
	}
	t.settle(set)
	t.steps = append(t.steps, delta.Step{Set: set, Outside: outside})
}

// settle takes the paths of a set that landed out of doubt: its changes say what they found there.
// Where that is not what was certain before, it is what the write in doubt had made.
func (t *Tracker) settle(set delta.Set) {
	var found delta.Set
	for _, c := range set {
		had, doubtful := t.doubt[c.Path]
		if doubtful && !had.Same(c.Pre) {
			found = append(found, delta.Change{Path: c.Path, Pre: had, Post: c.Pre})
		}
		delete(t.doubt, c.Path)
	}
	if len(found) > 0 {
		t.steps = append(t.steps, delta.Step{Set: found})
		t.found = append(t.found, found...)
	}
}

// Doubt says that writes of set may have landed although nobody saw it: its paths
// held what it was made for, or what an earlier set left there.
func (t *Tracker) Doubt(set delta.Set) {
	if t.doubt == nil {
		t.doubt = map[string]*delta.Image{}
	}
	for _, c := range set {
		if _, known := t.doubt[c.Path]; known {
			continue
		}
		had := c.Pre
		if now, ok := t.last(c.Path); ok {
			had = now
		}
		t.doubt[c.Path] = had
	}
}

// last is what the steps left in a path, if they touched it.
func (t *Tracker) last(path string) (*delta.Image, bool) {
	for _, s := range slices.Backward(t.steps) {
		for _, c := range slices.Backward(s.Set) {
			if c.Path == path {
				return c.Post, true
			}
		}
	}
	return nil, false
}

// Net is the net change so far.
type Net struct {
	delta.Parts
	// Exact says that nothing else changed what Ours is about.
	Exact bool
	// Uncertain names the paths that make it inexact, with reasons.
	Uncertain []string
	// Healed is what the look at doubtful paths found just now, and what later sets had
	// found there: a part of Ours that no ledger has yet.
	Healed delta.Set
}

// Certain is the net change of what is not in doubt, without what others did.
func (t *Tracker) Certain() delta.Set { return delta.Separate(t.steps, t.Load).Ours }

// Net looks at what is in doubt and returns the net change. What is found there
// counts as ours: we were writing it. It may be called again and again.
func (t *Tracker) Net() Net {
	n := Net{Exact: true}
	paths := make([]string, 0, len(t.doubt))
	for p := range t.doubt {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	var found delta.Set
	for _, p := range paths {
		now, err := t.Look(p)
		if err != nil {
			n.Uncertain = append(n.Uncertain, fmt.Sprintf("%s (%v)", p, err))
			continue
		}
		if had := t.doubt[p]; !had.Same(now) {
			found = append(found, delta.Change{Path: p, Pre: had, Post: now})
		}
		delete(t.doubt, p)
	}
	t.Add(found, false)
	n.Healed, t.found = append(t.found, found...), nil
	n.Exact = len(n.Uncertain) == 0
	n.Parts = delta.Separate(t.steps, t.Load)
	return n
}
