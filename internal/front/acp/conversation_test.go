package acp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

func code(err error) int {
	var e *sdk.RequestError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// TestWhatTheEditorLearns: what Kerf can do, which models and modes there are, and where a session works.
func TestWhatTheEditorLearns(t *testing.T) {
	e := newEditor(t, nil)
	r, err := e.conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "/w", AdditionalDirectories: []string{"/x"},
		McpServers: []sdk.McpServer{
			{Stdio: &sdk.McpServerStdio{Name: "a", Command: "run", Args: []string{"it"}, Env: []sdk.EnvVariable{{Name: "K", Value: "v"}}}},
			{Http: &sdk.McpServerHttpInline{Type: "http", Name: "b", Url: "http://b", Headers: []sdk.HttpHeader{{Name: "H", Value: "h"}}}},
			{Sse: &sdk.McpServerSseInline{Type: "sse", Name: "c", Url: "http://c", Headers: []sdk.HttpHeader{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.SessionId != "new" || r.Modes.CurrentModeId != modeAsk || len(r.Modes.AvailableModes) != 4 || r.Models.CurrentModelId != "m" ||
		len(r.Models.AvailableModels) != 2 {
		t.Errorf("%+v, %+v, %+v", r, r.Modes, r.Models)
	}
	o := (<-e.opened).o
	want := []protocol.MCPServer{{Name: "a", Command: "run", Args: []string{"it"}, Env: map[string]string{"K": "v"}},
		{Name: "b", URL: "http://b", Headers: map[string]string{"H": "h"}}, {Name: "c", URL: "http://c", Headers: map[string]string{}}}
	if !reflect.DeepEqual(o.MCP, want) || !slices.Equal(o.AddDirs, []string{"/more", "/x"}) || o.Settings.Cwd != "/w" ||
		o.Settings.Edits != protocol.EditsAsk || o.Source != "acp" || o.Client.Name != "an editor" || !o.Client.Texts {
		t.Errorf("opened %+v", o)
	}
	e.hears("available_commands_update", "compact", "undo", "review")
	list, err := e.conn.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: sdk.Ptr("/w")})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != "old" || *list.Sessions[0].UpdatedAt != "1970-01-01T00:00:00Z" {
		t.Errorf("%+v, %v", list, err)
	}
	for what, err := range map[string]error{
		"a cursor of its own":     errOf(e.conn.ListSessions(t.Context(), sdk.ListSessionsRequest{Cursor: sdk.Ptr("1")})),
		"a place in no directory": errOf(e.conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "w", McpServers: []sdk.McpServer{}})),
		"an option":               errOf(e.conn.SetSessionConfigOption(t.Context(), sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{SessionId: "new", ConfigId: "x", Value: "y"}})),
		"a mode":                  errOf(e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: "new", ModeId: "wild"})),
	} {
		if code(err) != codeInvalidParams {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"prompt": errOf(e.conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: "none", Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}})),
		"mode":   errOf(e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: "none", ModeId: modeAsk})),
		"model":  errOf(e.conn.UnstableSetSessionModel(t.Context(), sdk.UnstableSetSessionModelRequest{SessionId: "none", ModelId: "n"})),
		"load":   errOf(e.conn.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: "gone", Cwd: "/w", McpServers: []sdk.McpServer{}})),
	} {
		if code(err) != codeNotFound {
			t.Errorf("%s of a session that there is not: %v", what, err)
		}
	}
}

func errOf(_ any, err error) error { return err }

// TestSigningIn: Kerf takes no key from editors; it looks whether there is one by now.
func TestSigningIn(t *testing.T) {
	missing := &protocol.CredentialsError{Provider: "p", Err: errors.New("no key for p")}
	var have error = missing
	e := newEditor(t, func(o *Options) { o.Check = func() error { return have } })
	_, err := e.conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: "kerf-login"})
	if code(err) != codeAuthRequired || !strings.Contains(err.Error(), "no key for p") {
		t.Errorf("without a key: %v", err)
	}
	have = nil
	if _, err := e.conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: "kerf-login"}); err != nil {
		t.Errorf("with a key: %v", err)
	}
	if _, err := e.conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: "other"}); code(err) != codeInvalidParams {
		t.Errorf("another way: %v", err)
	}
	for err, want := range map[error]int{missing: codeAuthRequired, protocol.ErrInUse: codeInvalidParams,
		protocol.ErrNoSession: codeNotFound, errors.New("other"): codeInternal} {
		e.refuse = fmt.Errorf("open: %w", err)
		if _, err := e.conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "/w", McpServers: []sdk.McpServer{}}); code(err) != want {
			t.Errorf("%v: %v", e.refuse, err)
		}
	}
}

