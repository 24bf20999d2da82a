package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/config"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

const hunkScenario = `{"version": 1, "rounds": [
  {"items": [{"call": "write_file", "args": {"file_path": "n.txt", "content": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}}]},
  {"items": [{"message": "made"}]},
  {"items": [{"call": "edit_file", "args": {"edits": [{"file_path": "n.txt", "old_string": "2\n", "new_string": "two\n"}, {"file_path": "n.txt", "old_string": "8\n", "new_string": "eight\n"}]}}]},
  {"items": [{"message": "edited"}]},
  {"expect": {"input_contains": ["The user took changes back", "n.txt"]}, "items": [{"message": "I see"}]}
]}`

// TestUndoOfOneHunk takes one of two edits of a call back; the turn can then be
// undone as a whole, and redone.
func TestUndoOfOneHunk(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd := filepath.Join(base, "w")
	if err := os.Mkdir(cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{Home: filepath.Join(base, "home"), Cwd: cwd,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	client, err := host.Scripted(strings.NewReader(hunkScenario))
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
	file := filepath.Join(cwd, "n.txt")
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Fatalf("%q (%v), want %q", got, err, want)
		}
	}
	undo := func(op protocol.Undo) protocol.UndoReport {
		submit("u", op)
		return until[protocol.Undone](t, s).Report
	}
	for _, words := range []string{"make it", "edit it"} {
		submit(words, protocol.UserInput{Items: []protocol.Input{{Text: words}}})
		until[protocol.TurnCompleted](t, s)
	}
	holds("1\ntwo\n3\n4\n5\n6\n7\neight\n9\n")
	entries, err := h.Query().Changes(t.Context(), s.ID())
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v %v", entries, err)
	}
	d := entries[1]
	one := protocol.Undo{Turn: d.Turn, Call: d.Call, Hunks: map[string][]int{file: {1}}}
	if r := undo(one); r.Problem != "" || len(r.Files) != 1 || r.Files[0].Outcome != "restored" ||
		!strings.Contains(r.Diff, "-eight") {
		t.Fatalf("%+v", r)
	}
	holds("1\ntwo\n3\n4\n5\n6\n7\n8\n9\n")
	if r := undo(one); r.Problem != "it was already taken back" {
		t.Fatalf("%+v", r)
	}
	if r := undo(protocol.Undo{Turn: d.Turn}); r.Problem != "" {
		t.Fatalf("%+v", r)
	}
	holds("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	if r := undo(protocol.Undo{Redo: true}); r.Problem != "" {
		t.Fatalf("%+v", r)
	}
	holds("1\ntwo\n3\n4\n5\n6\n7\n8\n9\n")
	submit("go on", protocol.UserInput{Items: []protocol.Input{{Text: "go on"}}})
	until[protocol.TurnCompleted](t, s) // the scenario checks what the model is told
}
