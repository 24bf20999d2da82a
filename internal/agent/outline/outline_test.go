package outline

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// anew is what an outline made without anything kept says, in one part.
func anew(t *testing.T, dir string) Outline {
	t.Helper()
	alone := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, recordName))
	if err == nil {
		err = os.WriteFile(filepath.Join(alone, recordName), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	o, err := View{Kept: &Kept{}, Dir: alone, Piece: 1 << 40}.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// record adds turns of some kilobytes each to a session.
func record(t *testing.T, w *rollout.Writer, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		id := protocol.TurnID(fmt.Sprint("t", n))
		put(t, w, history.TurnContext{Turn: id}, history.ToolCall{Turn: id, Round: 1, Call: "c", Result: strings.Repeat("x", 8<<10)},
			history.TokenUsage{Turn: id, Round: 1, Usage: protocol.Usage{Input: n}}, history.EventRecord{Turn: id, What: history.TurnCompleted})
	}
}

func put(t *testing.T, w *rollout.Writer, records ...history.Record) {
	t.Helper()
	for _, r := range records {
		if err := w.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
			t.Fatal(err)
		}
	}
}

// session is a new session, without turns.
func session(t *testing.T) (dir string, w *rollout.Writer) {
	dir = filepath.Join(t.TempDir(), "s")
	w, err := rollout.Create(dir, rollout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return dir, w
}

// count reads a record as it is done behind pages.
func count(t *testing.T, v View) {
	t.Helper()
	for {
		done, err := v.CountSome(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
	}
}

// small is the piece of these tests: two turns.
const small = 16 << 10

// view looks at a session as another process would.
func view(dir string) View { return View{Kept: &Kept{}, Dir: dir, Piece: small} }

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// same compares an outline with one that is made anew.
func same(t *testing.T, v View) {
	t.Helper()
	got, err := v.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(anew(t, v.Dir), got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	b, err := os.ReadFile(filepath.Join(v.Dir, recordName))
	if err != nil || got.Size != int64(bytes.LastIndexByte(b, '\n')+1) {
		t.Errorf("it tells of %d bytes of %d: %v", got.Size, len(b), err)
	}
}

// keptBytes is the size of what is kept.
func keptBytes(dir string) int64 {
	st, err := os.Stat(filepath.Join(dir, keptName))
	if err != nil {
		return 0
	}
	return st.Size()
}

// TestWhatIsKeptIsCheckedAgainstTheRecord keeps an outline, and then changes it or the record
// in all ways that make it false: the outline is that which is made anew. Where it is true it is
// used: a turn that only it tells of is told.
func TestWhatIsKeptIsCheckedAgainstTheRecord(t *testing.T) {
	make := func(t *testing.T) (dir string, w *rollout.Writer) {
		dir, w = session(t)
		v := view(dir)
		record(t, w, 0, 1)
		v.Grown(t.Context(), w.Size(), true)
		if keptBytes(dir) > 0 {
			t.Fatal("the outline of a short record is kept")
		}
		for n := 1; n < 40; n += 3 {
			record(t, w, n, n+3)
			v.Grown(t.Context(), w.Size(), true)
		}
		if keptBytes(dir) == 0 {
			t.Fatal("nothing is kept")
		}
		return dir, w
	}
	t.Run("it is used", func(t *testing.T) {
		dir, _ := make(t)
		edit(t, filepath.Join(dir, keptName), func(b []byte) []byte {
			var out [][]byte
			for _, line := range bytes.Fields(b) {
				p, err := partOf(line)
				if err != nil {
					t.Fatal(err)
				}
				for i := range p.Turns {
					p.Turns[i].ID = protocol.TurnID(strings.Replace(string(p.Turns[i].ID), "t3", "T3", 1))
				}
				out = append(out, p.line())
			}
			return bytes.Join(out, []byte("\n"))
		})
		got, err := view(dir).All(t.Context())
		if err != nil || len(got.Turns) != 40 || got.Turns[3].ID != "T3" {
			t.Errorf("%v %d turns: %+v", err, len(got.Turns), got.Turns[:5])
		}
	})
	first := func(b []byte) []byte { return append([]byte("\n"), bytes.Fields(b)[0]...) }
	for name, change := range map[string]func([]byte) []byte{
		"nonsense":        func([]byte) []byte { return []byte("{") },
		"empty":           func([]byte) []byte { return nil },
		"another version": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"v":3`), []byte(`"v":9`)) },
		"another line":    func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"sum":"`), []byte(`"sum":"0`)) },
		"a number":        func(b []byte) []byte { return bytes.Replace(b, []byte(`"from":0`), []byte(`"from":1`), 1) },
		"a turn":          func(b []byte) []byte { return bytes.Replace(b, []byte(`"id":"t0"`), []byte(`"id":"x0"`), 1) },
		"the first line":  func(b []byte) []byte { return bytes.Replace(b, first(b), nil, 1) },
		"torn":            func(b []byte) []byte { return b[:len(b)-100] },
		"twice":           func(b []byte) []byte { return append(b, b...) },
		"backwards":       func(b []byte) []byte { return bytes.Join(backwards(bytes.Fields(b)), []byte("\n")) },
		"zeros":           func(b []byte) []byte { return append(b[:len(b)/2], bytes.Repeat([]byte{0}, len(b)/2)...) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := make(t)
			edit(t, filepath.Join(dir, keptName), change)
			same(t, view(dir))
			same(t, view(dir))
		})
	}
	for name, change := range map[string]func([]byte) []byte{
		"the record is shorter": func(b []byte) []byte {
			return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
		},
		"it is half as long": func(b []byte) []byte {
			return b[:bytes.LastIndexByte(b[:len(b)/2], '\n')+1]
		},
		"its last line is another": func(b []byte) []byte {
			return append(b[:len(b)-20:len(b)-20], bytes.Replace(b[len(b)-20:], []byte("completed"), []byte("cancelled"), 1)...)
		},
		"half a line came": func(b []byte) []byte { return append(b, `{"seq":41`...) },
		"it is empty":      func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir, w := make(t)
			known := view(dir)
			same(t, known)
			w.Close()
			edit(t, filepath.Join(dir, recordName), change)
			same(t, view(dir))
			same(t, known)
		})
	}
	t.Run("several processes add to it", func(t *testing.T) {
		dir, w := make(t)
		faces := []View{view(dir), view(dir), {Kept: &Kept{}, Dir: dir, Piece: 3 * small}}
		r := rand.New(rand.NewPCG(7, 7))
		for n := 40; n < 120; n++ {
			record(t, w, n, n+1)
			if v := faces[r.IntN(len(faces))]; r.IntN(2) == 0 {
				same(t, v)
			}
		}
		same(t, view(dir))
	})
	for name, spoil := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("/dev/null", path) },
	} {
		t.Run("in its place is "+name, func(t *testing.T) {
			dir, w := session(t)
			if err := spoil(filepath.Join(dir, keptName)); err != nil {
				t.Skip("no links here")
			}
			record(t, w, 0, 10)
			v := view(dir)
			same(t, v)
			record(t, w, 10, 20)
			same(t, v)
			if st, err := os.Lstat(filepath.Join(dir, keptName)); err != nil || st.Mode().IsRegular() {
				t.Errorf("what was in its place became %v, %v", st, err)
			}
		})
	}
}