func item(id string, status protocol.Status, body protocol.Body) protocol.Item {
	return protocol.Item{ID: protocol.ItemID(id), Status: status, Body: body}
}

// TestATurnIsShown: what the model says and thinks as it comes, its plan, its calls with their ends, what
// it used, and what an undo would take back.
func TestATurnIsShown(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	sub, over := e.prompt(p, sdk.TextBlock("mend it\nplease"))
	in, ok := sub.Op.(protocol.UserInput)
	if !ok || !in.Queue || len(in.Items) != 1 || in.Items[0].Text != "mend it\nplease" {
		t.Fatalf("submitted %+v", sub)
	}
	e.hears("session_info_update", `"mend it"`)
	exit := 3
	p.tell(sub.ID, protocol.TurnStarted{},
		protocol.ItemCompleted{Item: item("u", protocol.Completed, protocol.UserMessage{Input: in.Items})},
		protocol.ItemStarted{Item: item("r", protocol.InProgress, protocol.Reasoning{})}, protocol.ItemDelta{Item: "r", Text: "let me think"},
		protocol.ItemCompleted{Item: item("r", protocol.Completed, protocol.Reasoning{Text: "let me think"})},
		protocol.ItemStarted{Item: item("m", protocol.InProgress, protocol.AgentMessage{})}, protocol.ItemDelta{Item: "m", Text: "I mend "},
		protocol.ItemDelta{Item: "m", Text: "it"},
		protocol.ItemCompleted{Item: item("m", protocol.Completed, protocol.AgentMessage{Text: "I mend it"})},
		protocol.ItemCompleted{Item: item("n", protocol.Completed, protocol.AgentMessage{Text: "told at once"})},
		protocol.ItemUpdated{Item: item("t", protocol.InProgress, protocol.TodoList{Steps: []protocol.Step{{Step: "look", Status: "completed"},
			{Step: "mend", Status: "in_progress"}, {Step: "test", Status: "pending"}}})},
		protocol.ItemStarted{Item: item("c", protocol.InProgress, protocol.Command{Call: "c1", Command: "make", Cwd: "/w"})},
		protocol.ItemDelta{Item: "c", Text: "first line\n"}, protocol.ItemDelta{Item: "c", Text: "second line\n"},
		protocol.ItemCompleted{Item: item("c", protocol.Failed, protocol.Command{Call: "c1", Command: "make", Output: "it ```broke``` here", ExitCode: &exit})},
		protocol.ItemStarted{Item: item("f", protocol.InProgress, protocol.ToolCall{Call: "c2", Tool: "read_file",
			Args: json.RawMessage(`{"file_path":"a/b.go","offset":7}`)})},
		protocol.ItemCompleted{Item: item("f", protocol.Completed, protocol.ToolCall{Call: "c2", Tool: "read_file",
			Args: json.RawMessage(`{"file_path":"a/b.go","offset":7}`), Output: "the text"})},
		protocol.ItemCompleted{Item: item("x", protocol.Declined, protocol.ToolCall{Call: "c3", Server: "db", Tool: "drop", Error: "refused"})},
		protocol.ItemCompleted{Item: item("w", protocol.Completed, protocol.WebSearch{Query: "how"})},
		protocol.ItemCompleted{Item: item("a", protocol.Completed, protocol.SubAgent{Call: "c4", Operation: "spawn", Prompt: "look"})},
		protocol.ItemCompleted{Item: item("p", protocol.Completed, protocol.Problem{Message: "a problem"})},
		protocol.ItemCompleted{Item: item("k", protocol.Completed, protocol.Compaction{Before: 20, After: 5})},
		protocol.Warning{Message: "mind the gap"}, protocol.Retrying{Attempt: 1, Max: 3, Cause: "busy"},
		protocol.TokensUsed{Last: protocol.Usage{Input: 40, Output: 2}, Window: 1000},
		protocol.TurnDiff{Diff: "+x\n", Files: 1, NotCovered: []string{"b (too large)"}},
		protocol.TitleChanged{Title: "a new title"},
		protocol.TurnCompleted{Usage: protocol.Usage{Input: 40, Output: 2}})
	e.ends(over, sdk.StopReasonEndTurn)
	for _, parts := range [][]string{
		{"agent_thought_chunk", "let me think"}, {"agent_message_chunk", "I mend "}, {"agent_message_chunk", `"it"`}, {"agent_message_chunk", "told at once"},
		{`"plan"`, `"look"`, `"completed"`, `"in_progress"`, `"pending"`},
		{`"tool_call"`, `"c1"`, "make", `"execute"`, `"in_progress"`}, {"tool_call_update", `"c1"`, `first line\nsecond line`},
		{"tool_call_update", `"c1"`, `"failed"`, `"exitCode":3`, "````"},
		{`"tool_call"`, `"c2"`, `read_file a/b.go`, `"/w/a/b.go"`, `"line":7`, `"read"`}, {"tool_call_update", `"c2"`, "the text", `"completed"`},
		{`"c3"`, "db: drop", `"failed"`, "refused"}, {"web search: how", `"fetch"`}, {"spawn agent", `"look"`},
		{"agent_thought_chunk", "a problem"}, {"compacted from 20 to 5 tokens"}, {"warning: mind the gap"}, {"tried again (1/3): busy"},
		{"usage_update", `"used":42`, `"size":1000`}, {"undo does not cover: b (too large)"}, {"a new title"},
	} {
		e.hears(parts...)
	}
	e.mu.Lock()
	for _, u := range e.told {
		if strings.Contains(u, "user_message_chunk") || strings.Contains(u, "agent_message_chunk") && strings.Contains(u, "I mend it") {
			t.Errorf("it is told twice: %s", u)
		}
	}
	e.mu.Unlock()
	e.ends(e.say(p, sdk.TextBlock("/diff")), sdk.StopReasonEndTurn)
	e.hears("agent_message_chunk", "```diff\\n+x\\n```")
	_, over = e.prompt(p, sdk.TextBlock("again"))
	p.tell("other", protocol.ItemCompleted{Item: item("o", protocol.Completed, protocol.UserMessage{Input: []protocol.Input{{Text: "said elsewhere"}}})})
	e.hears("user_message_chunk", "said elsewhere")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if o := <-over; code(o.err) != codeInternal {
		t.Errorf("a session that ends: %+v", o)
	}
}

