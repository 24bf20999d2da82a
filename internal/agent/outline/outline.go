// Package outline tells where the turns of a session stand in its record, so that of a long
// one only those parts are read that somebody looks at.
//
// An outline is made of the record and of nothing else. That of a long record is kept beside
// it, in rollout.outline: one line for each part of the record, added as the record grows.
//
//	record    |--- part ---|--- part ---|--- part ---|· · not told of yet · ·|
//	outline   line         line         line
//
// The file is a cache. A line counts only where its own sum is right, and the last one only
// where the record has the line that it ends with. Since each line of a record names the hash of
// the one before, the whole is then made of this record. Who wants turns reads the file from its
// end, as far as it needs.
//
// Several processes may add to the file at once: a reader goes back from line to line by where
// their parts begin and end, and passes over what does not fit.
package outline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kerf/internal/protocol"
)

const (
	recordName = "rollout.jsonl"
	keptName   = "rollout.outline"
	// format is the version of what is kept.
	format = 3
	// piece is how many bytes of a record one line tells of, with all of the record's line
	// that reaches it. The other bounds are multiples of it.
	piece = 512 << 10
	// marked is how many bytes of a turn are read anyway to find something in it. Calls and
	// changes behind them have marks.
	marked = 2
	// grown is how many bytes a turn may add before a session looks at them, in the midst of
	// it, and most is how many it looks at at all.
	grown, most = 8, 32
)

// Soon is a bound for [View.Most]: reading so many bytes of a record takes less time than a
// person notices. A session is never further ahead of its outline.
const Soon = 6 << 20

// Outline tells of the first Size bytes of a record.
type Outline struct {
	Size  int64
	Turns []Turn // that were not taken back, oldest first
	// Used is what the session's own requests used, those of turns that were taken back among
	// them, oldest first. Model is the one that the next request uses.
	Used  []Used
	Model string
	Damage
}

// Damage says how many lines up to here are no records, as far as they were looked at, and where
// the first one begins.
type Damage struct {
	Lines int   `json:"damaged,omitempty"`
	At    int64 `json:"damaged_at,omitempty"`
}

// Used is what requests to one model used in one span of time.
type Used struct {
	At       time.Time      `json:"at"` // when the span began
	Model    string         `json:"model"`
	Requests int            `json:"requests"`
	Usage    protocol.Usage `json:"usage"`
}

// span is how long the requests of one Used are apart at most. Days begin at a multiple of it
// everywhere.
const span = 15 * time.Minute

// Turn is a turn and where it stands.
type Turn struct {
	ID    protocol.TurnID `json:"id"`
	Began time.Time       `json:"began"`
	// Ended is the event that ended it, as history.TurnCompleted; empty while it runs.
	Ended string         `json:"ended,omitempty"`
	From  int64          `json:"from"`
	End   int64          `json:"end"`
	Usage protocol.Usage `json:"usage"`
	// Calls and Changes are how many calls and changes of files it has, without those that
	// others made.
	Calls   int `json:"calls,omitempty"`
	Changes int `json:"changes,omitempty"`
	// Long are the lines between From and End that are long, in order, where they are known. Each
	// other one has less than 512 KiB.
	Long []Span `json:"-"`
	// Cut says that the turn began before From, where is not known: Began, Usage, Calls and
	// Changes tell only of what is behind From.
	Cut bool `json:"-"`
}

// Span is where a line begins and ends.
type Span struct{ From, End int64 }

// Behind says that more of a record has to be read first than was allowed.
type Behind struct{ Known, Size int64 } // in bytes

func (b *Behind) Error() string {
	return fmt.Sprintf("of the session's record %d of %d bytes are read", b.Known, b.Size)
}

// Kept is the outline of one session as it was last looked at. The zero value is empty; it
// may be used by several goroutines.
type Kept struct {
	mu     sync.Mutex
	loaded bool
	part   part     // the last one that is known: what follows goes on from it
	lines  [][]byte // lines of parts that are not in the file, oldest first
	left   int64    // how long the record was when it was left to others, see Grown
	half   int64    // how long it was when nothing but half a line was left to read
	index  *index   // of the file, as it was looked at last
}

