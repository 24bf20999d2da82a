package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// cast is a model that plays several sessions: play answers one request, given
// whether a sub-agent made it.
type cast struct {
	play func(ctx context.Context, agent bool, r *model.Request) []*model.Item
}

func (c cast) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	items := c.play(ctx, strings.Contains(r.Instructions, "You are a sub-agent"), r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, it := range items {
		if err := emit(model.ItemDone{Index: i, Item: it}); err != nil {
			return err
		}
	}
	return emit(model.Done{Usage: &model.Usage{Input: 10, Output: 2}})
}

func said(text string) []*model.Item {
	return []*model.Item{{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: text}}}}
}

func callsOf(list ...[2]string) []*model.Item {
	var items []*model.Item
	for _, c := range list {
		items = append(items, &model.Item{Kind: model.Call, Style: model.Function, CallID: fmt.Sprintf("c%d", serial()),
			Name: c[0], Input: c[1]})
	}
	return items
}

// serial makes call ids that no two calls share.
var serial = func() func() int {
	var mu sync.Mutex
	n := 0
	return func() int { mu.Lock(); defer mu.Unlock(); n++; return n }
}()

// outputs are what the calls of the last response came to.
func outputs(r *model.Request) []string {
	var texts []string
	for i := len(r.Items) - 1; i >= 0 && r.Items[i].Kind == model.Output; i-- {
		texts = append([]string{r.Items[i].Text()}, texts...)
	}
	return texts
}

func castHost(t testing.TB, c cast, overrides ...string) *Host {
	h := scripted(t, nil)
	cfg, _, err := config.Load(config.Options{Home: h.Config.Home, Cwd: h.Config.Cwd,
		Env: func(string) string { return "" }, Overrides: append([]string{
			"model=m", "model_provider=script", "sandbox_mode=danger-full-access", "approval_policy=never"}, overrides...)})
	if err != nil {
		t.Fatal(err)
	}
	h.Config, h.Client = cfg, c
	return h
}

// turn runs a turn and returns its events, those of sub-agents included; on is called
// with each.
func (l *live) turn(op protocol.Op, on func(protocol.Event)) []protocol.Event {
	l.t.Helper()
	l.submit(op)
	var all []protocol.Event
	late := time.After(100 * time.Second)
	for {
		select {
		case e, ok := <-l.Events():
			if !ok {
				l.t.Fatalf("the events ended")
			}
			all = append(all, e)
			if on != nil {
				on(e)
			}
			if e.Agent == "" && (is[protocol.TurnCompleted](e.Msg) || is[protocol.TurnFailed](e.Msg) ||
				is[protocol.TurnAborted](e.Msg)) {
				return all
			}
		case <-late:
			l.t.Fatalf("the turn does not end; the last events are %+v", all[max(0, len(all)-5):])
		}
	}
}

func input(text string) protocol.UserInput {
	return protocol.UserInput{Items: []protocol.Input{{Text: text}}}
}

// spawning is a parent that starts an agent, waits for it and tells what it heard.
func spawning(agent func(ctx context.Context, r *model.Request) []*model.Item) cast {
	return cast{func(ctx context.Context, child bool, r *model.Request) []*model.Item {
		switch got := outputs(r); {
		case child:
			return agent(ctx, r)
		case len(got) == 0:
			return callsOf([2]string{"spawn_agent", `{"message": "do it"}`}, [2]string{"wait", `{"timeout_ms": 60000}`})
		default:
			return said(strings.Join(got, "\n"))
		}
	}}
}

func TestQuestionsOfAgentsReachTheUser(t *testing.T) {
	h := castHost(t, spawning(func(_ context.Context, r *model.Request) []*model.Item {
		if got := outputs(r); len(got) > 0 {
			return said("the agent says: " + got[0])
		}
		return callsOf(run("touch asked.txt"))
	}))
	for _, allowed := range []bool{true, false} {
		s := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted}})
		path := filepath.Join(h.Config.Cwd, "asked.txt")
		_ = os.Remove(path)
		asked := 0
		all := s.turn(input("go"), func(e protocol.Event) {
			m, ok := e.Msg.(protocol.ApprovalRequested)
			if !ok {
				return
			}
			asked++
			if e.Agent == "" || m.Approval.Command == nil || m.Approval.Command.Command != "touch asked.txt" {
				t.Errorf("asked %+v of %q", m.Approval, e.Agent)
			}
			a := protocol.Answer{Approval: m.Approval.ID, Decision: protocol.Once}
			if !allowed {
				a.Decision, a.Words = protocol.Deny, "not today"
			}
			s.submit(a)
		})
		end, _ := all[len(all)-1].Msg.(protocol.TurnCompleted)
		if asked != 1 || strings.Contains(end.LastMessage, "not today") == allowed {
			t.Errorf("asked %d times, and the turn ended with %+v", asked, all[len(all)-1])
		}
		if _, err := os.Stat(path); (err == nil) != allowed {
			t.Errorf("allowed %v, and the file: %v", allowed, err)
		}
		if end.Usage.Input != 40 {
			t.Errorf("the turn used %+v: two requests of each count", end.Usage)
		}
		_ = s.Close()
	}
}