// TestChangesAreShown: with both texts, the first line that differs, and as what they are.
func TestChangesAreShown(t *testing.T) {
	text := func(s string) *string { return &s }
	for title, c := range map[string]struct {
		change protocol.FileChange
		want   []string
	}{
		"Edit a": {protocol.FileChange{Changes: []protocol.PathChange{{Path: "/w/a", Kind: protocol.Update}},
			Files: []protocol.FileText{{Path: "/w/a", Old: text("1\n2\n3\n"), New: text("1\n2\nthree\n")}}},
			[]string{`"line":3`, `"oldText":"1\n2\n3\n"`, `"newText":"1\n2\nthree\n"`, `"edit"`}},
		"Create b": {protocol.FileChange{Changes: []protocol.PathChange{{Path: "/w/b", Kind: protocol.Add}},
			Files: []protocol.FileText{{Path: "/w/b", New: text("new")}}}, []string{`"line":1`, `"newText":"new"`, `"edit"`}},
		"Delete d": {protocol.FileChange{Changes: []protocol.PathChange{{Path: "/w/d", Kind: protocol.Delete}},
			Files: []protocol.FileText{{Path: "/w/d", Old: text("old")}}}, []string{`"delete"`, `"oldText":"old"`}},
		"Edit a, /e": {protocol.FileChange{Changes: []protocol.PathChange{{Path: "/w/a", Kind: protocol.Add}, {Path: "/e", Kind: protocol.Delete}},
			Error: "it went wrong"}, []string{"it went wrong"}},
	} {
		b, err := json.Marshal(viewed(protocol.Item{Body: c.change}))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(c.want, fmt.Sprintf("%q", title)) {
			if !strings.Contains(string(b), part) {
				t.Errorf("%s: no %s in %s", title, part, b)
			}
		}
	}
	for tool, kind := range map[string]sdk.ToolKind{"glob": sdk.ToolKindSearch, "apply_patch": sdk.ToolKindEdit, "write_stdin": sdk.ToolKindExecute,
		"view_image": sdk.ToolKindRead, "update_plan": sdk.ToolKindOther} {
		if v := viewOf(protocol.Item{Body: protocol.ToolCall{Tool: tool}}, "/w"); v.kind != kind || v.title != tool {
			t.Errorf("%s is shown as %s, %q", tool, v.kind, v.title)
		}
	}
}

func viewed(i protocol.Item) any {
	v := viewOf(i, "/w")
	return sdk.StartToolCall("c", v.title, sdk.WithStartKind(v.kind), sdk.WithStartContent(v.content), sdk.WithStartLocations(v.places))
}

