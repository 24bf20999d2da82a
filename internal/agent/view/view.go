// Package view knows which lines of which version of a file the model has in its
// context.
//
// It is told what was shown and what was changed, and forgets what a compaction
// or a rewind took out of the conversation. It never claims more than was shown:
// where it cannot follow, it says that it does not know. The package is pure.
package view

import (
	"slices"
	"strings"
	"sync"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/order"
)

// View is what one model has seen of files. The zero value has seen nothing. Its
// methods may be called by several goroutines. Paths are real ones.
type View struct {
	mu     sync.Mutex              // guards what follows
	latest map[string]*delta.Image // what the model last saw; nil: that nothing was there
	files  map[string]*file        // the lines that it has in its context
	shown  []shown                 // in order, as far as they are in the context
	told   map[string]string       // what the model was told that files became
}

// shown is an observation with the turn it was made in.
type shown struct {
	turn protocol.TurnID
	saw  history.Observation
}

// Observe notes the state of a file that the model is shown.
func (v *View) Observe(path string, img *delta.Image) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.latest == nil {
		v.latest = map[string]*delta.Image{}
	}
	v.latest[path] = img
}

// Latest is the state of a file that the model was last shown: nil where nothing was
// there. It reports whether there is one.
func (v *View) Latest(path string) (*delta.Image, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	img, ok := v.latest[path]
	return img, ok
}

// Drop forgets what the model believes of a file that moved under it.
func (v *View) Drop(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.latest, path)
}

// Record takes in what a call showed, which is in the history now.
func (v *View) Record(r history.ToolCall) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range r.Observed {
		v.add(s)
		v.shown = append(v.shown, shown{r.Turn, s})
	}
}

// Rewind drops what was shown in the given turns.
func (v *View) Rewind(turns []protocol.TurnID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.files = nil
	var kept []shown
	for _, s := range v.shown {
		if slices.Contains(turns, s.turn) {
			delete(v.latest, string(s.saw.Path))
			continue
		}
		kept = append(kept, s)
		v.add(s.saw)
	}
	v.shown = kept
}

// Recent are the newest observations in the context, one a file and at most n, in
// the order of their paths.
func (v *View) Recent(n int) []history.Observation {
	v.mu.Lock()
	defer v.mu.Unlock()
	var newest []history.Observation
	seen := map[string]bool{}
	for i := len(v.shown) - 1; i >= 0 && len(newest) < n; i-- {
		if s := v.shown[i].saw; !seen[string(s.Path)] {
			seen[string(s.Path)] = true
			newest = append(newest, s)
		}
	}
	order.By(newest, func(a, b history.Observation) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return newest
}

// Tell notes that the model is told that a file became sum. It reports whether that
// is news.
func (v *View) Tell(path, sum string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.told == nil {
		v.told = map[string]string{}
	}
	before, ok := v.told[path]
	v.told[path] = sum
	return !ok || before != sum
}

// file is what was shown of one version. With loose set, the model changed the
// file itself since: what it holds can no longer be counted in lines.
type file struct {
	sum   string
	spans []span // sorted, apart from each other
	loose bool
}

// span is a range of lines, 1-based and inclusive.
type span struct{ first, last int }

// add takes in that a state was shown; without lines only that it exists.
func (v *View) add(s history.Observation) {
	if v.files == nil {
		v.files = map[string]*file{}
	}
	f := v.files[string(s.Path)]
	switch {
	case s.Sum == "":
		delete(v.files, string(s.Path))
		return
	case f == nil:
		f = &file{sum: s.Sum, loose: s.First == 0}
		v.files[string(s.Path)] = f
	case f.sum != s.Sum && s.First == 0: // it was changed by the model itself
		f.sum, f.spans, f.loose = s.Sum, nil, true
	case f.sum != s.Sum:
		*f = file{sum: s.Sum}
	}
	if s.First > 0 && s.Last >= s.First {
		f.add(span{s.First, s.Last})
		f.loose = f.loose && !(s.First == 1 && s.Last >= s.Lines)
	}
}

func (f *file) add(s span) {
	var merged []span
	for _, o := range f.spans {
		if o.last+1 < s.first || s.last+1 < o.first {
			merged = append(merged, o)
			continue
		}
		s = span{min(s.first, o.first), max(s.last, o.last)}
	}
	merged = append(merged, s)
	order.By(merged, func(a, b span) int { return a.first - b.first })
	f.spans = merged
}

// Holds reports whether all lines from first to last of the version sum were
// shown and still are in the context.
func (v *View) Holds(path, sum string, first, last int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.files[path]
	if f == nil || f.sum != sum || last < first {
		return false
	}
	return slices.ContainsFunc(f.spans, func(s span) bool { return s.first <= first && last <= s.last })
}

// Unseen reports whether lines from first to last of the version sum certainly
// were not shown: nothing of the file was, or other lines of this version.
func (v *View) Unseen(path, sum string, first, last int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.files[path]
	if f == nil {
		return true
	}
	if f.sum != sum || f.loose {
		return false
	}
	return !slices.ContainsFunc(f.spans, func(s span) bool { return s.first <= last && first <= s.last })
}

// Knows reports whether anything of the file was shown.
func (v *View) Knows(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.files[path] != nil
}

// Forget drops what was shown: the context was emptied. The states that were seen
// last stay.
func (v *View) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.files, v.shown = nil, nil
}