func backwards(list [][]byte) (out [][]byte) {
	for i := range list {
		out = append(out, list[len(list)-1-i])
	}
	return out
}

// TestLookingSoonReadsLittle asks for a long record whose outline is not kept: the answer is
// that it is counted. Its end tells of its newest turns. Counted, it tells all, and others
// find what was counted.
func TestLookingSoonReadsLittle(t *testing.T) {
	dir, w := session(t)
	record(t, w, 0, 300)
	v := view(dir)
	v.Most = 8 * small
	var behind *Behind
	if _, _, err := v.Turns(t.Context(), 0, 10); !errors.As(err, &behind) || behind.Known != 0 || behind.Size != w.Size() {
		t.Fatalf("the turns: %v", err)
	}
	if _, _, _, err := v.Find(t.Context(), "t3"); !errors.As(err, &behind) {
		t.Fatalf("a turn: %v", err)
	}
	tail, err := v.Tail(t.Context(), 3)
	list, older, ok := tail.Turns(0, 3)
	if err != nil || !ok || !older || len(list) != 3 || list[2].ID != "t299" || list[2].Cut || list[2].Calls != 1 ||
		list[2].Usage.Input != 299 || list[2].End != w.Size() {
		t.Fatalf("the end tells of %+v, older %t, %t, %v", list, older, ok, err)
	}
	if _, _, ok := tail.Turns(290, 3); ok {
		t.Error("the end tells of turns at the beginning")
	}
	if turn, after, ok := tail.Find("t298"); !ok || after != 1 || turn.ID != "t298" {
		t.Errorf("the turn t298 is %+v, before %d, %t", turn, after, ok)
	}
	count(t, v)
	other := view(dir)
	other.Most = 1
	list, older, err = other.Turns(t.Context(), 297, 10)
	if err != nil && !errors.As(err, &behind) || err == nil && (len(list) != 3 || older || list[0].ID != "t0") {
		t.Errorf("another finds %d turns, older %t: %v", len(list), older, err)
	}
	same(t, view(dir))
}

