package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
)

// told makes a session with two turns that has records of most types.
func told(t *testing.T, s *Store) protocol.SessionInfo {
	t.Helper()
	l, err := s.Create(rollout.Metadata{Title: "greet", Cwd: "/w", Model: "priced"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	diff, err := l.Writer.SaveDiff([]byte("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n"))
	if err != nil {
		t.Fatal(err)
	}
	exit := 1
	args := json.RawMessage(`{"x":1}`)
	for _, r := range []history.Record{
		history.SessionMeta{ID: l.ID, Cwd: "/w", Model: "priced"},
		history.TurnContext{Turn: "t1", Settings: protocol.Settings{Model: "priced"}},
		history.UserInput{Turn: "t1", Text: "be polite\nplease"},
		history.Reasoning{Turn: "t1", Round: 1, Summary: []string{"look"}},
		history.ToolStarted{Turn: "t1", Round: 1, Index: 1, Call: "c1", Name: "edit_file", Args: args},
		history.FileChange{Turn: "t1", Call: "c1", Path: "/w/a", DiffPath: diff, Operation: "modified", Cause: "tool"},
		history.ToolCall{Turn: "t1", Round: 1, Index: 1, Call: "c1", Name: "edit_file", Args: args, Result: "done",
			Success: true},
		history.QuestionAsked{Turn: "t1", Question: "q", Kind: protocol.AskCommand, Call: "c2", Asked: "run it?"},
		history.Approval{Turn: "t1", Call: "c2", Asked: "run it?", Decision: protocol.Deny},
		history.ToolCall{Turn: "t1", Round: 1, Index: 2, Call: "c2", Name: "exec_command", Args: args, Result: "no",
			Command: "rm x", Exit: &exit},
		history.TokenUsage{Turn: "t1", Round: 1, Usage: protocol.Usage{Input: 10, Output: 5}},
		history.AssistantMessage{Turn: "t1", Round: 2, Text: "It is polite."},
		history.TokenUsage{Turn: "t1", Round: 2, Usage: protocol.Usage{Input: 20, Output: 2}},
		history.EventRecord{Turn: "t1", What: history.TurnCompleted},
		history.TurnContext{Turn: "t2", Settings: protocol.Settings{Model: "free"}},
		history.UserInput{Turn: "t2", Text: "and now"},
		history.TokenUsage{Turn: "t2", Round: 3, Usage: protocol.Usage{Input: 1, Output: 1}},
		history.EventRecord{Turn: "t2", What: history.TurnFailed, Message: "no answer"},
		history.Unknown{Name: "later", JSON: json.RawMessage(`{"y":2}`)},
	} {
		if err := l.Writer.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Writer.SaveMetadata(l.Meta); err != nil {
		t.Fatal(err)
	}
	info, err := s.Find(context.Background(), "GREET")
	if err != nil || info.ID != l.ID {
		t.Fatal(info, err)
	}
	return info
}

func TestTranscriptShowsWhatWasRecorded(t *testing.T) {
	s := store(t)
	told(t, s)
	turns, err := s.Transcript(t.Context(), "greet", 0)
	if err != nil || len(turns) != 2 {
		t.Fatal(turns, err)
	}
	exit := 1
	want := []protocol.Body{
		protocol.UserMessage{Input: []protocol.Input{{Text: "be polite\nplease"}}},
		protocol.Reasoning{Text: "look"},
		protocol.FileChange{Call: "c1", Changes: []protocol.PathChange{{Path: "/w/a", Kind: protocol.Update}},
			Diff: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n"},
		protocol.Command{Call: "c2", Command: "rm x", Cwd: "/w", Output: "no", ExitCode: &exit},
		protocol.AgentMessage{Text: "It is polite."},
	}
	var got []protocol.Body
	for _, i := range turns[0].Items {
		got = append(got, i.Body)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if turns[0].Items[3].Status != protocol.Declined {
		t.Errorf("the command that was denied is %s", turns[0].Items[3].Status)
	}
	if turns[0].Ended != "completed" || turns[1].Ended != "failed" || turns[0].Usage.Output != 7 ||
		turns[0].Diff != "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n" {
		t.Errorf("turns %+v", turns)
	}
	last, err := s.Transcript(t.Context(), "greet", 1)
	if err != nil || len(last) != 1 || last[0].ID != "t2" {
		t.Errorf("the last turn: %+v, %v", last, err)
	}
}

func TestReadTellsEveryRecord(t *testing.T) {
	s := store(t)
	info := told(t, s)
	byName, err := s.Read(t.Context(), "greet")
	if err != nil || byName.Info == nil || byName.Damage != nil {
		t.Fatal(byName, err)
	}
	byFile, err := s.Read(t.Context(), filepath.Join(s.DirOf(info.ID), "rollout.jsonl"))
	if err != nil || byFile.Info != nil || len(byFile.List) != len(byName.List) {
		t.Fatal(byFile, err)
	}
	lines := byName.Lines()
	text := map[string]string{}
	for _, l := range lines {
		text[l.Type] += l.Text + ";"
	}
	want := map[string]string{"session_meta": ";", "turn_context": ";;", "user_input": "be polite\nplease;and now;",
		"reasoning":   "look;",
		"file_change": "modified /w/a (tool, diffs/001.diff);", "tool_call": "edit_file: done;exec_command: no;",
		"approval":    ";",
		"token_usage": ";;;", "assistant_message": "It is polite.;", "later": ";",
		"event": "tool_started edit_file;question_asked run it?;turn_completed;turn_failed  no answer;"}
	if d := cmp.Diff(want, text); d != "" {
		t.Error(d)
	}
	u, ok := byName.List[len(lines)-1].Record.(history.Unknown)
	if !ok || !bytes.Contains(u.JSON, []byte(`"y":2`)) {
		t.Errorf("the unknown record is %#v", byName.List[len(lines)-1].Record)
	}
}

func TestTimeline(t *testing.T) {
	s := store(t)
	told(t, s)
	rec, err := s.Read(t.Context(), "greet")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range rec.Timeline() {
		text, _, _ := strings.Cut(l.Text, " at ")
		got = append(got, text)
	}
	want := []string{
		"turn started turn=t1 model=priced sandbox= approval=",
		`submit op=user_input turn=t1 "be polite…"`,
		"round 1 request built (history + user + tools)",
		`round 1 item done -> reasoning "look"`,
		`round 1 item done -> call edit_file({"x":1}) call=c1`,
		"changed modified /w/a cause=tool diffs/001.diff",
		"tool done c1 edit_file success=true 0.000s",
		`question q command asked="run it?"`,
		`approval c2 decision=deny asked="run it?"`,
		"tool done c2 exec_command success=false exit=1 0.000s",
		"round 1 completed needs_follow_up=true tokens in=10 cached=0 out=5 reasoning=0",
		"round 2 request built (+ output c1 + output c2)",
		`round 2 item done -> message "It is polite."`,
		"round 2 completed needs_follow_up=false tokens in=20 cached=0 out=2 reasoning=0",
		"turn completed turn=t1 ",
		"turn started turn=t2 model=free sandbox= approval=",
		`submit op=user_input turn=t2 "and now"`,
		"round 3 request built (history + user + tools)",
		"round 3 completed needs_follow_up=false tokens in=1 cached=0 out=1 reasoning=0",
		"turn failed turn=t2 no answer",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestScenarioSaysWhatTheModelSaid(t *testing.T) {
	s := store(t)
	told(t, s)
	made, prompts, err := s.Scenario(t.Context(), "greet")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"be polite\nplease", "and now"}, prompts); d != "" {
		t.Error(d)
	}
	if len(made.Rounds) != 2 || len(made.Rounds[0].Items) != 3 || made.Rounds[0].Items[1].Call != "edit_file" ||
		made.Rounds[1].Items[0].Message != "It is polite." || made.Rounds[0].Expect.InputContains[0] != "be polite" {
		t.Errorf("%+v", made)
	}
}

func TestExportFormats(t *testing.T) {
	s := store(t)
	told(t, s)
	for format, want := range map[string][]string{
		"markdown": {"# greet", "> be polite\n> please", "-a\n+b\n```", "rm x"},
		"json":     {`"type": "file_change"`, `"type": "command"`, `"status": "declined"`},
	} {
		var b bytes.Buffer
		if err := s.Export(t.Context(), &b, "greet", format); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s has no %q:\n%s", format, w, b.String())
			}
		}
	}
	if err := s.Export(t.Context(), &bytes.Buffer{}, "greet", "pdf"); err == nil ||
		!strings.Contains(err.Error(), `format "pdf"`) {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestUsageCountsByModel(t *testing.T) {
	s := store(t)
	info := told(t, s)
	r, err := s.Usage(t.Context(), UsageOptions{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	want := []UsageLine{
		{Name: "priced", Requests: 2, Usage: protocol.Usage{Input: 30, Output: 7}, Cost: 7},
		{Name: "free", Requests: 1, Usage: protocol.Usage{Input: 1, Output: 1}, Cost: 1, Unpriced: 2},
	}
	if d := cmp.Diff(want, r.Models); d != "" {
		t.Error(d)
	}
	if len(r.Days) != 1 || len(r.Sessions) != 1 || r.Sessions[0].Name != string(info.ID) || r.Total.Requests != 3 {
		t.Errorf("%+v", r)
	}
}

// TestKnownUsageIsThatOfTheRecords: a report from what is kept is the one that reads
// everything, also when a session grew before its metadata says so, and for fewer days.
func TestKnownUsageIsThatOfTheRecords(t *testing.T) {
	s := store(t)
	known := &Known{}
	info := told(t, s)
	same := func(o UsageOptions) {
		t.Helper()
		o.Now = time.Now()
		want, err := s.Usage(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		o.Known = known
		for range 2 {
			got, err := s.Usage(t.Context(), o)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%+v: %v %s", o, err, d)
			}
		}
	}
	for range 3 {
		for _, days := range []int{0, 1, 7} {
			same(UsageOptions{Days: days})
		}
		same(UsageOptions{Session: string(info.ID)})
		w, _, _, err := rollout.Resume(s.DirOf(info.ID), rollout.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := history.TokenUsage{Turn: "t2", Round: 4, Usage: protocol.Usage{Input: 3, Output: 1}}
		if err := w.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPromptsOpenTurns(t *testing.T) {
	s := store(t)
	info := told(t, s)
	p := s.Prompts()
	for _, tt := range []struct{ session, turn, want string }{
		{string(info.ID), "t1", "be polite…"}, {string(info.ID), "t2", "and now"}, {string(info.ID), "t3", ""}, {"..", "t1", ""}, {"gone", "t1", ""},
	} {
		if got := p.Of(tt.session, tt.turn); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.session, tt.turn, got, tt.want)
		}
	}
}

// TestForkStandsAlone: a fork has its own files, and ends where it was asked to.
func TestForkStandsAlone(t *testing.T) {
	s := store(t)
	info := told(t, s)
	l, err := s.Fork(info, "t1", rollout.Metadata{Cwd: "/w", Model: "priced"}, false)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if l.Meta.Parent != string(info.ID) || l.Meta.Title != "greet (fork)" || l.State.Turns != 1 {
		t.Errorf("%+v, %d turns", l.Meta, l.State.Turns)
	}
	if err := s.Delete(t.Context(), string(info.ID)); err != nil {
		t.Fatal(err)
	}
	if err := rollout.Verify(l.Dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "diffs", "001.diff")); err != nil {
		t.Error(err)
	}
	if cwd, err := s.CwdOf(l.ID); err != nil || cwd != "/w" {
		t.Errorf("the directory is %q, %v", cwd, err)
	}
	if _, err := s.Fork(protocol.SessionInfo{ID: l.ID}, "9", rollout.Metadata{}, true); err == nil ||
		!strings.Contains(err.Error(), `no turn "9"`) {
		t.Errorf("an unknown turn: %v", err)
	}
}

func TestVerifyTellsWhenThereIsNoLedger(t *testing.T) {
	s := store(t)
	info := told(t, s)
	if _, err := s.Verify(info, false); err == nil || !strings.Contains(err.Error(), "no ledger") {
		t.Errorf("got %v", err)
	}
}

func TestBackwardReadsTheTypesAskedFor(t *testing.T) {
	s := store(t)
	info := told(t, s)
	var got []history.Record
	for r, err := range records.Backward(s.DirOf(info.ID), history.UserInput{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Record)
	}
	want := []history.Record{history.UserInput{Turn: "t2", Text: "and now"},
		history.UserInput{Turn: "t1", Text: "be polite\nplease"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, err := range records.Backward(s.DirOf("none")) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a session that is not there: %v", err)
		}
	}
}

// TestImportCodex: what can be read becomes turns; a second import finds the first.
func TestImport(t *testing.T) {
	s := store(t)
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	line := func(kind, payload string) string {
		return `{"timestamp":"2026-01-02T03:04:05Z","type":"` + kind + `","payload":` + payload + "}\n"
	}
	text := line("session_meta", `{"id":"0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001","cwd":"/w"}`) +
		line("response_item", `{"type":"message","role":"user","content":[{"text":"<environment_context>x"}]}`) +
		line("response_item", `{"type":"message","role":"user","content":[{"text":"fix it"}]}`) +
		line("response_item", `{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}`) +
		line("response_item", `{"type":"function_call_output","call_id":"c","output":"fine"}`) +
		line("response_item", `{"type":"message","role":"assistant","content":[{"text":"fixed"}]}`) + "{broken\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := s.Import(path)
	if err != nil || made.Turns != 1 || made.Skipped != 1 || made.Title != "fix it" {
		t.Fatalf("%+v, %v", made, err)
	}
	turns, err := s.Transcript(t.Context(), string(made.ID), 0)
	if err != nil || len(turns) != 1 || len(turns[0].Items) != 3 || turns[0].Ended != "completed" {
		t.Errorf("%+v, %v", turns, err)
	}
	if _, err := s.Import(path); err == nil || !strings.Contains(err.Error(), "was imported already") {
		t.Errorf("a second import: %v", err)
	}
	l, err := s.Resume(t.Context(), protocol.SessionInfo{ID: made.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if d := cmp.Diff("fixed", l.State.Items[len(l.State.Items)-1].Text()); d != "" || l.State.Items[1].Kind != model.Call {
		t.Errorf("resumed: %s, %+v", d, l.State.Items)
	}
}

// TestASessionWithoutMetadataIsFound: its first record says where it began, as when the disk
// was full before the metadata were written.
func TestASessionWithoutMetadataIsFound(t *testing.T) {
	s := store(t)
	info := told(t, s)
	if err := os.Remove(filepath.Join(s.DirOf(info.ID), "metadata.json")); err != nil {
		t.Fatal(err)
	}
	got, err := s.Newest(t.Context(), info.Cwd)
	if err != nil || got.ID != info.ID || got.Cwd != info.Cwd || got.Damage == "" {
		t.Errorf("%+v, %v", got, err)
	}
}
