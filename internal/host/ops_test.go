package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// talker is a model that answers by a function and remembers its requests.
type talker struct {
	mu       sync.Mutex
	requests []*model.Request
	answer   func(n int, r *model.Request) []*model.Item
}

func (c *talker) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	c.mu.Lock()
	c.requests = append(c.requests, r)
	n := len(c.requests)
	c.mu.Unlock()
	items := []*model.Item{{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "fine"}}}}
	if c.answer != nil {
		if got := c.answer(n, r); got != nil {
			items = got
		}
	}
	for i, it := range items {
		if err := emit(model.ItemDone{Index: i, Item: it}); err != nil {
			return err
		}
	}
	return emit(model.Done{Usage: &model.Usage{Input: 10, Output: 2}})
}

func (c *talker) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, it := range c.requests[len(c.requests)-1].Items {
		b.WriteString(it.Text() + "\n")
		for _, p := range it.Content {
			b.WriteString(p.ImageURL + "\n")
		}
	}
	return b.String()
}

// live is an open session with its events.
type live struct {
	t testing.TB
	protocol.Session
	n int
}

// scripted is a host in directories of its own.
func scripted(t testing.TB, c *talker) *Host {
	t.Helper()
	home, cwd := t.TempDir(), t.TempDir()
	cfg, _, err := config.Load(config.Options{Home: home, Cwd: cwd, Env: func(string) string { return "" },
		Overrides: []string{
			"model=m", "model_provider=script", "sandbox_mode=danger-full-access", "approval_policy=never"}})
	if err != nil {
		t.Fatal(err)
	}
	return &Host{Config: cfg, Env: []string{"PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash"}, Client: c}
}

func open(t testing.TB, h *Host, o protocol.OpenOptions) *live {
	t.Helper()
	s, err := h.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &live{t: t, Session: s}
}

func (l *live) submit(op protocol.Op) string {
	l.t.Helper()
	l.n++
	id := "op-" + string(rune('a'+l.n))
	if err := l.Submit(context.Background(), protocol.Submission{ID: id, Op: op}); err != nil {
		l.t.Fatal(err)
	}
	return id
}

// until returns the events up to the first that stop accepts.
func (l *live) until(stop func(protocol.Msg) bool) []protocol.Msg {
	l.t.Helper()
	var all []protocol.Msg
	late := time.After(30 * time.Second)
	for {
		select {
		case e, ok := <-l.Events():
			if !ok {
				l.t.Fatalf("the events ended after %+v", all)
			}
			all = append(all, e.Msg)
			if stop(e.Msg) {
				return all
			}
		case <-late:
			l.t.Fatalf("nothing more came after %+v", all)
		}
	}
}

func is[M protocol.Msg](m protocol.Msg) bool { _, ok := m.(M); return ok }

func find[M protocol.Msg](t testing.TB, all []protocol.Msg) M {
	t.Helper()
	for _, m := range all {
		if got, ok := m.(M); ok {
			return got
		}
	}
	var none M
	t.Fatalf("no %T among %+v", none, all)
	return none
}

func (l *live) say(text string) protocol.TurnID {
	l.t.Helper()
	id := l.submit(protocol.UserInput{Items: []protocol.Input{{Text: text}}})
	l.until(is[protocol.TurnCompleted])
	return protocol.TurnID(id)
}

func TestShellRunsTheUsersCommand(t *testing.T) {
	c := &talker{}
	h := scripted(t, c)
	s := open(t, h, protocol.OpenOptions{})
	s.submit(protocol.Shell{Command: "echo hello > made.txt; cat made.txt; exit 3"})
	var end protocol.Command
	streamed := ""
	for _, m := range s.until(is[protocol.TurnCompleted]) {
		if d, ok := m.(protocol.ItemDelta); ok {
			streamed += d.Text
		}
		if done, ok := m.(protocol.ItemCompleted); ok {
			end, _ = done.Item.Body.(protocol.Command)
		}
	}
	if !strings.Contains(streamed, "hello") {
		t.Errorf("streamed %q", streamed)
	}
	if !end.User || end.ExitCode == nil || *end.ExitCode != 3 || !strings.Contains(end.Output, "hello") {
		t.Errorf("the command's item is %+v", end)
	}
	if _, err := os.Stat(filepath.Join(h.Config.Cwd, "made.txt")); err != nil {
		t.Error(err)
	}
	s.say("what did I do?")
	if got := c.last(); !strings.Contains(got, "<user_shell_command>") || !strings.Contains(got, "exit code 3") ||
		!strings.Contains(got, "made.txt") {
		t.Errorf("the model was told\n%s", got)
	}
}