// TestPrompts: files, pictures and links are what sessions take; what they do not is refused.
func TestPrompts(t *testing.T) {
	blob := func(b []byte) sdk.ContentBlock {
		return sdk.ResourceBlock(sdk.EmbeddedResourceResource{BlobResourceContents: &sdk.BlobResourceContents{Uri: "file:///w/blob",
			Blob: base64.StdEncoding.EncodeToString(b)}})
	}
	got, err := inputOf([]sdk.ContentBlock{sdk.TextBlock("see "), sdk.ResourceLinkBlock("a.go", "file:///w/a.go"),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///w/b.go", Text: "package b\n"}}),
		sdk.ImageBlock("aGk=", "image/png"), blob([]byte("text")), blob([]byte{0xff, 0xfe, 0})})
	want := []protocol.Input{{Text: "see [@a.go](file:///w/a.go)\n<context ref=\"/w/b.go\">\npackage b\n</context>\n" +
		"\n<context ref=\"/w/blob\">\ntext\n</context>\n\n[/w/blob: 3 bytes that are not text]\n"}, {ImageURL: "data:image/png;base64,aGk="}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]sdk.ContentBlock{nil, {sdk.TextBlock("  \n")}, {sdk.ImageBlock("aGk=", "text/html")}, {sdk.AudioBlock("aGk=", "audio/wav")}} {
		if got, err := inputOf(bad); err == nil {
			t.Errorf("%+v is %+v", bad, got)
		}
	}
	e := newEditor(t, nil)
	p := e.session()
	if o := <-e.say(p, sdk.TextBlock(" ")); code(o.err) != codeInvalidParams {
		t.Errorf("an empty prompt: %+v", o)
	}
}

// TestCommandsOfTheEditor: each is the op that it names, and its end is the end of the prompt.
func TestCommandsOfTheEditor(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	for line, want := range map[string]protocol.Op{"/undo": protocol.Undo{}, "/redo": protocol.Undo{Redo: true}, "/compact": protocol.Compact{},
		"/review the loop": protocol.Review{Words: "the loop"}} {
		sub, over := e.prompt(p, sdk.TextBlock(line))
		if !reflect.DeepEqual(sub.Op, want) {
			t.Errorf("%s: %+v", line, sub.Op)
		}
		switch want.(type) {
		case protocol.Undo:
			p.tell(sub.ID, protocol.Undone{Report: protocol.UndoReport{What: "turn 1", Files: []protocol.UndoFile{{Path: "/w/a", Outcome: "restored"}}}})
		case protocol.Compact:
			p.tell(sub.ID, protocol.Warning{Message: "there is nothing to compact yet"})
		default:
			p.tell(sub.ID, protocol.TurnStarted{}, protocol.ItemCompleted{Item: item("r", protocol.Completed,
				protocol.ReviewResult{Text: "one", Findings: []protocol.Finding{{Title: "leak", Body: "close it", Priority: 1, Path: "/w/a", Start: 3}}})},
				protocol.TurnCompleted{})
		}
		e.ends(over, sdk.StopReasonEndTurn)
	}
	e.hears("turn 1", "- /w/a: restored")
	e.hears("**[P1] leak** /w/a:3", "close it")
	e.ends(e.say(p, sdk.TextBlock("/diff")), sdk.StopReasonEndTurn)
	e.hears("The last turn changed nothing.")
	e.ends(e.say(p, sdk.TextBlock("/rename")), sdk.StopReasonEndTurn)
	e.hears("Give the title after the command.")
	e.ends(e.say(p, sdk.TextBlock("/rename my own")), sdk.StopReasonEndTurn)
	if op := p.next(t).Op; op != (protocol.Rename{Title: "my own"}) {
		t.Errorf("renamed by %+v", op)
	}
	sub, over := e.prompt(p, sdk.TextBlock("/usr/bin/x fails"))
	if in, ok := sub.Op.(protocol.UserInput); !ok || in.Items[0].Text != "/usr/bin/x fails" {
		t.Errorf("a path is taken for a command: %+v", sub.Op)
	}
	p.tell(sub.ID, protocol.TurnStarted{}, protocol.TurnCompleted{})
	e.ends(over, sdk.StopReasonEndTurn)
	if got := undone(protocol.UndoReport{Problem: "nothing to undo"}); got != "nothing to undo" {
		t.Errorf("%q", got)
	}
}

