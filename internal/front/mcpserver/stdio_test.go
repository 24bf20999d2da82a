package mcpserver

//lint:file-ignore SA1019 roots are deprecated from the newest revision on; older ones have them

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/protocol"
)

// TestAClientLearnsWhatIsServed: in every revision, the tools with what they may do, and who serves them.
func TestAClientLearnsWhatIsServed(t *testing.T) {
	for _, revision := range Revisions() {
		t.Run(revision, func(t *testing.T) {
			s := serve(t, revision, nil)
			is := s.client.InitializeResult()
			if is.ProtocolVersion != revision || is.Instructions != instructions || is.Capabilities.Tools == nil {
				t.Errorf("it is %+v", is)
			}
			list, err := s.client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range list.Tools {
				line := tool.Name
				if a := tool.Annotations; a != nil {
					line += fmt.Sprintf(" %v %v %v", a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint)
				}
				if tool.InputSchema == nil || tool.OutputSchema == nil || tool.Description == "" {
					t.Errorf("%s says little of itself: %+v", tool.Name, tool)
				}
				got = append(got, line)
			}
			slices.Sort(got)
			if d := cmp.Diff([]string{"change false true false", "kerf", "kerf-reply", "look true false false"}, got); d != "" {
				t.Errorf("tools (-want +got):\n%s", d)
			}
		})
	}
}

// TestTheAgentIsOfferedOnlyWhereThereAreSessions.
func TestTheAgentIsOfferedOnlyWhereThereAreSessions(t *testing.T) {
	a, b := mcp.NewInMemoryTransports()
	server := (&conn{o: Options{Engine: &engine{}}}).server()
	if _, err := server.Connect(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), b, &mcp.ClientSessionOptions{ProtocolVersion: connected})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestFileToolsAnswerAsTheEngineDoes, in every revision: its text, its object, its pictures, and whether it failed.
func TestFileToolsAnswerAsTheEngineDoes(t *testing.T) {
	for _, revision := range Revisions() {
		t.Run(revision, func(t *testing.T) {
			s := serve(t, revision, nil, rootA, "file://localhost/b/../c", "https://a/b", "file://elsewhere/d", "file:e", "%")
			s.engine.answer.Images = []string{"data:image/png;base64,QUJD", "data:image/png,ABC", "data:image/png;base64,%"}
			r := s.call("look", map[string]any{"at": 1})
			object, err := json.Marshal(r.StructuredContent)
			if err != nil || r.IsError || textOf(r) != "fine" || string(object) != `{"success":true}` || len(r.Content) != 2 {
				t.Errorf("%+v, %s, %v", r, object, err)
			}
			if img, ok := r.Content[1].(*mcp.ImageContent); !ok || img.MIMEType != "image/png" || string(img.Data) != "ABC" {
				t.Errorf("the picture is %+v", r.Content[1])
			}
			s.engine.answer = protocol.EngineAnswer{Text: "no", Object: json.RawMessage(`{"success":false}`), Failed: true}
			if r := s.call("change", nil); !r.IsError || textOf(r) != "no" {
				t.Errorf("a failure is %+v", r)
			}
			got := s.engine.all()
			roots := `["/a" "/c"]`
			if strings.Contains(got[0], `["/c" "/a"]`) { // the client keeps them in a map
				roots = `["/c" "/a"]`
			}
			if d := cmp.Diff([]string{"connect a client " + roots, `call look {"at":1}`, "call change {}"}, got); d != "" {
				t.Errorf("the engine was asked (-want +got):\n%s", d)
			}
			s.close()
			if d := cmp.Diff([]string{"close"}, s.engine.all()); d != "" {
				t.Errorf("at the end (-want +got):\n%s", d)
			}
		})
	}
}

// TestAnEngineThatDoesNotOpenIsAFailureOfTheCall, of the same shape as one of the tool, and the next call tries again.
func TestAnEngineThatDoesNotOpenIsAFailureOfTheCall(t *testing.T) {
	s := serve(t, connected, nil)
	s.engine.refuse = errTest
	r := s.call("look", nil)
	object, err := json.Marshal(r.StructuredContent)
	const want = `{"error":{"code":"CONNECTION","message":"it is broken"},"output":"","success":false,"warnings":[]}`
	if err != nil || !r.IsError || textOf(r) != "CONNECTION: it is broken" || string(object) != want {
		t.Errorf("%+v, %s, %v", r, object, err)
	}
}

