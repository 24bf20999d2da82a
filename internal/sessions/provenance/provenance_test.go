package provenance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/author"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

const session = "01990000-0000-7000-8000-000000000001"

// world is a random history of one file in which every line says who wrote it.
type world struct {
	t      *testing.T
	r      *rand.Rand
	store  *store.Store
	ledger *ledger.Ledger
	path   string
	now    []byte
	seqs   []int64 // of entries that may be undone
	undone map[int64]bool
	before map[int64][]byte
	after  map[int64][]byte
	words  int
	held   [][]byte // what was committed at some moment
}

func newWorld(t *testing.T, r *rand.Rand) *world {
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"))
	check(t, err)
	l, err := ledger.Open(dir)
	check(t, err)
	t.Cleanup(func() { _ = s.Close(); _ = l.Close() })
	w := &world{t: t, r: r, store: s, ledger: l, path: "/w/a", undone: map[int64]bool{}, before: map[int64][]byte{},
		after: map[int64][]byte{}}
	w.now = []byte("hu0\nhu00\n")
	return w
}

// edited is the content with lines of somebody put in, in place of others perhaps.
func (w *world) edited(who string) []byte {
	all := slices.Collect(bytes.SplitSeq(bytes.TrimSuffix(w.now, []byte("\n")), []byte("\n")))
	at := w.r.IntN(len(all) + 1)
	var put [][]byte
	for range 1 + w.r.IntN(3) {
		w.words++
		put = append(put, fmt.Appendf(nil, "%s%d", who, w.words))
	}
	end := min(len(all), at+w.r.IntN(3))
	all = slices.Concat(all[:at], put, all[end:])
	return append(bytes.Join(all, []byte("\n")), '\n')
}

func (w *world) enter(e ledger.Entry, next []byte) {
	pre, post := delta.NewFile(w.now, 0o644), delta.NewFile(next, 0o644)
	for _, i := range []*delta.Image{pre, post} {
		_, err := w.store.Put(i.Data)
		check(w.t, err)
	}
	e.Time, e.Exact = time.Now(), true
	e.Changes = ledger.ChangesOf(delta.Set{{Path: w.path, Pre: pre, Post: post}})
	check(w.t, w.ledger.Append(&e))
	w.before[e.Seq], w.after[e.Seq] = w.now, next
	w.seqs = append(w.seqs, e.Seq)
	w.now = next
}

// step is one thing that happens: an agent, a command, a person or an undo changes the file,
// or it is committed to git.
func (w *world) step(alone bool) {
	e := ledger.Entry{Session: session, Turn: "t", Call: "c", Tool: "edit_file", Cause: ledger.CauseTool, Certainty: ledger.Proven}
	switch what := w.r.IntN(9); {
	case what < 3:
		w.enter(e, w.edited("ai"))
	case what == 3:
		e.Edited = true
		w.enter(e, w.edited("mx"))
	case what == 4:
		e.Cause, e.Tool = ledger.CauseCommand, "exec_command"
		w.enter(e, w.edited("cm"))
	case what == 5 && !alone: // nobody saw it: the words may be a person's
		e.Cause, e.Tool, e.Certainty = ledger.CauseCommand, "exec_command", ledger.Unproven
		w.enter(e, w.edited("hu"))
	case what == 6 && !alone: // seen only by what comes next, or found and entered as outside
		next := w.edited("hu")
		if w.r.IntN(2) == 0 {
			w.enter(ledger.Entry{Cause: ledger.CauseOutside, Certainty: ledger.Outside}, next)
		} else {
			w.now = next
		}
	case what == 7 && len(w.seqs) > 0: // the last entry, if nothing came after it
		last := w.seqs[len(w.seqs)-1]
		if bytes.Equal(w.after[last], w.now) && !w.undone[last] {
			w.undone[last] = true
			w.enter(ledger.Entry{Cause: ledger.CauseUndo, Tool: "undo", Certainty: ledger.Proven, Undoes: []int64{last}},
				w.before[last])
		}
	default:
		w.held = append(w.held, w.now)
	}
}

func (w *world) reader() changes.Reader {
	return changes.Reader{Ledger: w.ledger, Images: w.store, Base: "/w"}
}

