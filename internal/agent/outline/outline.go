// Package outline tells where the turns of a session stand in its record, so that of a long
// one only those parts are read that somebody looks at.
//
// An outline is made of the record and of nothing else. That of a long record is kept beside
// it, in rollout.outline, which is a cache: it is checked against the record, left aside where
// it does not fit, and made anew.
package outline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/atomicfile"
	"kerf/internal/protocol"
)

const (
	recordName = "rollout.jsonl"
	keptName   = "rollout.outline"
	// format is the version of what is kept.
	format = 2
	// worth is how many bytes of a record make it worth it to keep an outline anew.
	worth = 8 << 20
	// maxKept bounds what is read of a kept outline.
	maxKept = 256 << 20
)

// Outline tells of the first Size bytes of a record.
type Outline struct {
	Format int   `json:"v"`
	Size   int64 `json:"size"`
	// Last is how long the last line is, with its line feed, and Sum its hash. Lines name the
	// hash of the line before, so this holds the whole record.
	Last int64  `json:"last"`
	Sum  string `json:"sum"`
	// Loose is where records begin that belong to the next turn because the one before them
	// was taken back; 0 where there are none.
	Loose int64  `json:"loose,omitempty"`
	Turns []Turn `json:"turns"` // that were not taken back, oldest first
	// Used is what the session's own requests used, those of turns that were taken back among
	// them, oldest first. Model is the one that the next request uses.
	Used  []Used `json:"used,omitempty"`
	Model string `json:"model,omitempty"`
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
}

// Kept is the outline of one session as it was last looked at. The zero value is empty; it
// may be used by several goroutines.
type Kept struct {
	mu     sync.Mutex
	loaded bool
	onDisk int64
	o      Outline
}

// Of is the outline of the record in dir as it is now.
func (k *Kept) Of(ctx context.Context, dir string) (Outline, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st, err := os.Stat(filepath.Join(dir, recordName))
	if err != nil {
		return Outline{}, err
	}
	if !k.loaded {
		k.o, k.loaded = load(dir), true
		k.onDisk = k.o.Size
	}
	if st.Size() != k.o.Size || !k.o.fits(dir) {
		if st.Size() < k.o.Size || !k.o.fits(dir) {
			k.o, k.onDisk = Outline{Format: format}, 0
		}
		if k.o, err = k.o.extended(ctx, dir); err != nil {
			return Outline{}, err
		}
	}
	if k.o.Size-k.onDisk >= worth && k.o.save(dir) == nil {
		k.onDisk = k.o.Size
	}
	return k.o, nil
}

// Grown brings the outline up to date where so much was added to the record that it is worth
// it.
func (k *Kept) Grown(ctx context.Context, dir string) {
	st, err := os.Stat(filepath.Join(dir, recordName))
	k.mu.Lock()
	known := max(k.o.Size, k.onDisk)
	k.mu.Unlock()
	if err == nil && st.Size()-known >= worth {
		_, _ = k.Of(ctx, dir) // without it a first look is slower, nothing else
	}
}

// load reads what is kept.
func load(dir string) Outline {
	path := filepath.Join(dir, keptName)
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxKept {
		return Outline{Format: format}
	}
	b, err := os.ReadFile(path)
	var o Outline
	if err != nil || json.Unmarshal(b, &o) != nil || o.Format != format || o.Last <= 0 || o.Last > o.Size {
		return Outline{Format: format}
	}
	return o
}

func (o Outline) save(dir string) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return atomicfile.WriteCache(filepath.Join(dir, keptName), append(b, '\n'))
}

// fits reports whether the last line that o tells of stands where it stood.
func (o Outline) fits(dir string) bool {
	if o.Size == 0 {
		return true
	}
	sum, err := rollout.LineSum(dir, o.Size-o.Last, o.Size)
	return err == nil && sum == o.Sum
}