// TestTheEngineFollowsTheClientsRoots: once for each time that it is told that they changed.
func TestTheEngineFollowsTheClientsRoots(t *testing.T) {
	s := serve(t, connected, nil, rootA)
	s.call("look", nil)
	s.conn.RemoveRoots(rootA)
	s.conn.AddRoots(&mcp.Root{URI: "file:///b"})
	var got []string
	eventually(t, "the new roots", func() bool {
		s.call("look", nil)
		got = append(got, s.engine.all()...)
		return slices.Contains(got, `roots ["/b"]`)
	})
	for range 3 {
		s.call("look", nil)
	}
	got = append(got, s.engine.all()...)
	moves := 0
	for _, line := range got[1:] {
		if moves += strings.Count(line, "roots"); line != "call look {}" && line != `roots ["/b"]` {
			t.Errorf("the engine was asked %q", line)
		}
	}
	if got[0] != `connect a client ["/a"]` || moves > 2 || got[len(got)-1] != "call look {}" { // two changes were told
		t.Errorf("the engine was asked %q", got)
	}
	s.engine.mu.Lock()
	s.engine.refuse = errTest
	s.engine.mu.Unlock()
	s.conn.AddRoots(&mcp.Root{URI: "file:///c"})
	eventually(t, "a refusal of the new roots", func() bool { return textOf(s.call("look", nil)) == "CONNECTION: it is broken" })
}

// TestAClientWithoutANameOrRootsIsServed.
func TestAClientWithoutANameOrRootsIsServed(t *testing.T) {
	for _, revision := range []string{connected, sessionless} {
		s := &served{t: t, engine: &engine{}}
		a, b := mcp.NewInMemoryTransports()
		o := Options{Engine: s.engine}
		if _, err := (&conn{o: o, visitors: newVisitors(o)}).server().Connect(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		client, err := mcp.NewClient(&mcp.Implementation{}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}).Connect(t.Context(), b,
			&mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		s.client = client
		s.call("look", nil)
		if d := cmp.Diff([]string{"connect mcp []", "call look {}"}, s.engine.all()); d != "" {
			t.Errorf("%s (-want +got):\n%s", revision, d)
		}
		_ = client.Close()
	}
}

// TestASessionIsOpenedAsTheCallSays, over what the user configured; nobody is asked where the client asks nobody.
func TestASessionIsOpenedAsTheCallSays(t *testing.T) {
	asks := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}
	for _, revision := range []string{connected, sessionless} {
		for _, o := range []*mcp.ClientOptions{nil, asks} {
			s := serve(t, revision, o)
			if got := s.agent("kerf", map[string]any{"prompt": "hello"}); got != "s1: you said hello" {
				t.Errorf("it said %q", got)
			}
			want := protocol.OpenOptions{AddDirs: []string{"/more"}, Source: "mcp", Headless: o == nil,
				Settings: protocol.Settings{Model: "m", Cwd: "/w", Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyUntrusted}}
			if d := cmp.Diff(want, s.sessions.last()); d != "" {
				t.Errorf("as configured (-want +got):\n%s", d)
			}
			s.agent("kerf", map[string]any{"prompt": "hello", "cwd": "/v", "model": "n", "sandbox": "workspace-write", "approval-policy": "plan"})
			want.Settings = protocol.Settings{Model: "n", Cwd: "/v", Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyPlan}
			if d := cmp.Diff(want, s.sessions.last()); d != "" {
				t.Errorf("as the call says (-want +got):\n%s", d)
			}
		}
	}
}

