package host

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// calling is a model that makes these calls, one a request, and then ends.
func calling(calls ...[2]string) *talker {
	return &talker{answer: func(n int, _ *model.Request) []*model.Item {
		if n > len(calls) {
			return nil
		}
		return []*model.Item{{Kind: model.Call, Style: model.Function, CallID: fmt.Sprintf("c%d", n), Name: calls[n-1][0],
			Input: calls[n-1][1]}}
	}}
}

func run(line string) [2]string {
	args, _ := json.Marshal(map[string]string{"cmd": line})
	return [2]string{"exec_command", string(args)}
}

// TestAnswersAreForWhatStarts: a command whose script changed between the question and the
// answer, or since it was allowed for the session, is asked about again.
func TestAnswersAreForWhatStarts(t *testing.T) {
	h := scripted(t, calling(run("sh run.sh"), run("sh run.sh"), run("sh run.sh")))
	script := filepath.Join(h.Config.Cwd, "run.sh")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("echo one > out\n")
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted}})
	a := l.asked()
	write("echo two > out\n")
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	a = l.question()
	if !strings.Contains(a.Reason, "run.sh changed since you were asked") {
		t.Fatalf("asked again because %q", a.Reason)
	}
	if _, err := os.Stat(filepath.Join(h.Config.Cwd, "out")); err == nil {
		t.Fatal("it ran before it was asked about again")
	}
	// Each run of this script changes it, so that no answer serves for the next.
	write("echo x >> run.sh; echo three > out\n")
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.ForSession})
	for range 3 { // the change before the answer, and two runs that each changed it
		a = l.question()
		if a.Command.Command != "sh run.sh" {
			t.Fatalf("asked about %+v", a)
		}
		l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.ForSession})
	}
	l.until(is[protocol.TurnCompleted])
}

// asked starts a turn and returns the first question.
func (l *live) asked() protocol.Approval {
	l.t.Helper()
	l.submit(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
	return l.question()
}

func (l *live) question() protocol.Approval {
	l.t.Helper()
	return find[protocol.ApprovalRequested](l.t, l.until(is[protocol.ApprovalRequested])).Approval
}

func TestApprovalForSessionAndAlways(t *testing.T) {
	h := scripted(t, calling(run("touch a"), run("touch a"), run("touch b"), run("touch $X"), run("touch $X")))
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted}})
	a := l.asked()
	want := "touch a -> allow exactly in " + h.Config.Cwd
	if a.Command == nil || a.Command.Rule != want || a.Command.Command != "touch a" {
		t.Fatalf("asked about %+v", a.Command)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Always})
	a = l.question() // touch a runs unasked by now, and nothing else
	if a.Command.Command != "touch b" {
		t.Fatalf("asked about %+v", a.Command)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	a = l.question()
	if a.Command.Command != "touch $X" || a.Command.Rule != "" || a.Command.Prefix != nil {
		t.Fatalf("asked about %+v", a.Command)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.ForSession})
	l.until(is[protocol.TurnCompleted]) // and so does the same command again
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(h.Config.Cwd, name)); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(h.Config.Home, "rules", "default.rules")
	if b, err := os.ReadFile(file); err != nil || string(b) != want+"\n" {
		t.Errorf("%s: %q, %v", file, b, err)
	}
	if st, err := os.Stat(file); err == nil && st.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s has mode %v", file, st.Mode())
	}
}

func TestEditedChangeIsShownAgain(t *testing.T) {
	c := calling([2]string{"write_file", `{"file_path": "new.txt", "content": "one\ntwo\n"}`})
	h := scripted(t, c)
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted,
		Sandbox: protocol.SandboxWorkspace, Model: "claude-sonnet-4-6"}})
	a := l.asked()
	path := filepath.Join(h.Config.Cwd, "new.txt")
	if a.Change == nil || len(a.Change.Files) != 1 || a.Change.Files[0].Path != path ||
		*a.Change.Files[0].New != "one\ntwo\n" {
		t.Fatalf("asked about %+v", a.Change)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once, Edited: map[string]string{path: "one\nTWO\n"}})
	a = l.question()
	if !strings.Contains(a.Change.Diff, "+TWO") || strings.Contains(a.Change.Diff, "+two") {
		t.Fatalf("shown again: %s", a.Change.Diff)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("written before it was allowed")
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	l.until(is[protocol.TurnCompleted])
	if b, _ := os.ReadFile(path); string(b) != "one\nTWO\n" {
		t.Errorf("written: %q", b)
	}
	if got := output(c); !strings.Contains(got, "by the user: +1 -1") || !strings.Contains(got, "updatedFileStates") {
		t.Errorf("the model was told %q", got)
	}
}

// output is what the last request told of the last call.
func output(c *talker) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	items := c.requests[len(c.requests)-1].Items
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == model.Output {
			return items[i].Text()
		}
	}
	return ""
}