// extended is the outline with what was added to the record.
func (o Outline) extended(ctx context.Context, dir string) (Outline, error) {
	o.Turns, o.Used = slices.Clone(o.Turns), slices.Clone(o.Used) // others read the old ones
	var at, last int64
	at = o.Size
	want := map[string]bool{}
	for _, r := range []history.Record{history.TurnContext{}, history.EventRecord{}, history.TokenUsage{},
		history.FileChange{}} {
		want[r.Type()] = true
	}
	called := history.ToolCall{}.Type()
	wanted := func(r rollout.Record) bool {
		if len(o.Turns) == 0 {
			return true
		}
		if r.Type == called {
			o.Turns[len(o.Turns)-1].Calls++
		}
		return want[r.Type]
	}
	for r, err := range rollout.Forward(dir, rollout.Ahead{From: o.Size, Want: wanted, End: &at}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Outline{}, err
		}
		o.take(r)
	}
	if at == o.Size {
		return o, nil
	}
	last, sum, err := rollout.LastLine(dir, at)
	if err != nil {
		return Outline{}, err
	}
	o.Size, o.Last, o.Sum = at, last, sum
	if n := len(o.Turns); n > 0 && o.Loose == 0 {
		o.Turns[n-1].End = at
	}
	return o, nil
}

// told is what an outline takes from a record.
type told struct {
	Turn     protocol.TurnID    `json:"turn_id"`
	Event    string             `json:"event"`
	Cause    string             `json:"cause"`
	Usage    protocol.Usage     `json:"usage"`
	Agent    protocol.SessionID `json:"agent"`
	Model    string             `json:"model"`
	Settings struct {
		Model string `json:"model"`
	} `json:"settings"`
}

// take takes the next record.
func (o *Outline) take(r rollout.Placed) {
	var t told
	if json.Unmarshal(r.Raw, &t) != nil {
		return
	}
	o.spend(r, t)
	var last *Turn
	if n := len(o.Turns); n > 0 {
		last = &o.Turns[n-1]
	}
	event := r.Type == history.EventRecord{}.Type()
	switch {
	case r.Type == (history.TurnContext{}).Type():
		if last == nil || last.Ended != "" || last.ID != t.Turn || o.Loose > 0 { // not told again
			o.begin(t.Turn, r)
		}
	case event && t.Event == history.Rewound:
		o.rewind(t.Turn, r.End)
	case last == nil:
		if t.Turn != "" && !event { // a record whose turn was never opened
			o.begin(t.Turn, r)
		}
	case event && (history.EventRecord{What: t.Event}).EndsTurn():
		last.Ended = t.Event
	case r.Type == (history.TokenUsage{}).Type():
		last.Usage = last.Usage.Add(t.Usage)
	case r.Type == (history.FileChange{}).Type() && t.Cause != "outside":
		last.Changes++
	}
}

// spend takes what a request used, and which model the next one uses.
func (o *Outline) spend(r rollout.Placed, t told) {
	switch r.Type {
	case history.SessionMeta{}.Type():
		o.Model = t.Model
	case history.TurnContext{}.Type():
		o.Model = t.Settings.Model
	case history.TokenUsage{}.Type():
		if t.Agent != "" {
			return // it is in the session of the sub-agent, too
		}
		at := r.Time.UTC().Truncate(span)
		if n := len(o.Used); n == 0 || o.Used[n-1].Model != o.Model || !o.Used[n-1].At.Equal(at) {
			o.Used = append(o.Used, Used{At: at, Model: o.Model})
		}
		u := &o.Used[len(o.Used)-1]
		u.Requests, u.Usage = u.Requests+1, u.Usage.Add(t.Usage)
	}
}

// begin opens a turn.
func (o *Outline) begin(id protocol.TurnID, r rollout.Placed) {
	from := r.From
	if n := len(o.Turns); o.Loose > 0 {
		from, o.Loose = o.Loose, 0
	} else if n > 0 {
		o.Turns[n-1].End = r.From
	}
	o.Turns = append(o.Turns, Turn{ID: id, Began: r.Time, From: from})
}

// rewind takes a turn back, and those that came after it.
func (o *Outline) rewind(id protocol.TurnID, end int64) {
	for n, t := range slices.Backward(o.Turns) {
		if t.ID == id {
			o.Turns, o.Loose = o.Turns[:n], end
			return
		}
	}
}