func TestRenameAndConfigure(t *testing.T) {
	h := scripted(t, &talker{})
	s := open(t, h, protocol.OpenOptions{})
	s.say("hello")
	s.submit(protocol.Rename{Title: " a better title "})
	if m := find[protocol.TitleChanged](t, s.until(is[protocol.TitleChanged])); m.Title != "a better title" {
		t.Errorf("title %q", m.Title)
	}
	s.submit(protocol.Configure{Settings: protocol.Settings{Approval: protocol.PolicyPlan}})
	if m := find[protocol.SettingsChanged](t,
		s.until(is[protocol.SettingsChanged])); m.Settings.Approval != protocol.PolicyPlan || m.Settings.Model != "m" {
		t.Errorf("settings %+v", m.Settings)
	}
	s.submit(protocol.Configure{Settings: protocol.Settings{Approval: "sometimes"}})
	if m := find[protocol.Warning](t, s.until(is[protocol.Warning])); !strings.Contains(m.Message, "sometimes") {
		t.Errorf("warning %q", m.Message)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := h.Sessions().List(context.Background(), protocol.Filter{})
	if err != nil || len(list) != 1 || list[0].Title != "a better title" {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestQueuedInputGetsATurnOfItsOwn(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	c := &talker{}
	c.answer = func(n int, _ *model.Request) []*model.Item {
		if n == 1 {
			begun <- true
			<-goOn
		}
		return nil
	}
	s := open(t, scripted(t, c), protocol.OpenOptions{})
	s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "first"}}})
	<-begun
	s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "later"}}, Queue: true})
	if m := find[protocol.QueueChanged](t, s.until(is[protocol.QueueChanged])); len(m.Waiting) != 1 ||
		m.Waiting[0][0].Text != "later" {
		t.Errorf("waiting %+v", m.Waiting)
	}
	close(goOn)
	s.until(is[protocol.TurnCompleted])
	s.until(is[protocol.TurnCompleted])
	if got := c.last(); strings.Count(got, "later") != 1 || !strings.Contains(got, "fine") {
		t.Errorf("the second turn sent\n%s", got)
	}
}

func write(path, content string) []*model.Item {
	return []*model.Item{{Kind: model.Call, CallID: "w-" + content, Name: "write_file", Style: model.Function,
		Input: `{"file_path":"` + path + `","content":"` + content + `"}`}}
}

func TestRewindGoesBackInWordsAndFiles(t *testing.T) {
	c := &talker{}
	c.answer = func(n int, r *model.Request) []*model.Item {
		last := r.Items[len(r.Items)-1].Text()
		if word, ok := strings.CutPrefix(last, "write "); ok {
			return write("a.txt", word)
		}
		return nil
	}
	h := scripted(t, c)
	s := open(t, h, protocol.OpenOptions{})
	s.say("write one")
	second := s.say("write two")
	s.say("third")
	s.submit(protocol.Rewind{Turn: second, Conversation: true, Files: true})
	m := find[protocol.Undone](t, s.until(is[protocol.Undone]))
	if m.Report.Problem != "" {
		t.Fatalf("rewind: %+v", m.Report)
	}
	got, err := os.ReadFile(filepath.Join(h.Config.Cwd, "a.txt"))
	if err != nil || string(got) != "one" {
		t.Errorf("a.txt is %q (%v), want one", got, err)
	}
	s.say("and now?")
	check := func(said string) {
		t.Helper()
		if strings.Contains(said, "write two") || strings.Contains(said, "third") || !strings.Contains(said, "write one") ||
			!strings.Contains(said, "and now?") {
			t.Errorf("after the rewind the model was sent\n%s", said)
		}
	}
	check(c.last())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, h, protocol.OpenOptions{Resume: string(s.ID())})
	again.say("resumed")
	check(c.last())
	again.submit(protocol.Rewind{Turn: "nowhere", Conversation: true})
	if m := find[protocol.Undone](t, again.until(is[protocol.Undone])); !strings.Contains(m.Report.Problem, "nowhere") {
		t.Errorf("report %+v", m.Report)
	}
}

