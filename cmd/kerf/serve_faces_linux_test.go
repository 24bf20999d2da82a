package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	live "kerf/internal/front/serve/client"
	"kerf/internal/front/serve/endpoint"
	"kerf/internal/front/serve/message"
	"kerf/internal/protocol"
	"kerf/internal/testkit/modeltest"
)

// living is `kerf serve` as a process of its own.
type living struct {
	*bench
	live.Client
	pid  int
	here endpoint.Endpoint
}

// startServe starts it with a model, in a home with a short path.
func startServe(t *testing.T, rounds ...modeltest.Round) *living {
	t.Helper()
	b := newBench(t, rounds...)
	home, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	write(t, filepath.Join(home, "config.toml"), fmt.Sprintf("model = \"m\"\nmodel_provider = \"mock\"\n"+
		"approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\n[model_providers.mock]\nname = \"mock\"\n"+
		"wire_api = \"responses\"\nbase_url = %q\n", b.server.URL))
	cmd := exec.Command(b.kerf, "serve")
	cmd.Env = append(os.Environ(), "KERF_HOME="+home)
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(says).ReadString('\n'); !strings.Contains(line, "serving as process") {
		t.Fatalf("%q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, says) }()
	l := &living{bench: b, Client: live.Client{Home: home}, pid: cmd.Process.Pid}
	t.Cleanup(func() {
		if err := l.Stop(context.Background()); err != nil {
			t.Error(err)
			_ = cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if l.here, err = endpoint.Find(home); err != nil {
		t.Fatal(err)
	}
	return l
}

// resident is the memory of a process and its peak, in KiB.
func resident(t *testing.T, pid int) (now, peak int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 {
			switch n, _ := strconv.Atoi(f[1]); f[0] {
			case "VmRSS:":
				now = n
			case "VmHWM:":
				peak = n
			}
		}
	}
	return now, peak
}

// share is what a process takes of memory where what several share is divided between them, in
// KiB. A process that is gone takes nothing.
func share(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// begin opens a session in a repository of its own.
func (l *living) begin() protocol.Session {
	l.t.Helper()
	dir := l.t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		l.t.Fatalf("git init: %v: %s", err, out)
	}
	s, err := l.Open(l.t.Context(), protocol.OpenOptions{Settings: protocol.Settings{Cwd: dir}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = s.Close() })
	return s
}

// follow takes the events of s up to the end of a turn with the message last. Their numbers
// must rise.
func follow(t *testing.T, s protocol.Session, after uint64, last string) []protocol.Event {
	t.Helper()
	var all []protocol.Event
	for e := range s.Events() {
		if e.Seq <= after {
			t.Errorf("event %d follows event %d", e.Seq, after)
		}
		after, all = e.Seq, append(all, e)
		switch m := e.Msg.(type) {
		case protocol.TurnCompleted:
			if m.LastMessage == last {
				return all
			}
			t.Errorf("a turn ends with %.40q, not %.40q", m.LastMessage, last)
			return all
		case protocol.TurnFailed, protocol.TurnAborted, protocol.SessionEnded:
			t.Errorf("%T: %+v", m, m)
			return all
		}
	}
	t.Error("the events ended")
	return all
}

func ask(t *testing.T, s protocol.Session, text string) {
	err := s.Submit(context.Background(), protocol.Submission{Op: protocol.UserInput{Items: []protocol.Input{{Text: text}}}})
	if err != nil {
		t.Error(err)
	}
}

// TestServeKeepsManySessions lets sessions of one server work at the same time, each with
// two front ends, and tells what a session takes. KERF_SERVE_SESSIONS says how many; the
// figures of doc/serve.md are of 50.
func TestServeKeepsManySessions(t *testing.T) {
	many, turns := 8, 3
	if n, err := strconv.Atoi(os.Getenv("KERF_SERVE_SESSIONS")); err == nil {
		many = n
	}
	task := func(i, k int) string { return fmt.Sprintf("task %d.%d;", i, k) }
	var rounds []modeltest.Round
	for i := range many {
		for k := range turns {
			for _, r := range []modeltest.Round{
				modeltest.Answer(modeltest.Call("write_file", map[string]any{"file_path": fmt.Sprint("made", k),
					"content": strings.Repeat("made\n", 200)})),
				modeltest.Answer(modeltest.Call("exec_command", map[string]any{"cmd": "seq 2000"})),
				modeltest.Answer(modeltest.Message("done: " + task(i, k))),
			} {
				r.For = []string{task(i, k)}
				rounds = append(rounds, r)
			}
		}
	}
	l := startServe(t, rounds...)
	empty, _ := resident(t, l.pid)
	sessions := make([]protocol.Session, many)
	begun := time.Now()
	for i := range sessions {
		sessions[i] = l.begin()
	}
	opening := time.Since(begun)
	opened, _ := resident(t, l.pid)
	begun = time.Now()
	var wg sync.WaitGroup
	for i, s := range sessions {
		second, err := l.Attach(t.Context(), s.ID(), 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = second.Close() })
		var after [2]uint64
		wg.Go(func() {
			for k := range turns {
				ask(t, s, task(i, k))
				var seen [2][]protocol.Event
				for n, face := range []protocol.Session{s, second} {
					seen[n] = follow(t, face, after[n], "done: "+task(i, k))
					after[n] = seen[n][len(seen[n])-1].Seq
				}
				if after[0] != after[1] {
					t.Errorf("session %d: one front end stands at %d, the other at %d", i, after[0], after[1])
				}
			}
		})
	}
	wg.Wait()
	worked, peak := resident(t, l.pid)
	helpers, count := 0, 0
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", l.pid))
	for _, task := range tasks {
		pids, _ := os.ReadFile(task) // a thread may be gone
		for pid := range strings.FieldsSeq(string(pids)) {
			if n, err := strconv.Atoi(pid); err == nil {
				helpers, count = helpers+share(n), count+1
			}
		}
	}
	list, err := l.List(t.Context())
	if err != nil || len(list) != many {
		t.Errorf("%d sessions are listed, %v", len(list), err)
	}
	for _, s := range list {
		if s.State != "idle" || s.Faces != 2 {
			t.Errorf("%+v", s)
		}
	}
	each := func(kib int) float64 { return float64(kib) / 1024 / float64(many) }
	t.Logf("%d sessions, opened in %v, %d turns each in %v; MiB: server %.1f, opened %.1f, worked %.1f, peak %.1f; "+
		"of a session %.2f opened, %.2f worked; %d helpers, %.1f in all of their own", many, opening, turns,
		time.Since(begun), float64(empty)/1024, float64(opened)/1024, float64(worked)/1024, float64(peak)/1024,
		each(opened-empty), each(worked-empty), count, float64(helpers)/1024)
	if n := each(worked - empty); n > 8 {
		t.Errorf("a session takes %.1f MiB", n)
	}
}

// raw is a connection that said hello and sends lines.
func (l *living) raw(lines ...string) net.Conn {
	l.t.Helper()
	c, err := net.Dial("unix", l.here.Socket)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"version":%d,"token":%q}}`, message.Hello,
		message.Version, l.here.Token)
	for _, line := range append([]string{hello + "\n"}, lines...) {
		if _, err := io.WriteString(c, line); err != nil {
			l.t.Fatal(err)
		}
	}
	return c
}

// TestServeBearsBadFaces: front ends that take nothing, that stop in the middle of a message,
// that die there, and that ask without end beside one that works. It sees everything, in
// order, another session goes on, and what the bad ones take of memory is bounded by what
// the server keeps of a session.
func TestServeBearsBadFaces(t *testing.T) {
	const turns, size, bad = 5, 100 << 10, 4
	long := func(i, k int) string { return fmt.Sprintf("%d.%d ", i, k) + strings.Repeat("x", size) }
	var rounds []modeltest.Round
	for i := range 4 {
		for k := range turns {
			r := modeltest.Answer(modeltest.Message(long(i, k)))
			r.For = []string{fmt.Sprintf("long %d.%d;", i, k)}
			rounds = append(rounds, r)
		}
	}
	l := startServe(t, rounds...)
	play := func(i int, s protocol.Session) {
		for k := range turns {
			ask(t, s, fmt.Sprintf("long %d.%d;", i, k))
			follow(t, s, 0, long(i, k))
		}
	}
	play(0, l.begin())
	play(1, l.begin())
	_, before := resident(t, l.pid)

	s := l.begin()
	attach := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{"session":%q,"since":1}}`+"\n", message.Attach, s.ID())
	submit := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"session":%q,"op":{"type":"user_input",`+
		`"items":[{"text":"`, message.Submit, s.ID())
	var floods sync.WaitGroup
	for range bad {
		l.raw(attach)                                                  // takes nothing
		l.raw(attach, submit+strings.Repeat("half ", 50_000))          // stops
		_ = l.raw(attach, submit+`and a whole text","queue":`).Close() // dies before the end of its message
		asks := l.raw(attach)
		floods.Go(func() { // until it is closed
			for {
				if _, err := fmt.Fprintf(asks, `{"jsonrpc":"2.0","id":3,"method":%q}`+"\n", message.Sessions); err != nil {
					return
				}
			}
		})
		defer floods.Wait()
		defer asks.Close()
	}
	play(2, s)
	play(3, l.begin())

	_, after := resident(t, l.pid)
	t.Logf("peak %d MiB, and with bad faces %d", before/1024, after/1024)
	if grown, limit := (after-before)/1024, 4*bad*4; grown > limit {
		t.Errorf("the bad faces take %d MiB, more than %d", grown, limit)
	}
	for k, req := range l.server.Requests() {
		text, err := json.Marshal(req.Messages("user"))
		if err != nil || strings.Contains(string(text), "half ") || strings.Contains(string(text), "and a whole text") {
			t.Errorf("request %d has a text that was never sent whole: %v", k, err)
		}
	}
}