// TestCallsThatBeginNoTurn say why, and open nothing.
func TestCallsThatBeginNoTurn(t *testing.T) {
	for _, revision := range []string{connected, sessionless} {
		s := serve(t, revision, nil)
		for _, tt := range []struct {
			tool string
			args map[string]any
			want string
		}{
			{"kerf", map[string]any{"prompt": " \n"}, "! INVALID_ARGUMENTS: prompt is empty; say what the agent should do"},
			{"kerf", map[string]any{"prompt": 7}, "! INVALID_ARGUMENTS: json: cannot unmarshal number"},
			{"kerf-reply", map[string]any{"threadId": "s1", "prompt": ""}, "s1! INVALID_ARGUMENTS: threadId and prompt are needed"},
			{"kerf-reply", map[string]any{"prompt": "x"}, "! INVALID_ARGUMENTS: threadId and prompt are needed"},
			{"kerf-reply", map[string]any{"threadId": 7}, "! INVALID_ARGUMENTS: json: cannot unmarshal number"},
		} {
			if got := s.agent(tt.tool, tt.args); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s %v: %s", tt.tool, tt.args, got)
			}
		}
		if n := s.sessions.count(); n != 0 {
			t.Errorf("%d sessions were opened", n)
		}
		s.sessions.refuse = errTest
		if got := s.agent("kerf", map[string]any{"prompt": "x"}); got != "! the agent could not be started: it is broken" {
			t.Error(got)
		}
		if got := s.agent("kerf-reply", map[string]any{"threadId": "old", "prompt": "x"}); got != "old! the session could not be opened: it is broken" {
			t.Error(got)
		}
	}
}

// TestASessionGoesOnWhereItIsOpen; one that is not is opened again by its id. Of many sessions the oldest are closed.
func TestASessionGoesOnWhereItIsOpen(t *testing.T) {
	for _, revision := range []string{connected, sessionless} {
		s := serve(t, revision, nil)
		for n := range threadLimit + 1 {
			want := fmt.Sprintf("s%d: you said hello", n+1)
			if got := s.agent("kerf", map[string]any{"prompt": "hello"}); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		<-s.sessions.session(1).closed
		if got := s.agent("kerf-reply", map[string]any{"threadId": "s5", "prompt": "go on"}); got != "s5: you said go on" || s.sessions.count() != 5 {
			t.Errorf("%q, of %d sessions", got, s.sessions.count())
		}
		if got := s.agent("kerf-reply", map[string]any{"threadId": "s1", "prompt": "go on"}); got != "s6: you said go on" {
			t.Error(got)
		}
		if o := s.sessions.last(); o.Resume != "s1" || o.Source != "mcp" || !o.Headless || o.Settings.Cwd != "/w" {
			t.Errorf("opened %+v", o)
		}
		s.close()
		for n := range 6 {
			<-s.sessions.session(n + 1).closed
		}
	}
}

// TestEachEndOfATurnIsTold.
func TestEachEndOfATurnIsTold(t *testing.T) {
	for _, revision := range []string{connected, sessionless} {
		for want, play := range map[string]func(*session) error{
			"s1: all is done": func(s *session) error {
				s.tellOf("agent", protocol.TurnCompleted{LastMessage: "the part of a sub-agent"})
				s.tell(protocol.TurnCompleted{LastMessage: "all is done"}, protocol.TurnFailed{Error: protocol.Trouble{Message: "late"}})
				return nil
			},
			"s1! no key\nrun kerf login": func(s *session) error {
				s.tell(protocol.TurnFailed{Error: protocol.Trouble{Message: "no key", Hint: "run kerf login"}})
				return nil
			},
			"s1! no key": func(s *session) error {
				s.tell(protocol.TurnFailed{Error: protocol.Trouble{Message: "no key"}})
				return nil
			},
			"s1! the turn was interrupted":                func(s *session) error { s.tell(protocol.TurnAborted{Reason: "interrupted"}); return nil },
			"s1! the session ended":                       func(s *session) error { s.end(); return nil },
			"s1! the session took no input: it is broken": func(*session) error { return errTest },
		} {
			s := serve(t, revision, nil)
			s.sessions.play = func(s *session, _ protocol.Op) error { return play(s) }
			if got := s.agent("kerf", map[string]any{"prompt": "x"}); got != want {
				t.Errorf("%s: %q, want %q", revision, got, want)
			}
			if want != "s1! the session ended" { // the next turn may begin
				s.sessions.play = say
				if got := s.agent("kerf-reply", map[string]any{"threadId": "s1", "prompt": "again"}); got != "s1: you said again" {
					t.Errorf("%s, after %q: %q", revision, want, got)
				}
			}
		}
	}
}

// TestACallThatIsCancelledInterruptsItsTurn, also one that waits for an answer.
func TestACallThatIsCancelledInterruptsItsTurn(t *testing.T) {
	for _, revision := range []string{connected, sessionless} {
		s := serve(t, revision, nil)
		s.sessions.play = func(s *session, op protocol.Op) error {
			if _, ok := op.(protocol.Interrupt); ok {
				s.tell(protocol.TurnAborted{Reason: "interrupted"})
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: "kerf", Arguments: map[string]any{"prompt": "x"}})
			ended <- err
		}()
		eventually(t, "a turn", func() bool { return s.sessions.count() == 1 && len(s.sessions.session(1).took()) == 1 })
		cancel()
		if err := <-ended; err == nil {
			t.Error("the call ended well")
		}
		one := s.sessions.session(1)
		eventually(t, "an interrupt", func() bool { return len(one.took()) == 2 })
		if _, ok := one.took()[1].(protocol.Interrupt); !ok {
			t.Errorf("the session took %+v", one.took())
		}
		eventually(t, "the next turn", func() bool {
			s.sessions.play = say
			return s.agent("kerf-reply", map[string]any{"threadId": "s1", "prompt": "again"}) == "s1: you said again"
		})
	}
}