func TestImagesStayOutOfTheLog(t *testing.T) {
	c := &talker{}
	h := scripted(t, c)
	s := open(t, h, protocol.OpenOptions{})
	const url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "look"}, {ImageURL: url}}})
	s.until(is[protocol.TurnCompleted])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.SessionsDir(), string(s.ID()))
	log, err := os.ReadFile(filepath.Join(dir, "rollout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(log, []byte("iVBORw0KGgo")) || !bytes.Contains(log, []byte("blob:image/png;")) {
		t.Error("the image is in the log, or is not named there")
	}
	fork := open(t, h, protocol.OpenOptions{Fork: string(s.ID())})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	fork.say("and again")
	if !strings.Contains(c.last(), url) {
		t.Error("the image does not come back from a fork")
	}
}

func TestCompactOnDemand(t *testing.T) {
	c := &talker{}
	s := open(t, scripted(t, c), protocol.OpenOptions{})
	s.submit(protocol.Compact{})
	find[protocol.Warning](t, s.until(is[protocol.Warning]))
	s.say("remember the number 4711")
	c.answer = func(_ int, r *model.Request) []*model.Item {
		if len(r.Tools) > 0 {
			return nil
		}
		return []*model.Item{{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "the summary of all"}}}}
	}
	s.submit(protocol.Compact{})
	all := s.until(is[protocol.TurnCompleted])
	if m := find[protocol.HistoryCompacted](t, all); m.Auto || m.Before == 0 || m.After == 0 {
		t.Errorf("told %+v", m)
	}
	s.say("which number?")
	if got := c.last(); !strings.Contains(got, "the summary of all") || !strings.Contains(got, "4711") ||
		strings.Contains(got, "fine") {
		t.Errorf("after the compaction the model was sent\n%s", got)
	}
}

func TestLessAccessHoldsForFileToolsToo(t *testing.T) {
	c := &talker{}
	outside := filepath.Join(t.TempDir(), "out.txt")
	c.answer = func(_ int, r *model.Request) []*model.Item {
		if word, ok := strings.CutPrefix(r.Items[len(r.Items)-1].Text(), "write "); ok {
			return write(outside, word)
		}
		return nil
	}
	s := open(t, scripted(t, c), protocol.OpenOptions{})
	s.submit(protocol.Configure{Settings: protocol.Settings{Sandbox: protocol.SandboxWorkspace}})
	s.say("write one")
	if _, err := os.Stat(outside); err == nil || !strings.Contains(c.last(), "OUTSIDE_WORKSPACE") &&
		!strings.Contains(c.last(), "DENIED") {
		t.Errorf("a file outside was written after full access was taken away; the model was told\n%s", c.last())
	}
	s.submit(protocol.Configure{Settings: protocol.Settings{Sandbox: protocol.SandboxFull}})
	s.say("write two")
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("with full access: %v\n%s", err, c.last())
	}
}

// TestSettingsThatThereAreNotOpenNothing: a front end that names a policy or a sandbox that
// does not exist is told so, and no session begins.
func TestSettingsThatThereAreNotOpenNothing(t *testing.T) {
	h := scripted(t, &talker{})
	for _, set := range []protocol.Settings{{Sandbox: "none"}, {Approval: "always"}, {Edits: "sometimes"},
		{Edits: protocol.EditsRefused}} {
		s, err := h.Open(t.Context(), protocol.OpenOptions{Settings: set})
		if err == nil {
			_ = s.Close()
			t.Errorf("%+v opened a session", set)
		} else if !strings.Contains(err.Error(), "use ") {
			t.Errorf("%+v: %v", set, err)
		}
	}
}
