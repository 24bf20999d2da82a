package executor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/executor/unrecorded"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/ledger"
	"kerf/internal/work/mcpclient"
	"kerf/internal/work/workspace"
)

// TestAProposalOfNobodyIsLost: nothing is done for a proposal that this executor did not make.
func TestAProposalOfNobodyIsLost(t *testing.T) {
	b := newBench(t, nil)
	in, ok := b.Run(t.Context(), turn.Run{Call: "c", Proposal: nil}, b.live()).(turn.Finished)
	if !ok || in.Call != "c" || in.Outcome.Text != "the call was lost" || in.Outcome.Success {
		t.Errorf("%+v", in)
	}
}

// TestAMovedExecutorKnowsWhatWasSeen, and goes on with the versions that were told.
func TestAMovedExecutorKnowsWhatWasSeen(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\ntwo\n")
	b.call("read_file", map[string]any{"file_path": "f"})
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "1"}), true, `"newVersion":2`)
	b.call("read_file", map[string]any{"file_path": "f"})
	moved := *b
	moved.Executor = b.Move(b.o)
	t.Cleanup(moved.Close)
	b.write("f", "zero\n1\ntwo\n")
	moved.want(moved.call("edit_file", map[string]any{"file_path": "f", "old_string": "two", "new_string": "2"}), true, `"newVersion":4`,
		"The file had changed since you last saw it")
}

// TestCloseEndsWhatStillRuns.
func TestCloseEndsWhatStillRuns(t *testing.T) {
	b := newBench(t, nil)
	ended := make(chan int, 1)
	b.OnEnd(func(id int) { ended <- id })
	on := b.call("exec_command", map[string]any{"cmd": "sleep 1000", "yield_time_ms": 250})
	process := on.Body.(protocol.Command).Process
	if running, _ := b.Processes(); len(running) != 1 || running[0].ID != process {
		t.Fatalf("%+v runs", running)
	}
	b.Close()
	if id := <-ended; id != process {
		t.Errorf("%d ended, not %d", id, process)
	}
}

// TestNoSiblingIsAStranger: what one sub-agent, or the parent, wrote is nobody's from outside for a command of another one.
func TestNoSiblingIsAStranger(t *testing.T) {
	b := newBench(t, nil)
	b.Gather(t.Context(), turn.Gather{Turn: "t1"}, nil)
	var family []*bench
	for _, name := range []string{"one", "two"} {
		ws, err := workspace.Open(workspace.Options{Home: filepath.Join(filepath.Dir(b.dir), "home"), Roots: []string{b.dir}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ws.Close() })
		o := b.o
		o.Parent, o.Origin.Session, o.Origin.Client = b.Executor, name, name
		o.Tree, o.Work, o.Scanner = ws.Tree, ws.Txn, ws.Scanner
		child := *b
		child.Executor = New(o)
		t.Cleanup(child.Close)
		family = append(family, &child)
	}
	family = append(family, b)
	for _, k := range family { // each has looked around once
		k.want(k.call("exec_command", map[string]any{"cmd": "true > /dev/null; echo"}), true)
	}
	for n, k := range family {
		name := string(rune('a' + n))
		k.want(k.call("write_file", map[string]any{"file_path": name, "content": "x\n"}), true)
		for m, other := range family {
			o := other.call("exec_command", map[string]any{"cmd": "touch " + name + string(rune('0'+m))})
			if len(o.Changes) != 1 || filepath.Base(string(o.Changes[0].Path)) != name+string(rune('0'+m)) || o.Changes[0].Cause != ledger.CauseCommand {
				t.Errorf("%d wrote %s, a command of %d changed %+v", n, name, m, o.Changes)
			}
		}
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || in.Diff.Files != 12 || in.Diff.Outside != "" {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}

// TestServersAreToldWhoCallsThem, and what a message names of theirs is read for the model.
func TestServersAreToldWhoCallsThem(t *testing.T) {
	version := make(chan string, 1)
	s := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "db", Version: "1"}, nil)
	s.AddResource(&mcpsdk.Resource{URI: "db:users", Name: "users"}, func(_ context.Context, r *mcpsdk.ReadResourceRequest) (*mcpsdk.ReadResourceResult, error) {
		version <- r.Session.InitializeParams().ClientInfo.Version
		return &mcpsdk.ReadResourceResult{Contents: []*mcpsdk.ResourceContents{{URI: "db:users", Text: "ada, grace"}}}, nil
	})
	srv := httptest.NewServer(mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return s }, nil))
	t.Cleanup(srv.Close)
	b := newBench(t, nil)
	b.Serve(mcp.Options{Servers: []mcpclient.Server{{Name: "db", URL: srv.URL, StartupTimeout: time.Minute, ToolTimeout: time.Minute}}},
		mcp.Front{Ask: b.live().Ask, Tell: func(protocol.Msg) {}})
	if err := b.Settled(t.Context(), []string{"db"}); err != nil {
		t.Fatal(err)
	}
	in := b.Gather(t.Context(), turn.Gather{Turn: "t1", Input: []protocol.Input{{Text: "who is in @db:db:users?"}}}, nil)
	if len(in.Notices) != 1 || !strings.Contains(in.Notices[0].Text(), "ada, grace") || len(in.Warnings) > 0 {
		t.Errorf("told %+v, warned %q", in.Notices, in.Warnings)
	}
	if got := <-version; got != Version {
		t.Errorf("it was told the version %q", got)
	}
}