// View is the outline of the record in Dir. Each of its methods first reads what was added to
// the record. Most bounds how many bytes that may be, 0 is no bound; where it is more, they
// return a [*Behind].
type View struct {
	Kept *Kept
	Dir  string
	Most int64
	// Piece is how many bytes of a record one line of the file tells of; 0 is a default.
	Piece int64
}

func (v View) pieces(n int64) int64 { return n * cmp.Or(v.Piece, piece) }

// Turns are the newest turns that were not taken back, oldest first, but for so many that are
// left out; at most limit, and whether there are more before them.
func (v View) Turns(ctx context.Context, skip, limit int) (list []Turn, older bool, err error) {
	err = v.use(ctx, func() error {
		end := max(0, v.Kept.part.count()-skip)
		first := max(0, end-max(0, limit))
		older = first > 0
		if list, err = v.between(first, end); err == nil {
			err = v.long(list)
		}
		return err
	})
	return list, older, err
}

// Find is the newest turn with this id, and how many came after it. Ok is false where there is
// none.
func (v View) Find(ctx context.Context, id protocol.TurnID) (t Turn, after int, ok bool, err error) {
	err = v.use(ctx, func() error {
		at := -1
		if t, at, err = v.find(id, v.Kept.part.count()); at >= 0 {
			ok, after = true, v.Kept.part.count()-1-at
			one := []Turn{t}
			err = v.long(one)
			t = one[0]
		}
		return err
	})
	return t, after, ok, err
}

// Among are those turns whose ids are among some, the newest one of each.
func (v View) Among(ctx context.Context, ids map[protocol.TurnID]bool) (found map[protocol.TurnID]Turn, err error) {
	err = v.use(ctx, func() error {
		found, err = v.among(ids)
		return err
	})
	return found, err
}

// Marks are the places in a turn of calls, and of changes of files, that are behind what is read
// of it anyway.
type Marks struct {
	// From is how far reading the turn from its beginning is needed, and no further.
	From    int64
	Calls   map[protocol.CallID]int64 // where the record of each ends
	Changes []int64                   // where their records begin, in order
}

// Marks are those of a turn.
func (v View) Marks(ctx context.Context, t Turn) (m Marks, err error) {
	m = Marks{From: min(t.From+v.pieces(marked), t.End)}
	if t.End-t.From <= v.pieces(marked) {
		return m, nil
	}
	err = v.use(ctx, func() error {
		m.Calls, m.Changes, err = v.marks(t)
		return err
	})
	return m, err
}

// All is the outline as one.
func (v View) All(ctx context.Context) (o Outline, err error) {
	err = v.use(ctx, func() error {
		o, err = v.all()
		return err
	})
	return o, err
}

// Used is what the session's own requests used, oldest first.
func (v View) Used(ctx context.Context) (list []Used, err error) {
	err = v.use(ctx, func() error {
		list, err = v.used()
		return err
	})
	return list, err
}

// CountSome reads a piece of a record that is further ahead than Most, and reports whether it is
// so no more.
func (v View) CountSome(ctx context.Context) (done bool, err error) {
	var behind *Behind
	if err := v.use(ctx, func() error { return nil }); !errors.As(err, &behind) {
		return err == nil, err
	}
	return false, v.step(ctx)
}

// Known is how far the record is told of, without reading any of it, whether the rest is more
// than Most, and what is damaged up to there.
func (v View) Known() (b Behind, ahead bool, d Damage, err error) {
	v.Kept.mu.Lock()
	defer v.Kept.mu.Unlock()
	b.Size, err = v.refresh()
	b.Known = v.Kept.part.Size
	return b, v.ahead(b.Size), v.Kept.part.Damage, err
}

// ahead reports whether more has to be read of the record than is allowed.
func (v View) ahead(size int64) bool {
	return v.Most > 0 && size-v.Kept.part.Size > v.Most && size != v.Kept.half
}