// TestTheEndOfATurnThatIsLonger looks at the end of a record in which one turn is longer than
// what is looked at: the turn is cut, and what is told of it is what was seen.
func TestTheEndOfATurnThatIsLonger(t *testing.T) {
	dir, w := session(t)
	put(t, w, history.TurnContext{Turn: "long"}, history.UserInput{Turn: "long", Text: "go"})
	for range 100 {
		put(t, w, history.TurnContext{Turn: "long"}, // told again
			history.ToolCall{Turn: "long", Round: 1, Call: "c", Result: strings.Repeat("x", 8<<10)},
			history.TokenUsage{Turn: "long", Usage: protocol.Usage{Input: 1}})
	}
	tail, err := view(dir).Tail(t.Context(), 10)
	list, older, ok := tail.Turns(0, 10)
	if err != nil || !ok || !older || len(list) != 1 || list[0].ID != "long" || !list[0].Cut || list[0].Calls >= 100 {
		t.Fatalf("%+v, older %t, %t, %v", list, older, ok, err)
	}
	put(t, w, history.EventRecord{Turn: "long", What: history.TurnCompleted}, history.EventRecord{Turn: "long", What: history.Rewound},
		history.TurnContext{Turn: "next"})
	tail, err = view(dir).Tail(t.Context(), 10)
	if list, _, ok = tail.Turns(0, 10); err != nil || !ok || len(list) != 1 || list[0].ID != "next" || list[0].Cut {
		t.Errorf("behind a turn that was taken back: %+v, %t, %v", list, ok, err)
	}
	put(t, w, history.ToolCall{Turn: "next", Round: 1, Call: "c", Result: strings.Repeat("x", 40*small)})
	tail, err = view(dir).Tail(t.Context(), 10)
	if list, _, ok = tail.Turns(0, 10); err != nil || !ok || len(list) == 0 || list[len(list)-1].ID != "next" {
		t.Errorf("behind a line that is longer than what is looked at: %+v, %t, %v", list, ok, err)
	}
}

// TestHalfALongLine counts a record that ends with half a line, which is longer than what may be
// read soon: it is counted, and asked for again it is not read as if more had come.
func TestHalfALongLine(t *testing.T) {
	dir, w := session(t)
	record(t, w, 0, 3)
	w.Close()
	edit(t, filepath.Join(dir, recordName), func(b []byte) []byte { return append(b, strings.Repeat("x", 30*small)...) })
	v := view(dir)
	v.Most = 4 * small
	count(t, v)
	list, _, err := v.Turns(t.Context(), 0, 10)
	if _, whole := view(dir).All(t.Context()); whole != nil {
		t.Error(whole)
	}
	if err != nil || len(list) != 3 {
		t.Errorf("%d turns: %v", len(list), err)
	}
}

// TestASessionDoesNotReadALongRecord lets a session go on whose record is long and has no
// outline: it leaves it alone. One that was kept goes on.
func TestASessionDoesNotReadALongRecord(t *testing.T) {
	dir, w := session(t)
	record(t, w, 0, 300)
	v := view(dir)
	for range 3 {
		v.Grown(t.Context(), w.Size(), true)
		if keptBytes(dir) > 0 || v.Kept.part.Size > 0 {
			t.Fatal("a session reads its long record")
		}
		record(t, w, 0, 3)
	}
	looked := view(dir) // somebody looks at it
	looked.Most = small
	count(t, looked)
	before := keptBytes(dir)
	record(t, w, 300, 310)
	v.Grown(t.Context(), w.Size(), true)
	if keptBytes(dir) <= before || v.Kept.part.Size != w.Size() {
		t.Errorf("what was kept does not go on: %d bytes, then %d", before, keptBytes(dir))
	}
	put(t, w, history.TurnContext{Turn: "long"}, history.ToolCall{Turn: "long", Call: "c", Result: strings.Repeat("x", grown*small)})
	v.Grown(t.Context(), w.Size(), false)
	if v.Kept.part.Size != w.Size() {
		t.Error("a turn that adds much is not looked at before its end")
	}
	same(t, view(dir))
}