// TestWhatCannotBeRecordedIsNotDone, and what is told says so.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	b := newBenchIn(t, func(o *Options, ws *workspace.Workspace) {
		full := filepath.Join(ws.Tree.Roots()[0], "full")
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ws.Room.Watch(filepath.Join(full, "d")) // no directory can be there
		o.Unrecorded = &unrecorded.Guard{Room: ws.Room}
	})
	for name, args := range map[string]map[string]any{"write_file": {"file_path": "f", "content": "x\n"}, "exec_command": {"cmd": "touch f"}} {
		if o := b.call(name, args); o.Success || !strings.Contains(o.Text, "Do not try again: tell the user") || b.text("f") != "(none)" {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if in := b.Settle(t.Context(), turn.Settle{Turn: "t1"}); in.Unrecorded == "" {
		t.Errorf("settled as %+v", in)
	}
}

// TestAnUndoThatNobodyCanBeAskedAboutLeavesWhatNobodySaw.
func TestAnUndoThatNobodyCanBeAskedAboutLeavesWhatNobodySaw(t *testing.T) {
	b := newBench(t, nil)
	b.want(b.call("exec_command", map[string]any{"cmd": "echo one > f"}), true)
	asked := 0
	ask := func(_ context.Context, a protocol.Approval) turn.Reply {
		asked++
		return turn.Reply{Answer: protocol.Answer{Decision: protocol.Once}}
	}
	if u := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{Turn: "t1"}}, nil); b.text("f") != "one\n" || !strings.Contains(u.Report.Problem, "nobody saw who changed") {
		t.Errorf("%+v", u.Report)
	}
	if u := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{Turn: "t1"}}, ask); b.text("f") != "(none)" || asked != 1 || u.Report.Problem != "" {
		t.Errorf("asked %d times: %+v", asked, u.Report)
	}
}

// TestServersAreLent to another executor, whose end is not theirs.
func TestServersAreLent(t *testing.T) {
	url, _ := server(t)
	b := newBench(t, nil)
	b.Serve(mcp.Options{Servers: []mcpclient.Server{{Name: "db", URL: url, StartupTimeout: time.Minute, ToolTimeout: time.Minute}}},
		mcp.Front{Ask: b.live().Ask, Tell: func(protocol.Msg) {}})
	if err := b.Settled(t.Context(), []string{"db"}); err != nil {
		t.Fatal(err)
	}
	o := b.o
	o.Lender = b.Executor
	other := *b
	other.Executor = New(o)
	other.set.Approval, other.ask = protocol.PolicyOnRequest, allow(protocol.Once)
	other.want(other.call("mcp__db__drop", map[string]any{"table": "users"}), true, "dropped")
	other.Close()
	b.set.Approval, b.ask = protocol.PolicyOnRequest, allow(protocol.Once)
	b.want(b.call("mcp__db__drop", map[string]any{"table": "users"}), true, "dropped")
}