// TestEndsOfTurns: each is the reason or the error that editors know.
func TestEndsOfTurns(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	for name, c := range map[string]struct {
		end    protocol.Msg
		reason sdk.StopReason
		code   int
	}{
		"done":        {protocol.TurnCompleted{}, sdk.StopReasonEndTurn, 0},
		"interrupted": {protocol.TurnAborted{Reason: protocol.AbortInterrupted}, sdk.StopReasonCancelled, 0},
		"used up":     {protocol.TurnAborted{Reason: protocol.AbortBudget}, sdk.StopReasonMaxTurnRequests, 0},
		"too long":    {protocol.TurnFailed{Error: protocol.Trouble{Kind: protocol.TroubleContext}}, sdk.StopReasonMaxTokens, 0},
		"no key":      {protocol.TurnFailed{Error: protocol.Trouble{Kind: protocol.TroubleAuth, Message: "no key"}}, "", codeAuthRequired},
		"trouble":     {protocol.TurnFailed{Error: protocol.Trouble{Kind: protocol.TroubleServer, Message: "busy", Hint: "later"}}, "", codeInternal},
	} {
		sub, over := e.prompt(p, sdk.TextBlock("go"))
		p.tell("another", protocol.TurnCompleted{}) // of another front end
		p.tell(sub.ID, protocol.TurnStarted{}, c.end)
		if o := <-over; o.reason != c.reason || code(o.err) != c.code {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestCancelling: the editor's own turn is interrupted, one that waits behind another's is taken back, and
// that other one goes on.
func TestCancelling(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	cancel := func() {
		t.Helper()
		if err := e.conn.Cancel(t.Context(), sdk.CancelNotification{SessionId: sdk.SessionId(p.id)}); err != nil {
			t.Fatal(err)
		}
	}
	sub, over := e.prompt(p, sdk.TextBlock("go"))
	p.tell(sub.ID, protocol.TurnStarted{}, protocol.Warning{Message: "it runs"})
	e.hears("it runs")
	cancel()
	if op := p.next(t).Op; op != (protocol.Interrupt{}) {
		t.Errorf("a running turn: %+v", op)
	}
	p.tell(sub.ID, protocol.TurnAborted{Reason: protocol.AbortInterrupted})
	e.ends(over, sdk.StopReasonCancelled)

	sub, over = e.prompt(p, sdk.TextBlock("and then"))
	p.tell(sub.ID, protocol.QueueChanged{Waiting: [][]protocol.Input{{{Text: "and then"}}}})
	p.tell("", protocol.Warning{Message: "it waits"})
	e.hears("it waits")
	cancel()
	if op := p.next(t).Op; op != (protocol.Unqueue{}) {
		t.Errorf("a waiting prompt: %+v", op)
	}
	p.tell("", protocol.QueueChanged{Taken: []protocol.Input{{Text: "and then"}}})
	e.ends(over, sdk.StopReasonCancelled)

	// What waits behind a turn that fails is taken back, too.
	sub, over = e.prompt(p, sdk.TextBlock("behind"))
	p.tell(sub.ID, protocol.QueueChanged{Waiting: [][]protocol.Input{{{Text: "behind"}}}})
	p.tell("another", protocol.TurnFailed{Error: protocol.Trouble{Kind: protocol.TroubleServer, Message: "busy"}})
	if o := <-over; code(o.err) != codeInternal {
		t.Errorf("behind one that failed: %+v", o)
	}
	if op := p.next(t).Op; op != (protocol.Unqueue{}) {
		t.Errorf("behind one that failed: %+v", op)
	}
}

// TestCancelledEarly: a prompt that is cancelled before the session said what becomes of it is ended as
// soon as it does, and once.
func TestCancelledEarly(t *testing.T) {
	for _, c := range []struct {
		becomes protocol.Msg
		want    protocol.Op
	}{{protocol.TurnStarted{}, protocol.Interrupt{}}, {protocol.QueueChanged{Waiting: [][]protocol.Input{{{Text: "x"}}}}, protocol.Unqueue{}}} {
		p := &played{ops: make(chan protocol.Submission, 10), closed: make(chan struct{})}
		w := newWaiting(protocol.UserInput{})
		s := &session{under: p}
		s.cancel(t.Context()) // there is no prompt
		s.await(w)
		s.cancel(t.Context())
		if len(p.ops) != 0 {
			t.Errorf("submitted %+v", (<-p.ops).Op)
		}
		s.follow(protocol.Event{Submission: w.id, Msg: c.becomes})
		s.cancel(t.Context())
		if n := len(p.ops); n != 1 {
			t.Fatalf("%T: %d ops", c.becomes, n)
		}
		if op := (<-p.ops).Op; op != c.want {
			t.Errorf("%T: %+v", c.becomes, op)
		}
	}
}

// TestPermissions: the editor's user decides; what is no answer of hers keeps the action from running.
func TestPermissions(t *testing.T) {
	selected := func(id protocol.Decision) func(sdk.RequestPermissionRequest) (sdk.RequestPermissionOutcome, error) {
		return func(sdk.RequestPermissionRequest) (sdk.RequestPermissionOutcome, error) {
			return sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(id)), nil
		}
	}
	text := "a\u202eb"
	command := protocol.Approval{ID: "q", Call: "c1", Reason: "may it?", Command: &protocol.CommandApproval{Command: "make all", Cwd: "/w",
		Unsandboxed: true, Prefix: []string{"make"}, Rule: "make -> allow", Covers: "make …"}}
	for name, c := range map[string]struct {
		asked   protocol.Approval
		answer  func(sdk.RequestPermissionRequest) (sdk.RequestPermissionOutcome, error)
		want    protocol.Decision
		words   string
		offered []string
		shown   []string
	}{
		"once": {command, selected(protocol.Once), protocol.Once, "", []string{"Allow", `Allow "make" in this session`, "Always allow make …", "Reject"},
			[]string{"make all", "outside the sandbox", `make -\u003e allow`, "may it?", `"c1"`}},
		"always":  {command, selected(protocol.Always), protocol.Always, "", nil, nil},
		"never":   {command, selected(protocol.Deny), protocol.Deny, "the user declined", nil, nil},
		"made up": {command, selected("yes"), protocol.Deny, "the user declined", nil, nil},
		"no answer": {command, func(sdk.RequestPermissionRequest) (sdk.RequestPermissionOutcome, error) {
			return sdk.NewRequestPermissionOutcomeCancelled(), nil
		}, protocol.Deny, "the question was withdrawn", nil, nil},
		"not shown": {command, func(sdk.RequestPermissionRequest) (sdk.RequestPermissionOutcome, error) {
			return sdk.RequestPermissionOutcome{}, errors.New("no window")
		}, protocol.Deny, "could not be shown", nil, nil},
		"of a sub-agent": {protocol.Approval{ID: "q", Agent: "sub", Call: "c1", Command: &protocol.CommandApproval{Command: "ls"}}, selected(protocol.ForSession),
			protocol.ForSession, "", []string{"Allow", "Allow exactly this command in this session", "Reject"}, []string{`"sub/c1"`}},
		"not offered": {protocol.Approval{ID: "q", Command: &protocol.CommandApproval{Command: "ls"}}, selected(protocol.Always), protocol.Deny,
			"the user declined", nil, []string{`"q"`}},
		"a change": {protocol.Approval{ID: "q", Change: &protocol.ChangeApproval{Changes: []protocol.PathChange{{Path: "/w/a", Kind: protocol.Update}, {Path: "/w/b"}},
			Diff: "-x\n+y\n", Files: []protocol.FileText{{Path: "/w/a", New: &text}}}}, selected(protocol.ForSession), protocol.ForSession, "",
			[]string{"Allow", "Allow changes of these files in this session", "Reject"}, []string{"Edit a, b", `-x\n+y`, "invisible or look like others"}},
		"unseen changes": {protocol.Approval{ID: "q", Change: &protocol.ChangeApproval{Unseen: true}}, selected(protocol.Once), protocol.Once, "",
			[]string{"Take them back, too", "Leave them, take back the rest"}, nil},
		"a tool": {protocol.Approval{ID: "q", Tool: &protocol.ToolApproval{Server: "db", Tool: "drop", Args: `{"t":1}`, Changed: "its words"}},
			selected(protocol.Once), protocol.Once, "", []string{"Allow", "Allow this tool in this session", "Reject"}, []string{"db: drop", `{\"t\":1}`, "its words"}},
		"a host": {protocol.Approval{ID: "q", Network: &protocol.NetworkApproval{Host: "example.org", Port: 443, Command: "curl it"}}, selected(protocol.Once),
			protocol.Once, "", []string{"Allow", "Allow this host in this session", "Reject"}, []string{"Reach example.org:443", "curl it", `"fetch"`}},
		"a question": {protocol.Approval{ID: "q", Question: &protocol.Question{Server: "db", Message: "which?", URL: "https://example.org/a"}}, selected(protocol.Once),
			protocol.Once, "", []string{"Allow", "Reject"}, []string{"A question of the MCP server db", "which?", "https://example.org/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEditor(t, nil)
			e.answer = c.answer
			p := e.session()
			p.events <- protocol.Event{Agent: c.asked.Agent, Msg: protocol.ApprovalRequested{Approval: c.asked}}
			r := <-e.asked
			got, ok := p.next(t).Op.(protocol.Answer)
			if !ok || got.Approval != "q" || got.Decision != c.want || !strings.Contains(got.Words, c.words) || c.words == "" && got.Words != "" {
				t.Errorf("answered %+v", got)
			}
			var names []string
			for _, o := range r.Options {
				names = append(names, o.Name)
			}
			if c.offered != nil && !slices.Equal(names, c.offered) {
				t.Errorf("offered %q", names)
			}
			b, err := json.Marshal(r.ToolCall)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range c.shown {
				if !strings.Contains(string(b), part) {
					t.Errorf("%q is not shown: %s", part, b)
				}
			}
		})
	}
}

// TestAQuestionThatSomebodyElseAnswers is withdrawn from the editor, and not answered by it.
func TestAQuestionThatSomebodyElseAnswers(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	p.tell("", protocol.ApprovalRequested{Approval: protocol.Approval{ID: "q", Command: &protocol.CommandApproval{Command: "ls"}}})
	<-e.asked
	p.tell("", protocol.ApprovalResolved{Approval: "q", Decision: protocol.Once}, protocol.Warning{Message: "go on"})
	e.hears("go on")
	sub, over := e.prompt(p, sdk.TextBlock("next"))
	if _, ok := sub.Op.(protocol.UserInput); !ok {
		t.Errorf("the editor answered: %+v", sub.Op)
	}
	p.tell(sub.ID, protocol.TurnStarted{}, protocol.TurnCompleted{})
	e.ends(over, sdk.StopReasonEndTurn)
}

// TestModesAndModels: what the editor chooses is configured, and what others choose is told.
func TestModesAndModels(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	for id, want := range map[sdk.SessionModeId]protocol.Settings{
		modePlan:     {Approval: protocol.PolicyPlan, Sandbox: protocol.SandboxWorkspace, Edits: protocol.EditsAsk},
		modeFull:     {Approval: protocol.PolicyNever, Sandbox: protocol.SandboxFull, Edits: protocol.EditsFree},
		modeAutoEdit: {Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace, Edits: protocol.EditsFree},
		modeAsk:      {Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace, Edits: protocol.EditsAsk},
	} {
		if _, err := e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: "new", ModeId: id}); err != nil {
			t.Fatal(err)
		}
		if op := p.next(t).Op; op != (protocol.Configure{Settings: want}) {
			t.Errorf("%s: %+v", id, op)
		}
		if got := modeOf(want, protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}); got != id {
			t.Errorf("the settings of %s are called %s", id, got)
		}
	}
	if _, err := e.conn.UnstableSetSessionModel(t.Context(), sdk.UnstableSetSessionModelRequest{SessionId: "new", ModelId: "n"}); err != nil {
		t.Fatal(err)
	}
	if op := p.next(t).Op; op != (protocol.Configure{Settings: protocol.Settings{Model: "n"}}) {
		t.Errorf("the model: %+v", op)
	}
	if _, err := e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: "new", ModeId: modeAsk}); err != nil {
		t.Fatal(err)
	}
	p.next(t)
	p.tell("", protocol.SettingsChanged{Settings: protocol.Settings{Approval: protocol.PolicyNever, Sandbox: protocol.SandboxFull}})
	e.hears("current_mode_update", `"full"`)
	for set, want := range map[protocol.Settings]sdk.SessionModeId{
		{Approval: protocol.PolicyPlan}: modePlan, {Approval: protocol.PolicyUntrusted, Edits: protocol.EditsAsk}: modeAsk,
		{Approval: protocol.PolicyAutoEdit, Sandbox: protocol.SandboxWorkspace}: modeAutoEdit,
	} {
		if got := modeOf(set, protocol.Settings{}); got != want {
			t.Errorf("%+v is called %s, not %s", set, got, want)
		}
	}
	if got := beginning(protocol.Settings{Approval: protocol.PolicyPlan}); got != modePlan {
		t.Errorf("a session that plans begins as %s", got)
	}
	set, ok := inMode(modeAsk, protocol.Settings{Approval: protocol.PolicyPlan, Sandbox: protocol.SandboxReadOnly})
	if !ok || set.Approval != protocol.PolicyOnRequest || set.Sandbox != protocol.SandboxReadOnly {
		t.Errorf("asking in a session that planned: %+v", set)
	}
}