// judge compares what is said of a content with what its lines say, and counts the agent's
// lines that are said to be one's.
func (w *world) judge(content []byte, alone bool) (claimed int) {
	past, err := w.reader().Past()
	check(w.t, err)
	told := author.Then(past, w.path, content)
	rec, err := New("r", "k", time.Now())
	check(w.t, err)
	rec.Add("a", told, func(string, string) string { return "p/m" })
	all := lines.Split(content)
	said := make([]string, len(all))
	for _, f := range rec.Files {
		for _, c := range f.Conversations {
			for _, r := range c.Ranges {
				for i := r.StartLine; i <= r.EndLine; i++ {
					if said[i-1] != "" {
						w.t.Errorf("line %d is told twice", i)
					}
					said[i-1] = c.Contributor.Type
				}
			}
		}
	}
	for i, line := range all {
		who := string(line[:2])
		switch got := said[i]; {
		case got == "ai" && who != "ai", got == "mixed" && who != "mx":
			w.t.Errorf("%q is said to be %s:\n%s", line, got, content)
		case got == "ai":
			claimed++
		case alone && who == "ai":
			w.t.Errorf("%q is not said to be an agent's, but %q:\n%s", line, got, content)
		case got == "human":
			w.t.Errorf("%q is called human", line)
		}
	}
	return claimed
}

// TestNoLineOfAPersonIsAnAgents judges random histories, at each commit and in the end. With
// nobody else at work each line of an agent is told.
func TestNoLineOfAPersonIsAnAgents(t *testing.T) {
	histories := 60
	if os.Getenv("KERF_LONG") != "" {
		histories = 1000
	}
	claimed := 0
	for seed := range histories {
		alone := seed%3 == 0
		w := newWorld(t, rand.New(rand.NewPCG(uint64(seed), 7)))
		for range 14 {
			w.step(alone)
		}
		for _, content := range append(w.held, w.now) {
			claimed += w.judge(content, alone)
		}
		if t.Failed() {
			t.Fatalf("history %d", seed)
		}
	}
	if claimed < histories {
		t.Errorf("only %d lines are claimed in %d histories", claimed, histories)
	}
	t.Logf("%d histories, %d lines of agents", histories, claimed)
}

// TestWhatIsSaidOfALine is a table of origins.
func TestWhatIsSaidOfALine(t *testing.T) {
	tool := author.Line{Origin: "kerf", Session: session, Turn: "t", Tool: "edit_file", Cause: ledger.CauseTool}
	with := func(change func(*author.Line)) author.Line {
		l := tool
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		line author.Line
		want contributor
	}{
		"a tool":           {tool, contributor{ai, session, "p/m"}},
		"edited":           {with(func(l *author.Line) { l.Edited = true }), contributor{mixed, session, "p/m"}},
		"a command":        {with(func(l *author.Line) { l.Cause = ledger.CauseCommand }), contributor{unknown, session, ""}},
		"nobody saw it":    {with(func(l *author.Line) { l.Origin = "unproven" }), contributor{unknown, session, ""}},
		"not kept":         {author.Line{Origin: "unknown"}, contributor{kind: unknown}},
		"not Kerf":         {author.Line{Origin: "other"}, contributor{}},
		"the user's apply": {with(func(l *author.Line) { l.Session = "" }), contributor{kind: unknown}},
		"the user's shell": {with(func(l *author.Line) { l.Tool = "" }), contributor{unknown, session, ""}},
	} {
		if got := authorOf(c.line, func(string, string) string { return "p/m" }); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestACommitBetweenEdits: a person edits a file that an agent wrote, unseen, and commits it.
// Then the agent takes its own line out. Of the commit, the line is the agent's still.
func TestACommitBetweenEdits(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)))
	e := ledger.Entry{Session: session, Turn: "t", Call: "c", Tool: "edit_file", Cause: ledger.CauseTool,
		Certainty: ledger.Proven}
	w.enter(e, []byte("hu0\nai1\nhu00\n"))
	committed := []byte("hu0\nai1\nhu00\nhu2\n")
	w.now = committed
	w.enter(e, []byte("hu0\nhu00\nhu2\n"))
	if n := w.judge(committed, true); n != 1 {
		t.Errorf("%d lines are said to be an agent's", n)
	}
}

// TestRecordsFitTheSchema holds a record against the schema of Agent Trace 0.1.0.
func TestRecordsFitTheSchema(t *testing.T) {
	text, err := os.ReadFile("testdata/agent-trace-0.1.0.json")
	check(t, err)
	var schema jsonschema.Schema
	check(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	check(t, err)
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)))
	for range 30 {
		w.step(false)
	}
	rec, err := New(strings.Repeat("a", 40), "0.1", time.Now())
	check(t, err)
	past, err := w.reader().Past()
	check(t, err)
	rec.Add("a", author.Then(past, w.path, w.now), func(string, string) string { return "p/m" })
	raw, err := json.Marshal(rec)
	check(t, err)
	var v any
	check(t, json.Unmarshal(raw, &v))
	check(t, resolved.Validate(v))
	if len(rec.Files) != 1 || len(rec.Files[0].Conversations) < 2 {
		t.Errorf("a thin record: %s", raw)
	}
	v.(map[string]any)["files"].([]any)[0].(map[string]any)["conversations"].([]any)[0].(map[string]any)["contributor"] =
		map[string]any{"type": "robot"}
	if resolved.Validate(v) == nil {
		t.Error("the schema lets a contributor of no known type through")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
