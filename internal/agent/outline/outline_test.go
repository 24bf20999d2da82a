package outline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// of is what an outline made without anything kept says.
func of(t *testing.T, dir string) Outline {
	t.Helper()
	o, err := Outline{Format: format}.extended(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// record adds turns of about a megabyte each to a session.
func record(t *testing.T, w *rollout.Writer, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		id := protocol.TurnID(fmt.Sprint("t", n))
		for _, r := range []history.Record{history.TurnContext{Turn: id},
			history.ToolCall{Turn: id, Round: 1, Call: "c", Result: strings.Repeat("x", 1<<20)},
			history.TokenUsage{Turn: id, Round: 1, Usage: protocol.Usage{Input: n}},
			history.EventRecord{Turn: id, What: history.TurnCompleted}} {
			if err := w.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWhatIsKeptIsCheckedAgainstTheRecord keeps an outline, and then changes it or the record
// in all ways that make it false: it is made anew. Where it is true it is used: a turn that
// only it tells of is told.
func TestWhatIsKeptIsCheckedAgainstTheRecord(t *testing.T) {
	make := func(t *testing.T) (dir string, w *rollout.Writer) {
		dir = filepath.Join(t.TempDir(), "s")
		w, err := rollout.Create(dir, rollout.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		record(t, w, 0, 6)
		(&Kept{}).Grown(t.Context(), dir)
		if _, err := os.Stat(filepath.Join(dir, keptName)); err == nil {
			t.Fatal("the outline of a short record is kept")
		}
		record(t, w, 6, 10)
		(&Kept{}).Grown(t.Context(), dir)
		if _, err := os.Stat(filepath.Join(dir, keptName)); err != nil {
			t.Fatal(err)
		}
		return dir, w
	}
	edit := func(t *testing.T, path string, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same := func(t *testing.T, k *Kept, dir string) {
		t.Helper()
		got, err := k.Of(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(of(t, dir), got); d != "" {
			t.Error(d)
		}
		b, err := os.ReadFile(filepath.Join(dir, "rollout.jsonl"))
		if err != nil || got.Size != int64(bytes.LastIndexByte(b, '\n')+1) {
			t.Errorf("it tells of %d bytes of %d: %v", got.Size, len(b), err)
		}
	}
	t.Run("it is used", func(t *testing.T) {
		dir, _ := make(t)
		edit(t, filepath.Join(dir, keptName), func(b []byte) []byte { return bytes.Replace(b, []byte(`"t3"`), []byte(`"T3"`), 1) })
		got, err := (&Kept{}).Of(t.Context(), dir)
		if err != nil || len(got.Turns) != 10 || got.Turns[3].ID != "T3" {
			t.Errorf("%v %+v", err, got)
		}
	})
	for name, change := range map[string]func([]byte) []byte{
		"nonsense":        func([]byte) []byte { return []byte("{") },
		"empty":           func([]byte) []byte { return nil },
		"another version": func(b []byte) []byte { return bytes.Replace(b, []byte(`"v":1`), []byte(`"v":9`), 1) },
		"another line":    func(b []byte) []byte { return bytes.Replace(b, []byte(`"sum":"`), []byte(`"sum":"0`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := make(t)
			edit(t, filepath.Join(dir, keptName), change)
			same(t, &Kept{}, dir)
		})
	}
	for name, change := range map[string]func([]byte) []byte{
		"the record is shorter": func(b []byte) []byte {
			return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
		},
		"its last line is another": func(b []byte) []byte {
			return append(b[:len(b)-20:len(b)-20], bytes.Replace(b[len(b)-20:], []byte("completed"), []byte("cancelled"), 1)...)
		},
		"half a line came": func(b []byte) []byte { return append(b, `{"seq":41`...) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, w := make(t)
			known := &Kept{}
			same(t, known, dir)
			w.Close()
			edit(t, filepath.Join(dir, "rollout.jsonl"), change)
			same(t, &Kept{}, dir)
			same(t, known, dir)
		})
	}
	t.Run("it goes on", func(t *testing.T) {
		dir, w := make(t)
		known := &Kept{}
		same(t, known, dir)
		record(t, w, 10, 12)
		same(t, known, dir)
		same(t, &Kept{}, dir)
		record(t, w, 12, 20)
		same(t, known, dir)
		if o := load(dir); o.Size < 20<<20 {
			t.Errorf("what is kept tells of %d bytes", o.Size)
		}
	})
}