// TestOldSessions are loaded with what was said in them, resumed without it, forked and closed.
func TestOldSessions(t *testing.T) {
	e := newEditor(t, nil)
	e.past = []protocol.PastTurn{{ID: "t1", Diff: "+old\n", Items: []protocol.Item{
		item("u", protocol.Completed, protocol.UserMessage{Input: []protocol.Input{{Text: "mend it"}}}),
		item("m", protocol.Completed, protocol.AgentMessage{Text: "mended"}),
		item("c", protocol.Completed, protocol.Command{Call: "c1", Command: "make", Output: "fine"}),
		item("a", protocol.Completed, protocol.Answered{Asked: "may it?", Decision: protocol.Once, By: protocol.ByUser})}}}
	if _, err := e.conn.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: "old", Cwd: "/w", McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	p := <-e.opened
	if p.o.Resume != "old" {
		t.Errorf("opened %+v", p.o)
	}
	e.hears("user_message_chunk", "mend it")
	e.hears("agent_message_chunk", "mended")
	e.hears("tool_call", "make", "fine", "completed")
	e.hears("agent_thought_chunk", "may it?")
	e.ends(e.say(p, sdk.TextBlock("/diff")), sdk.StopReasonEndTurn)
	e.hears("+old")
	if _, err := e.conn.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: "old", Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
	select { // the one that was open before is closed first
	case <-p.closed:
	default:
		t.Error("two sessions of one record are open")
	}
	p = <-e.opened
	fork, err := e.conn.UnstableForkSession(t.Context(), sdk.UnstableForkSessionRequest{SessionId: "old", Cwd: "/w", McpServers: []sdk.UnstableMcpServer{
		{Stdio: &sdk.McpServerStdio{Name: "a", Command: "run", Args: []string{}, Env: []sdk.EnvVariable{}}}}})
	if err != nil || fork.SessionId != "old-fork" {
		t.Errorf("%+v, %v", fork, err)
	}
	if o := (<-e.opened).o; o.Fork != "old" || len(o.MCP) != 1 || o.MCP[0].Command != "run" {
		t.Errorf("forked with %+v", o)
	}
	if _, err := e.conn.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: "old"}); err != nil {
		t.Fatal(err)
	}
	<-p.closed
	if o := <-e.say(p, sdk.TextBlock("more")); code(o.err) != codeNotFound {
		t.Errorf("a closed session: %+v", o)
	}
	for _, err := range []error{errOf(e.conn.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: "old", Cwd: "w"})),
		errOf(e.conn.UnstableForkSession(t.Context(), sdk.UnstableForkSessionRequest{SessionId: "old", Cwd: "w"})),
		errOf(e.conn.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: "old", Cwd: "w", McpServers: []sdk.McpServer{}}))} {
		if code(err) != codeInvalidParams {
			t.Errorf("in no directory: %v", err)
		}
	}
}