// TestProgressTellsWhatWasDone, in a line for each item, to clients that want to know.
func TestProgressTellsWhatWasDone(t *testing.T) {
	heard := make(chan string, 10)
	s := serve(t, connected, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		heard <- fmt.Sprintf("%v %v %s", r.Params.ProgressToken, r.Params.Progress, r.Params.Message)
	}})
	s.sessions.play = func(s *session, _ protocol.Op) error {
		for _, b := range []protocol.Body{protocol.Command{Command: "make\nall"}, protocol.FileChange{Changes: []protocol.PathChange{{Path: "/a"}, {Path: "/b"}}},
			protocol.AgentMessage{Text: strings.Repeat("x", 300)}, protocol.ToolCall{Tool: "grep"}, protocol.TodoList{}} {
			s.tellOf("", protocol.ItemCompleted{Item: protocol.Item{Body: b}})
			s.tellOf("agent", protocol.ItemCompleted{Item: protocol.Item{Body: protocol.AgentMessage{Text: "of a sub-agent"}}})
		}
		s.tell(protocol.TurnCompleted{LastMessage: "done"})
		return nil
	}
	p := &mcp.CallToolParams{Name: "kerf", Arguments: map[string]any{"prompt": "x"}}
	if _, err := s.client.CallTool(t.Context(), p); err != nil || len(heard) > 0 {
		t.Errorf("told %d times unasked, %v", len(heard), err)
	}
	p.SetProgressToken("token")
	if _, err := s.client.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 5 {
		got = append(got, <-heard)
	}
	if !strings.HasPrefix(got[2], "token 3 xxx") || len(got[2]) > len("token 3 ")+210 {
		t.Errorf("a long text is told as %q", got[2])
	}
	got[2] = ""
	if d := cmp.Diff([]string{"token 1 ran make all", "token 2 changed /a, /b", "", "token 4 called grep", "token 5 "}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// questions are one of each kind, with what a user must see of it.
var questions = map[string]protocol.Approval{
	"Run this command in /w?\n\n> make\n\nIt would run outside the sandbox.\n\nAlways would allow all of make.\n\nKerf asks because:\n> it may harm\n\nModel says:\n> please\n": {
		Reason: "it may harm", Says: "please", Command: &protocol.CommandApproval{Command: "make", Cwd: "/w", Unsandboxed: true, Covers: "all of make"}},
	"Make this change?\n\n> -a\n> +b\n": {Change: &protocol.ChangeApproval{Diff: "-a\n+b\n"}},
	"Call t of the MCP server s with these arguments?\n\n> {}\n\nThe tool changed since it was last allowed:\n\n> -x\n": {
		Tool: &protocol.ToolApproval{Server: "s", Tool: "t", Args: "{}", Changed: "-x\n"}},
	"May this command reach h:80?\n\n> curl h\n": {Network: &protocol.NetworkApproval{Host: "h", Port: 80, Command: "curl h"}},
	"A question:\n\n\nIt asks you to visit http://a\nMCP server s says:\n> Which?\n": {Question: &protocol.Question{Server: "s", Message: "Which?",
		URL: "http://a", Schema: json.RawMessage(`{"type":"object","properties":{"which":{"type":"string"}}}`)}},
}

// TestQuestionsAreAnsweredByTheClientsUser: the whole question is shown, and only what she accepts is done.
func TestQuestionsAreAnsweredByTheClientsUser(t *testing.T) {
	type reply struct {
		action  string
		content map[string]any
		want    protocol.Answer
	}
	decided := func(d string) map[string]any { return map[string]any{"decision": d} }
	replies := []reply{
		{"accept", decided("approve"), protocol.Answer{Decision: protocol.Once}},
		{"accept", decided("approve_for_session"), protocol.Answer{Decision: protocol.ForSession}},
		{"accept", decided("deny"), protocol.Answer{Decision: protocol.Deny}},
		{"accept", decided("abort"), protocol.Answer{Decision: protocol.Abort}},
		{"accept", nil, protocol.Answer{Decision: protocol.Once}},
		{"accept", map[string]any{"which": "this"}, protocol.Answer{Decision: protocol.Once}},
		{"decline", nil, protocol.Answer{Decision: protocol.Deny, Words: "the user declined"}},
		{"cancel", nil, protocol.Answer{Decision: protocol.Deny, Words: "the user declined"}},
	}
	for _, revision := range []string{connected, sessionless} {
		for shown, a := range questions {
			for _, r := range replies {
				if r.content["decision"] != nil && a.Question != nil || r.content["which"] != nil && a.Question == nil {
					continue // an answer to another form
				}
				var seen string
				s := serve(t, revision, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					seen = q.Params.Message
					return &mcp.ElicitResult{Action: r.action, Content: maps.Clone(r.content)}, nil
				}})
				a.ID = "q"
				s.sessions.play = func(s *session, op protocol.Op) error {
					if _, ok := op.(protocol.UserInput); ok {
						s.tellOf("agent", protocol.ApprovalRequested{Approval: a}) // of a sub-agent, which nobody else answers
					} else {
						s.tell(protocol.TurnCompleted{LastMessage: "answered"})
					}
					return nil
				}
				if got := s.agent("kerf", map[string]any{"prompt": "x"}); got != "s1: answered" {
					t.Errorf("%q", got)
				}
				if d := cmp.Diff(shown, seen); d != "" {
					t.Errorf("%s: shown (-want +got):\n%s", revision, d)
				}
				want := r.want
				want.Approval = "q"
				if a.Question != nil && r.action == "accept" {
					want.Content = json.RawMessage(`{}`)
					if r.content != nil {
						want.Content = json.RawMessage(`{"which":"this"}`)
					}
				}
				if d := cmp.Diff([]protocol.Op{want}, s.sessions.session(1).took()[1:]); d != "" {
					t.Errorf("%s, %s %v (-want +got):\n%s", revision, r.action, r.content, d)
				}
				s.close()
			}
		}
	}
}

// TestAQuestionThatCannotBeShownIsANo.
func TestAQuestionThatCannotBeShownIsANo(t *testing.T) {
	s := serve(t, connected, nil)
	s.sessions.play = func(s *session, op protocol.Op) error {
		if a, ok := op.(protocol.Answer); ok {
			s.tell(protocol.TurnCompleted{LastMessage: string(a.Decision) + " " + a.Words})
		} else {
			s.tell(protocol.ApprovalRequested{Approval: protocol.Approval{ID: "q", Command: &protocol.CommandApproval{Command: "make"}}})
		}
		return nil
	}
	if got := s.agent("kerf", map[string]any{"prompt": "x"}); !strings.HasPrefix(got, "s1: deny the question could not be shown to the user: ") {
		t.Error(got)
	}
	if d := accepted(map[string]any{"decision": "whatever"}); d != protocol.Deny {
		t.Errorf("a decision that there is not is %s", d)
	}
}