// Grown looks at a record that its session has just added to, where it is worth it. Ended says
// that a turn is over. A record that is further ahead than a session lets it come is left to
// those who look at it.
func (v View) Grown(ctx context.Context, size int64, ended bool) {
	k := v.Kept
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead := size - max(k.part.Size, k.left)
	if ahead < v.pieces(1) || !ended && ahead < v.pieces(grown) {
		return
	}
	size, err := v.refresh()
	if err != nil || size-k.part.Size > v.pieces(most) {
		k.left = size
		return
	}
	_ = v.extend(ctx, size) // without it a first look is slower, nothing else
}

// use brings the outline up to date and lets f use it. Where f finds that what is kept does
// not make a whole, the outline is made anew.
func (v View) use(ctx context.Context, f func() error) error {
	v.Kept.mu.Lock()
	defer v.Kept.mu.Unlock()
	for again := false; ; again = true {
		size, err := v.refresh()
		if err != nil {
			return err
		}
		if v.ahead(size) {
			return &Behind{v.Kept.part.Size, size}
		}
		if size != v.Kept.half {
			err = v.extend(ctx, size)
		}
		if err == nil {
			err = f()
		}
		if again || !errors.Is(err, errNoChain) {
			return err
		}
		if err := v.Kept.forget(v.Dir); err != nil {
			return err
		}
	}
}

// step reads a few pieces more. Others are not kept waiting: what was read counts where nobody
// else went on meanwhile.
func (v View) step(ctx context.Context) error {
	k := v.Kept
	k.mu.Lock()
	was := k.part.head
	apart := v
	apart.Kept = &Kept{loaded: true, part: k.part, lines: slices.Clone(k.lines), half: k.half}
	k.mu.Unlock()
	err := apart.extend(ctx, was.Size+v.pieces(2))
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(err, errNoChain) {
		return k.forget(v.Dir)
	}
	if err == nil && k.part.Size == was.Size && k.part.Sum == was.Sum {
		k.part, k.lines, k.half = apart.Kept.part, apart.Kept.lines, apart.Kept.half
	}
	return err
}

// refresh makes sure that what is known fits the record, takes over what others kept, and
// returns the size of the record.
func (v View) refresh() (int64, error) {
	k := v.Kept
	st, err := os.Stat(filepath.Join(v.Dir, recordName))
	if err != nil {
		return 0, err
	}
	known := k.loaded && k.part.fits(v.Dir)
	if known && st.Size()-k.part.Size < v.pieces(2) {
		return st.Size(), nil
	}
	if p, ok := newest(v.Dir); ok && (!known || p.Size > k.part.Size) {
		k.part, k.lines = p, nil
	} else if !known {
		k.part, k.lines = part{}, nil
	}
	k.loaded = true
	return st.Size(), nil
}

// forget drops what is known and what is kept.
func (k *Kept) forget(dir string) error {
	k.part, k.lines, k.index, k.loaded = part{}, nil, nil, true
	for _, name := range []string{indexName, keptName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// extend reads the record up to about a place, and keeps what is worth it.
func (v View) extend(ctx context.Context, to int64) error {
	k := v.Kept
	for k.part.Size < to {
		p, err := v.next(ctx)
		if err != nil {
			return err
		}
		if p.Size == k.part.Size { // only half a line is there
			st, err := os.Stat(filepath.Join(v.Dir, recordName))
			if err != nil {
				return err
			}
			k.half = st.Size()
			break
		}
		if v.grows() {
			k.lines = k.lines[:len(k.lines)-1]
		}
		k.part, k.lines = p, append(k.lines, p.line())
	}
	v.save()
	return nil
}

// grows reports whether the last part has room for more: it is small, and not in the file.
func (v View) grows() bool {
	return len(v.Kept.lines) > 0 && v.Kept.part.Size-v.Kept.part.From < v.pieces(1)
}

// save adds the lines of whole parts to the file. Where that does not work they stay in memory.
func (v View) save() {
	k := v.Kept
	whole := len(k.lines)
	if v.grows() {
		whole--
	}
	if whole > 0 && add(v.Dir, k.lines[:whole]) == nil {
		k.lines = slices.Clone(k.lines[whole:])
		v.keepIndex()
	}
}