// TestMarks finds the calls and changes of a long turn by their marks, where its record has them:
// all that are behind what is read anyway, and none of the turns beside it.
func TestMarks(t *testing.T) {
	dir, w := session(t)
	record(t, w, 0, 5)
	want := Marks{From: w.Size() + marked*small, Calls: map[protocol.CallID]int64{}}
	put(t, w, history.TurnContext{Turn: "long"})
	for n := range 60 {
		call, from := protocol.CallID(fmt.Sprintf("call<%d>\"", n)), w.Size()
		put(t, w, history.FileChange{Turn: "long", Call: call, Path: "/w/a", Operation: "modified", Cause: "tool"})
		if from >= want.From {
			want.Changes = append(want.Changes, from)
		}
		put(t, w, history.ToolCall{Turn: "long", Round: n, Call: call, Result: strings.Repeat("x", 3<<10)})
		if w.Size() > want.From {
			want.Calls[call] = w.Size()
		}
	}
	put(t, w, history.EventRecord{Turn: "long", What: history.TurnCompleted})
	record(t, w, 5, 20)
	v := view(dir)
	turn, _, ok, err := v.Find(t.Context(), "long")
	if err != nil || !ok || len(want.Calls) < 30 {
		t.Fatal(ok, err)
	}
	for _, v := range []View{v, view(dir)} {
		got, err := v.Marks(t.Context(), turn)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}

// TestHostileRecords makes outlines of records that nobody wrote: they are read as far as they
// can be, and what is kept is not taken for more than it is.
func TestHostileRecords(t *testing.T) {
	dir, w := session(t)
	record(t, w, 0, 3)
	w.Close()
	for _, line := range []string{`{"seq":90,"timestamp":"9999-12-31T23:59:59-23:00","type":"token_usage","prev":"x","usage":{"input_tokens":1}}`,
		`{"seq":91,"timestamp":"0000-01-01T00:00:00Z","type":"turn_context","prev":"x","turn_id":"a\",\"turns\":[\"<\u0000\u202e"}`,
		`{"seq":92,"timestamp":"2026-01-01T00:00:00Z","type":"tool_call","prev":"x","call_id":"` + strings.Repeat("c", 2000) + `"}`,
		`{"seq":93,"timestamp":"2026-01-01T00:00:00Z","type":"event","prev":"x","event":"rewound","turn_id":"nowhere"}`,
		`{"seq":1,"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","prev":"x","model":"m\",\"turns\":[{\"id\":\"x\"}]"}`,
		"\x00\x01\xff", `{}`, `[]`, strings.Repeat("[", 1<<16),
		`{"seq":94,"timestamp":"2026-01-01T00:00:00Z","type":"event","prev":"x","event":"rewound","turn_id":"t1"}`} {
		edit(t, filepath.Join(dir, recordName), func(b []byte) []byte { return append(append(b, line...), '\n') })
		same(t, view(dir))
		v := view(dir)
		v.Piece = 64
		same(t, v)
		other := view(dir)
		other.Piece = 64
		same(t, other)
	}
}

// BenchmarkGrown is what a session pays at the end of a turn for its outline, against the
// writing of the turn.
func BenchmarkGrown(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 4 << 20} {
		for _, with := range []string{"without", "with"} {
			b.Run(fmt.Sprintf("turns of %d KB %s", size>>10, with), func(b *testing.B) {
				w, err := rollout.Create(filepath.Join(b.TempDir(), "s"), rollout.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer w.Close()
				v := View{Kept: &Kept{}, Dir: w.Dir()}
				text := strings.Repeat("a line of output\n", size/17)
				b.SetBytes(int64(size))
				var slowest time.Duration
				for n := 0; b.Loop(); n++ {
					id := protocol.TurnID(fmt.Sprint("t", n))
					for _, r := range []history.Record{history.TurnContext{Turn: id}, history.UserInput{Turn: id, Text: "go"},
						history.ToolCall{Turn: id, Round: 1, Call: "c", Result: text}, history.TokenUsage{Turn: id},
						history.AssistantMessage{Turn: id, Text: "done"}, history.EventRecord{Turn: id, What: history.TurnCompleted}} {
						if err := w.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
							b.Fatal(err)
						}
					}
					if with == "with" {
						began := time.Now()
						v.Grown(b.Context(), w.Size(), true)
						slowest = max(slowest, time.Since(began))
					}
				}
				b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
			})
		}
	}
}