// TestSEC_L4_FileThatMovedIsAskedAgain: an approval is for the bytes that were
// shown, and for no others.
func TestSEC_L4_FileThatMovedIsAskedAgain(t *testing.T) {
	c := calling([2]string{"read_file", `{"file_path": "f.txt"}`},
		[2]string{"edit_file", `{"file_path": "f.txt", "old_string": "one", "new_string": "ONE"}`})
	h := scripted(t, c)
	path := filepath.Join(h.Config.Cwd, "f.txt")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n\n\n\n\ntail\n")
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted,
		Sandbox: protocol.SandboxWorkspace}})
	a := l.asked()
	write("one\n\n\n\n\nTAIL\n")
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	again := l.question()
	if !strings.Contains(again.Reason, "changed since you were asked") {
		t.Errorf("asked again because %q", again.Reason)
	}
	if b, _ := os.ReadFile(path); string(b) != "one\n\n\n\n\nTAIL\n" {
		t.Fatalf("written before it was allowed: %q", b)
	}
	l.submit(protocol.Answer{Approval: again.ID, Decision: protocol.Once})
	l.until(is[protocol.TurnCompleted])
	if b, _ := os.ReadFile(path); string(b) != "ONE\n\n\n\n\nTAIL\n" {
		t.Errorf("in the end: %q", b)
	}
}

// TestSEC_C6_SteeringFilesAsk has the model write what agents and machines obey.
func TestSEC_C6_SteeringFilesAsk(t *testing.T) {
	for _, name := range []string{"AGENTS.md", ".github/workflows/ci.yml", ".vscode/tasks.json", "sub/CLAUDE.md",
		".envrc", ".husky/pre-commit"} {
		h := scripted(t, calling([2]string{"write_file", `{"file_path": "` + name + `", "content": "x"}`}))
		l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest,
			Sandbox: protocol.SandboxWorkspace}})
		a := l.asked()
		if !strings.Contains(a.Reason, "obey "+name) {
			t.Errorf("%s: asked because %q", name, a.Reason)
		}
		l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Deny, Words: "no"})
		l.until(is[protocol.TurnCompleted])
		if _, err := os.Stat(filepath.Join(h.Config.Cwd, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	h := scripted(t, calling([2]string{"write_file", `{"file_path": "main.go", "content": "x"}`})) // control
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest,
		Sandbox: protocol.SandboxWorkspace}})
	l.say("go")
	if _, err := os.Stat(filepath.Join(h.Config.Cwd, "main.go")); err != nil {
		t.Error(err)
	}
}

// TestExplainIsWhatHappens lets a model run generated commands and holds what
// happens against what Explain says of them.
func TestExplainIsWhatHappens(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"echo a", "true", "no-such-tool x", "git push", "rm -rf *.none", "rm none", "echo $X", "printf b",
		"cat none", "no-such-allowed y", "sudo -n true", "test -f none"}
	joins := []string{"; ", " && ", " || ", " | ", " & ", "\n"}
	for _, approval := range []protocol.ApprovalPolicy{protocol.PolicyUntrusted, protocol.PolicyOnRequest,
		protocol.PolicyNever, protocol.PolicyPlan, protocol.PolicyAutoEdit, protocol.PolicyOnFailure} {
		var lines []string
		for range 12 {
			line := pieces[rnd.IntN(len(pieces))]
			for range rnd.IntN(3) {
				line += joins[rnd.IntN(len(joins))] + pieces[rnd.IntN(len(pieces))]
			}
			lines = append(lines, line)
		}
		calls := make([][2]string, len(lines))
		for i, l := range lines {
			calls[i] = run(l)
		}
		h := scripted(t, calling(calls...))
		if err := os.MkdirAll(filepath.Join(h.Config.Home, "rules"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.Config.Home, "rules", "x.rules"),
			[]byte("git push -> forbid\nno-such-allowed -> allow\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		set := protocol.Settings{Approval: approval, Sandbox: protocol.SandboxFull}
		if approval == protocol.PolicyPlan {
			set.Sandbox = protocol.SandboxFull
		}
		l := open(t, h, protocol.OpenOptions{Settings: set})
		l.submit(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
		for _, line := range lines {
			e, err := h.Explain(line, set, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.verdict(); got != e.Verdict.String() {
				t.Errorf("%s: %q: %s happened, %s was explained (%s)", approval, line, got, e.Verdict, e.By)
			}
		}
		l.until(is[protocol.TurnCompleted])
	}
}

// verdict watches the next command and tells what became of it. Questions are
// answered with no.
func (l *live) verdict() string {
	l.t.Helper()
	got := ""
	l.until(func(m protocol.Msg) bool {
		switch m := m.(type) {
		case protocol.ApprovalRequested:
			got = "ask"
			l.submit(protocol.Answer{Approval: m.Approval.ID, Decision: protocol.Deny})
		case protocol.ItemCompleted:
			if _, ok := m.Item.Body.(protocol.Command); !ok {
				return false
			}
			if got == "" {
				got = "auto"
				if m.Item.Status == protocol.Declined {
					got = "deny"
				}
			}
			return true
		}
		return false
	})
	return got
}