// TestTheEditorsBuffersAndTerminals: sessions read and write through them where they are offered.
func TestTheEditorsBuffersAndTerminals(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	e.files["/w/a"] = "unsaved"
	c := p.o.Client
	if text, err := c.Files.ReadText(t.Context(), "/w/a"); err != nil || text != "unsaved" {
		t.Errorf("%q, %v", text, err)
	}
	if err := c.Files.WriteText(t.Context(), "/w/b", "new"); err != nil || e.files["/w/b"] != "new" {
		t.Errorf("%q, %v", e.files["/w/b"], err)
	}
	term, err := c.Terminals.Start(t.Context(), protocol.TerminalCommand{Call: "c1", Argv: []string{"make", "all"}, Env: []string{"A=b=c"}, Dir: "/w", Limit: 10})
	if err != nil || term.ID() != "term-1" {
		t.Fatalf("%v, %v", term, err)
	}
	if r := e.started[0]; r.Command != "make" || !slices.Equal(r.Args, []string{"all"}) || *r.Cwd != "/w" || *r.OutputByteLimit != 10 ||
		!reflect.DeepEqual(r.Env, []sdk.EnvVariable{{Name: "A", Value: "b=c"}}) {
		t.Errorf("started %+v", r)
	}
	e.hears("tool_call_update", `"c1"`, "term-1")
	if text, cut, err := term.Output(t.Context()); text != "printed" || !cut || err != nil {
		t.Errorf("%q, %v, %v", text, cut, err)
	}
	if code, err := term.Wait(t.Context()); code != -1 || err != nil {
		t.Errorf("a program that a signal ended: %d, %v", code, err)
	}
	e.exited = sdk.Ptr(4)
	if code, err := term.Wait(t.Context()); code != 4 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	if err := term.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Terminals.Start(t.Context(), protocol.TerminalCommand{Argv: []string{"none"}}); err == nil {
		t.Error("a terminal that there is not was started")
	}
}

// TestAnEditorThatLeaves closes its sessions.
func TestAnEditorThatLeaves(t *testing.T) {
	e := newEditor(t, nil)
	p := e.session()
	_, _ = e.prompt(p, sdk.TextBlock("go"))
	e.leave()
	<-e.ended
	<-p.closed
}
