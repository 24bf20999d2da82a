package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

func open(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestEntriesComeBackWhole(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ws"))
	set := delta.Set{
		{Path: "/w/a", Pre: delta.NewFile([]byte("x"), 0o644), Post: delta.NewFile([]byte("y"), 0o755)},
		{Path: "/w/\xff\n\x1b", Post: delta.NewSymlink("t"), From: "/w/b\xfe"},
		{Path: "/w/b\xfe", Pre: delta.NewFile(nil, 0o600), To: "/w/\xff\n\x1b"},
	}
	want := Entry{Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Session: "s", Turn: "t", Call: "c", Tool: "edit",
		Client: "exec", Cause: CauseTool, Exact: true, Note: "n", Undoes: []int64{1, 2}, Changes: ChangesOf(set),
		Dirs: []Path{"/w/\xffd"}}
	if err := l.Append(&want); err != nil {
		t.Fatal(err)
	}
	if want.Seq != 1 || want.V != Format {
		t.Errorf("seq %d, format %d, want 1, %d", want.Seq, want.V, Format)
	}
	got, err := l.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Entry{want}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for i, c := range got[0].Set() {
		if c.Path != set[i].Path || c.Pre.At() != set[i].Pre.At() || c.Post.At() != set[i].Post.At() {
			t.Errorf("change %d is %+v, want %+v", i, c, set[i])
		}
	}
}

func TestTornTailIsClosed(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	for range 3 {
		if err := l.Append(&Entry{Cause: CauseTool}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, fileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut <= len(whole); cut++ {
		for _, pad := range []string{"", "\x00\x00\x00"} {
			if err := os.WriteFile(path, append(whole[:cut:cut], pad...), 0o600); err != nil {
				t.Fatal(err)
			}
			e := Entry{Cause: CauseUndo}
			if err := l.Append(&e); err != nil {
				t.Fatal(err)
			}
			got, err := l.Read(0)
			if err != nil {
				t.Fatal(err)
			}
			// The third entry survives when only its newline is missing.
			n := int64(3)
			if cut >= len(whole)-1 && (pad == "" || cut == len(whole)) {
				n = 4
			}
			if int64(len(got)) != n || e.Seq != n || got[n-1].Cause != CauseUndo {
				t.Fatalf("cut %d pad %q: %d entries, last seq %d, want %d", cut, pad, len(got), e.Seq, n)
			}
			again, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(again, whole[:cut]) {
				t.Fatalf("cut %d: earlier bytes were touched (%v)", cut, err)
			}
		}
	}
}

func TestReadSinceAndTail(t *testing.T) {
	l := open(t, t.TempDir())
	for i := range 50 {
		e := &Entry{Cause: CauseTool, Note: strings.Repeat("x", i*200)}
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, since := range []int64{-1, 0, 1, 25, 49, 50, 99} {
		got, err := l.Read(since)
		if err != nil {
			t.Fatal(err)
		}
		if want := min(50, max(0, 50-since)); int64(len(got)) != want {
			t.Errorf("since %d: %d entries, want %d", since, len(got), want)
		}
	}
	got, err := l.Tail(3)
	if err != nil || len(got) != 3 || got[0].Seq != 48 || got[2].Seq != 50 {
		t.Errorf("tail: %v %v", got, err)
	}
}

func TestUnknownFieldsAndDamageAreTolerated(t *testing.T) {
	dir := t.TempDir()
	text := `{"v":1,"seq":1,"time":"2026-01-01T00:00:00Z","cause":"tool","exact":true,"changes":[]}
garbage
{"v":9,"seq":7,"time":"2026-01-01T00:00:00Z","cause":"later","exact":false,"changes":[],"new":{"x":1}}` + "\r\n"
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	e := Entry{Cause: CauseTool}
	if err := l.Append(&e); err != nil || e.Seq != 8 {
		t.Fatalf("seq %d, %v, want 8", e.Seq, err)
	}
	got, err := l.Read(0)
	if err != nil || len(got) != 3 || got[1].Cause != "later" {
		t.Fatalf("%v %v", got, err)
	}
}

func TestFailedAppendLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	if err := l.Append(&Entry{Cause: CauseTool}); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("no space")
	l.Hook = func(op, _ string) error {
		if op == "write" {
			return boom
		}
		return nil
	}
	if err := l.Append(&Entry{Cause: CauseTool}); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	l.Hook = nil
	e := Entry{Cause: CauseTool}
	if err := l.Append(&e); err != nil || e.Seq != 2 {
		t.Fatalf("seq %d, %v", e.Seq, err)
	}
}

// TestProcessesShareALedger starts this test binary several times.
func TestProcessesShareALedger(t *testing.T) {
	const processes, each = 4, 50
	if dir := os.Getenv("KERF_TEST_LEDGER"); dir != "" {
		l := open(t, dir)
		for range each {
			if err := l.Append(&Entry{Cause: CauseTool, Note: fmt.Sprint(os.Getpid())}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := t.TempDir()
	var cmds []*exec.Cmd
	for range processes {
		c := exec.Command(os.Args[0], "-test.run=^TestProcessesShareALedger$")
		c.Env = append(os.Environ(), "KERF_TEST_LEDGER="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, c)
	}
	for _, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := open(t, dir).Read(0)
	if err != nil || len(got) != processes*each {
		t.Fatalf("%d entries, %v, want %d", len(got), err, processes*each)
	}
	for i, e := range got {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d has seq %d", i, e.Seq)
		}
	}
}

func TestLinesBackwardIsSplitReversed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 20<<10), 0, 6).Draw(t, "lengths") {
			text = append(text, bytes.Repeat([]byte{'a'}, n)...)
			text = append(text, '\n')
		}
		text = append(text, rapid.SliceOfN(rapid.Just(byte('z')), 0, 3).Draw(t, "tail")...)
		var want, got [][]byte
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if len(line) > 0 {
				want = append([][]byte{line}, want...)
			}
		}
		err := linesBackward(bytes.NewReader(text), int64(len(text)), func(line []byte, at int64) bool {
			if !bytes.HasPrefix(text[at:], line) {
				t.Fatalf("a line of %d bytes is said to begin at %d", len(line), at)
			}
			got = append(got, bytes.Clone(line))
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(want, got, bytes.Equal) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	})
}
