package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/config"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

const undoScenario = `{"version": 1, "rounds": [
  {"items": [{"call": "write_file", "args": {"file_path": "new.txt", "content": "new\n"}}]},
  {"items": [{"message": "done"}]},
  {"expect": {"input_contains": ["The user took changes back", "restored  new.txt"]}, "items": [{"call": "write_file", "args": {"file_path": "other.txt", "content": "other\n"}}]},
  {"items": [{"message": "done"}]}
]}`

// TestUndoInALiveSession takes a turn back while the session goes on: the files are
// as before, front ends are told, the model hears of it with the next request, and
// a query lists all of it.
func TestUndoInALiveSession(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd := filepath.Join(base, "w")
	if err := os.Mkdir(cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	none := func(string) string { return "" }
	cfg, _, err := config.Load(config.Options{Home: filepath.Join(base, "home"), Cwd: cwd, Env: none})
	if err != nil {
		t.Fatal(err)
	}
	client, err := host.Scripted(strings.NewReader(undoScenario))
	if err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Config: cfg, Client: client}
	s, err := h.Open(t.Context(), protocol.OpenOptions{Headless: true, Source: "test",
		Settings: protocol.Settings{Model: "m", Cwd: cwd, Sandbox: protocol.SandboxWorkspace,
			Approval: protocol.PolicyNever}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	submit := func(id string, op protocol.Op) {
		if err := s.Submit(t.Context(), protocol.Submission{ID: id, Op: op}); err != nil {
			t.Fatal(err)
		}
	}
	submit("t1", protocol.UserInput{Items: []protocol.Input{{Text: "make it"}}})
	until[protocol.TurnCompleted](t, s)
	file := filepath.Join(cwd, "new.txt")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	submit("u0", protocol.Undo{DryRun: true})
	if r := until[protocol.Undone](t, s).Report; r.Problem != "" || !r.DryRun || !strings.Contains(r.Diff, "-new") {
		t.Fatalf("%+v", r)
	}
	submit("u1", protocol.Undo{})
	r := until[protocol.Undone](t, s).Report
	if r.Problem != "" || len(r.Files) != 1 || r.Files[0].Outcome != "restored" {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Fatalf("the file is still there (%v)", err)
	}
	submit("u2", protocol.Undo{})
	if r := until[protocol.Undone](t, s).Report; r.Problem != "nothing to undo" {
		t.Fatalf("%+v", r)
	}
	submit("t2", protocol.UserInput{Items: []protocol.Input{{Text: "go on"}}})
	// The scenario checks what the model is told. What the user takes back between turns
	// belongs to no turn.
	if d := until[protocol.TurnDiff](t, s); strings.Contains(d.Diff, "new.txt") || !strings.Contains(d.Diff, "other.txt") {
		t.Errorf("the diff of a turn after an undo is\n%s", d.Diff)
	}
	until[protocol.TurnCompleted](t, s)

	entries, err := h.Query().Changes(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 || entries[0].Cause != "tool" || !entries[0].Undone || entries[1].Cause != "undo" ||
		entries[0].Diff == "" {
		t.Fatalf("%+v", entries)
	}
}

// until waits for an event of type M.
func until[M protocol.Msg](t *testing.T, s protocol.Session) M {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				t.Fatal("the session ended")
			}
			switch m := e.Msg.(type) {
			case M:
				return m
			case protocol.TurnFailed:
				t.Fatalf("the turn failed: %+v", m.Error)
			}
		case <-ctx.Done():
			t.Fatal("nothing came")
		}
	}
}
