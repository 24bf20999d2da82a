// Package compared finds what changed under the roots of a session between two looks at
// them, where no witness sees it, less what the ledger tells already.
package compared

import (
	"context"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"kerf/internal/text/delta"
	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
	"kerf/internal/work/scan"
)

// Roots are the roots of a session. Without a scanner nothing is found. They may be used
// by several goroutines: sub-agents note their changes, too.
type Roots struct {
	Scanner *scan.Scanner
	Ledger  *ledger.Ledger
	// Enter puts into the ledger what watched commands that run on did until now.
	Enter func()

	mu   sync.Mutex      // guards the scanner and what follows
	snap *scan.Snap      // the state at the last look
	seq  int64           // the ledger's last entry before it
	told map[string]bool // paths that Unkept named
}

// Found is what changed since the look before.
type Found struct {
	Set   delta.Set
	Dirs  []ledger.Path // made
	Gone  []ledger.Dir
	Modes []ledger.DirMode
	Gaps  []ledger.Gap // of which not all is known
}

// Empty reports whether nothing changed, as far as that is known.
func (f *Found) Empty() bool { return len(f.Set)+len(f.Dirs)+len(f.Gone)+len(f.Modes) == 0 }

// Look finds what changed since the last look. The first only remembers. What other
// Kerf processes and other tools of this one entered meanwhile is not in it.
func (r *Roots) Look(ctx context.Context) (f Found, err error) {
	if r.Scanner == nil {
		return f, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seq := r.last()
	now, err := r.Scanner.Snapshot(ctx)
	if err != nil {
		return f, fmt.Errorf("the roots could not be scanned: %w", err)
	}
	before, since := r.snap, r.seq
	r.snap, r.seq = now, seq
	if before == nil {
		return f, nil
	}
	set, gaps, err := r.Scanner.Diff(ctx, before, now)
	if err != nil {
		return f, fmt.Errorf("the roots could not be compared: %w", err)
	}
	f.Set = set
	f.Dirs, f.Gone, f.Modes = r.Scanner.Dirs(before, now)
	for _, g := range gaps {
		if g.Kind == scan.Directory || placeholder(g) { // the ledger has directories apart
			continue
		}
		f.Gaps = append(f.Gaps, ledger.Gap{Path: ledger.Path(g.Path), Why: g.Reason})
	}
	if f.Empty() {
		return f, nil
	}
	others, err := r.others(since)
	f.Set, f.Dirs, f.Gone, f.Modes = others.Without(f.Set), others.Dirs(f.Dirs), others.Gone(f.Gone), others.Modes(f.Modes)
	return f, err
}

// mostUnkept bounds how many paths Unkept names.
const mostUnkept = 5

// Unkept names what a command could change without a way back: its present state could
// not be kept at the last look. Each path is told once; it is empty when there is nothing
// to tell.
func (r *Roots) Unkept() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snap == nil {
		return ""
	}
	if r.told == nil {
		r.told = map[string]bool{}
	}
	var list []string
	more := 0
	for _, g := range r.snap.Gaps {
		if r.told[g.Path] || g.Kind == scan.Special || g.Kind == scan.Directory {
			continue
		}
		r.told[g.Path] = true
		if len(list) == mostUnkept {
			more++
			continue
		}
		list = append(list, visible.OneLine(g.Path, 200)+" ("+g.Reason+")")
	}
	if len(list) == 0 {
		return ""
	}
	text := "nobody watches this command: what it changes here could not be taken back: " + strings.Join(list, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// placeholder reports whether a gap is what the sandbox of another session puts in the
// place of a name that commands must not make.
func placeholder(g scan.Gap) bool {
	base := path.Base(filepath.ToSlash(g.Path))
	return g.Kind == scan.Special && (base == boundary.Kerf || base == boundary.Git)
}

// last is the number of the ledger's last entry, 0 if there is none.
func (r *Roots) last() int64 {
	if r.Ledger == nil {
		return 0
	}
	tail, err := r.Ledger.Tail(1)
	switch {
	case err != nil:
		return math.MaxInt64 // nothing is known to be of others
	case len(tail) == 0:
		return 0
	}
	return tail[0].Seq
}

// others is what the ledger tells since an entry.
func (r *Roots) others(since int64) (known.Changes, error) {
	if r.Ledger == nil {
		return known.Changes{}, nil
	}
	if r.Enter != nil {
		r.mu.Unlock() // what is entered is noted
		r.Enter()
		r.mu.Lock()
	}
	entries, err := r.Ledger.Read(since)
	return known.Of(entries, func(e *ledger.Entry) bool { return e.Known() == ledger.Proven }), err
}

// Note tells of a change that is in the ledger.
func (r *Roots) Note(name string, img *delta.Image) {
	if r.Scanner == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Scanner.Note(name, img)
}

// Missed tells how a path went from what it held at the last look to what it holds now,
// by nobody whom the ledger knows.
func (r *Roots) Missed(ctx context.Context, name string, now *delta.Image) (c delta.Change, ok bool, err error) {
	if r.Scanner == nil {
		return c, false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok, err = r.Scanner.Missed(ctx, name, now)
	if !ok || err != nil {
		return c, ok, err
	}
	others, err := r.others(r.seq)
	if left := others.Without(delta.Set{c}); len(left) > 0 {
		return left[0], true, err
	}
	return delta.Change{}, false, err
}