func TestInterruptClosesAgents(t *testing.T) {
	reached, ended := make(chan bool, 1), make(chan bool, 1)
	h := castHost(t, spawning(func(ctx context.Context, _ *model.Request) []*model.Item {
		reached <- true
		<-ctx.Done()
		ended <- true
		return nil
	}))
	s := open(t, h, protocol.OpenOptions{})
	go func() {
		<-reached
		_ = s.Submit(context.Background(), protocol.Submission{ID: "stop", Op: protocol.Interrupt{}})
	}()
	all := s.turn(input("go"), nil)
	if m, ok := all[len(all)-1].Msg.(protocol.TurnAborted); !ok || m.Reason != protocol.AbortInterrupted {
		t.Errorf("the turn ended with %+v", all[len(all)-1].Msg)
	}
	<-ended
	closed := func(e protocol.Event) bool {
		a, ok := e.Msg.(protocol.Agents)
		return ok && a.Agents[0].State == "closed"
	}
	if !slices.ContainsFunc(all, closed) {
		s.until(func(m protocol.Msg) bool { return closed(protocol.Event{Msg: m}) })
	}
}

func TestCloseEndsAgentsAndWhatTheyStarted(t *testing.T) {
	h := castHost(t, spawning(func(_ context.Context, r *model.Request) []*model.Item {
		if len(outputs(r)) > 0 {
			return said("it runs")
		}
		return callsOf([2]string{"exec_command", `{"cmd": "echo $$ > pid; exec sleep 1000", "yield_time_ms": 500}`})
	}))
	s := open(t, h, protocol.OpenOptions{})
	s.turn(input("go"), nil)
	pid, err := os.ReadFile(filepath.Join(h.Config.Cwd, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	if _, err := os.Stat(proc); err != nil && runtime.GOOS == "linux" {
		t.Fatalf("the command does not run: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(proc); err == nil {
		t.Error("the command of an agent survives the session")
	}
}

func TestModelAsksTheUser(t *testing.T) {
	ask := `{"questions": [{"id": "colour", "question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}, {"id": "name", "question": "Which name?"}]}`
	var offered bool
	c := cast{func(_ context.Context, _ bool, r *model.Request) []*model.Item {
		offered = false
		for _, tool := range r.Tools {
			offered = offered || tool.Name == "request_user_input"
		}
		if got := outputs(r); len(got) > 0 {
			return said(got[0])
		}
		return callsOf([2]string{"request_user_input", ask})
	}}
	s := open(t, castHost(t, c), protocol.OpenOptions{})
	all := s.turn(input("go"), func(e protocol.Event) {
		m, ok := e.Msg.(protocol.ApprovalRequested)
		if !ok {
			return
		}
		a := protocol.Answer{Approval: m.Approval.ID, Decision: protocol.Once, Content: json.RawMessage(`"red"`)}
		if m.Approval.Question.Message == "Which name?" {
			a = protocol.Answer{Approval: m.Approval.ID, Decision: protocol.Deny, Words: "you choose"}
		}
		s.submit(a)
	})
	want := `{"answers":{"colour":{"answers":["red"]},"name":{"declined":true,"words":"you choose"}}}`
	if end, _ := all[len(all)-1].Msg.(protocol.TurnCompleted); end.LastMessage != want || !offered {
		t.Errorf("the model heard %q, offered %v", end.LastMessage, offered)
	}
	s = open(t, castHost(t, c), protocol.OpenOptions{Headless: true})
	all = s.turn(input("go"), nil)
	if end, _ := all[len(all)-1].Msg.(protocol.TurnCompleted); !strings.Contains(end.LastMessage, "nobody to answer") ||
		offered {
		t.Errorf("headless the model heard %q, offered %v", end.LastMessage, offered)
	}
}

// TestAnAgentElsewhereIsAsBounded: a sub-agent in a work tree of its own works outside of the
// directories of the session, and is confined as it is.
func TestAnAgentElsewhereIsAsBounded(t *testing.T) {
	c := cast{func(_ context.Context, child bool, r *model.Request) []*model.Item {
		got := outputs(r)
		switch {
		case child && len(got) == 0:
			return callsOf([2]string{"exec_command", `{"cmd": "true", "sandbox_permissions": "require_escalated"}`})
		case len(got) > 0:
			return said(strings.Join(got, "\n"))
		}
		return callsOf([2]string{"spawn_agent", `{"message": "task", "isolation": "worktree"}`}, [2]string{"wait", `{"timeout_ms": 60000}`})
	}}
	h := castHost(t, c)
	for _, line := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"}} {
		cmd := exec.Command("git", line...)
		cmd.Dir = h.Config.Cwd
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v %s", err, out)
		}
	}
	cwd, err := filepath.EvalSymlinks(h.Config.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	bounds := &protocol.Bounds{Confined: true, Dir: func(dir string) error {
		if dir != cwd {
			return fmt.Errorf("%s is out of bounds", dir)
		}
		return nil
	}}
	s := open(t, h, protocol.OpenOptions{Bounds: bounds,
		Settings: protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyOnRequest}})
	all := s.turn(input("go"), nil)
	if end, _ := all[len(all)-1].Msg.(protocol.TurnCompleted); !strings.Contains(end.LastMessage, "no command leaves the sandbox here") {
		t.Errorf("the agent heard %s", end.LastMessage)
	}
	if _, err := h.Open(context.Background(), protocol.OpenOptions{Bounds: bounds, AddDirs: []string{t.TempDir()}}); err == nil ||
		!strings.Contains(err.Error(), "out of bounds") {
		t.Errorf("control: %v", err)
	}
}

func TestAgentsAreResumedByTheirParentOnly(t *testing.T) {
	var id string
	c := cast{func(_ context.Context, child bool, r *model.Request) []*model.Item {
		got := outputs(r)
		last := r.Items[len(r.Items)-1].Text()
		switch {
		case child:
			return said(fmt.Sprintf("I read %d messages", strings.Count(texts(r), "task ")))
		case len(got) > 0:
			return said(strings.Join(got, "\n"))
		case last == "start":
			return callsOf([2]string{"spawn_agent", `{"message": "task one"}`}, [2]string{"wait", `{"timeout_ms": 60000}`})
		}
		return callsOf([2]string{"resume_agent", `{"target": "` + id + `", "message": "task two"}`},
			[2]string{"wait", `{"timeout_ms": 60000}`})
	}}
	h := castHost(t, c)
	s := open(t, h, protocol.OpenOptions{})
	for _, e := range s.turn(input("start"), nil) {
		if e.Agent != "" {
			id = string(e.Agent)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, h, protocol.OpenOptions{Resume: string(s.ID())})
	all := s.turn(input("again"), nil)
	if end, _ := all[len(all)-1].Msg.(protocol.TurnCompleted); !strings.Contains(end.LastMessage, "I read 2 messages") {
		t.Errorf("the agent forgot: %s", end.LastMessage)
	}
	_ = s.Close()
	s = open(t, h, protocol.OpenOptions{})
	all = s.turn(input("again"), nil)
	if end, _ := all[len(all)-1].Msg.(protocol.TurnCompleted); !strings.Contains(end.LastMessage,
		"not a sub-agent of this session") {
		t.Errorf("another session took it: %s", end.LastMessage)
	}
	list, err := h.Sessions().List(context.Background(), protocol.Filter{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d sessions are listed, %v", len(list), err)
	}
}

func texts(r *model.Request) string {
	var b strings.Builder
	for _, it := range r.Items {
		b.WriteString(it.Text() + "\n")
	}
	return b.String()
}

// TestFiftySessionsInOneProcess: nobody gets an answer before everybody has asked, in
// every round. A session that waited for another one would stop them all.
func TestFiftySessionsInOneProcess(t *testing.T) {
	const sessions, rounds = 50, 4
	var mu sync.Mutex
	asked := map[int]int{}
	gates := make([]chan bool, rounds+1)
	for i := range gates {
		gates[i] = make(chan bool)
	}
	c := cast{func(ctx context.Context, _ bool, r *model.Request) []*model.Item {
		round := 0
		for _, it := range r.Items {
			if it.Kind == model.Output {
				round++
			}
		}
		mu.Lock()
		if asked[round]++; asked[round] == sessions {
			close(gates[round])
		}
		mu.Unlock()
		select {
		case <-gates[round]:
		case <-ctx.Done():
		}
		if round == rounds {
			return said("done")
		}
		return callsOf([2]string{"list_dir", `{}`})
	}}
	h := castHost(t, c)
	before := heap()
	var all []*live
	for range sessions {
		all = append(all, open(t, h, protocol.OpenOptions{Ephemeral: true}))
	}
	var turns sync.WaitGroup
	for _, s := range all {
		turns.Go(func() { s.turn(input("go"), nil) })
	}
	turns.Wait()
	for round := range rounds + 1 {
		if asked[round] != sessions {
			t.Errorf("in round %d %d sessions asked", round, asked[round])
		}
	}
	each := (heap() - before) / sessions
	t.Logf("%d KB a session", each>>10)
	if each > 3<<20 {
		t.Errorf("a session takes %d bytes", each)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + int64(m.StackInuse)
}

// BenchmarkFiftySessions measures a turn of two requests in each of fifty sessions at
// once.
func BenchmarkFiftySessions(b *testing.B) {
	const sessions = 50
	h := castHost(b, cast{func(_ context.Context, _ bool, r *model.Request) []*model.Item {
		if len(outputs(r)) == 0 {
			return callsOf([2]string{"list_dir", `{}`})
		}
		return said("done")
	}})
	before := heap()
	var all []*live
	for range sessions {
		all = append(all, open(b, h, protocol.OpenOptions{Ephemeral: true}))
	}
	for b.Loop() {
		var turns sync.WaitGroup
		for _, s := range all {
			turns.Go(func() { s.turn(input("go"), nil) })
		}
		turns.Wait()
	}
	b.ReportMetric(float64(heap()-before)/sessions/1024, "KB/session")
}
