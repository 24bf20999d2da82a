package main

//lint:file-ignore SA1019 roots, sampling and logging are deprecated from the newest revision on; older ones have them

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/start"
	"kerf/internal/front/mcpserver"
	"kerf/internal/host"
)

// served is a Kerf over one directory, with a scripted model.
type served struct {
	dir    string
	host   *host.Host
	opener start.Places
}

// serving makes a directory with files and a Kerf that serves it.
func serving(t *testing.T, scenario string, files map[string]string) served {
	t.Helper()
	return servingWith(t, "", scenario, files)
}

// servingWith is serving with further lines of config.toml.
func servingWith(t *testing.T, config, scenario string, files map[string]string) served {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	config += "model = \"scripted\"\n"
	if scenario != "" {
		write(t, filepath.Join(home, "scenario.json"), scenario)
		config += "model_provider = \"s\"\n[model_providers.s]\nname = \"s\"\nwire_api = \"script\"\nbase_url = '" +
			filepath.Join(home, "scenario.json") + "'\n"
	}
	write(t, filepath.Join(home, "config.toml"), config)
	p := &program.Program{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard, Dir: dir,
		Env: append(os.Environ(), "KERF_HOME="+home, "HOME="+home)}
	h, err := p.Host(nil)
	if err != nil {
		t.Fatal(err)
	}
	return served{dir, h, start.Places{Host: h, Program: p}}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s served) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// client is a connection of the official client.
type client struct {
	*mcp.ClientSession
	own *mcp.Client
	t   *testing.T
}

// newestRevision is the one without connections.
const newestRevision = "2026-07-28"

// way is how the clients of a test speak to the server: newest over streams, unless
// TestMCPInEveryWay says otherwise.
var way = struct {
	revision string
	http     bool
}{revision: newestRevision}

// TestMCPInEveryWay has each of these tests run in an older revision, too, and over HTTP.
func TestMCPInEveryWay(t *testing.T) {
	defer func(was struct {
		revision string
		http     bool
	}) {
		way = was
	}(way)
	for _, http := range []bool{false, true} {
		for _, revision := range []string{newestRevision, "2025-11-25", "2024-11-05"} {
			if way.http, way.revision = http, revision; !http && revision == newestRevision || http && revision == "2024-11-05" {
				continue
			}
			for name, test := range map[string]func(*testing.T){"stale edits": TestMCPStaleEditsAreCaughtAndRecover,
				"history": TestMCPHistoryIsTheConnections, "best effort": TestMCPBestEffortTellsOnlyWhatChanged,
				"tools": TestMCPToolsSayWhatTheyAre, "questions": TestMCPAgentAsksByElicitation,
				"clients": TestSEC_M5_ClientsAreNotMixedUp, "roots": TestMCPRootsAreHonouredAndFollowed,
				"strict roots": TestMCPRootsAreReadStrictly, "what cannot be seen": TestMCPQuestionsShowWhatCannotBeSeen} {
				if revision == "2024-11-05" && (name == "questions" || name == "what cannot be seen") {
					continue // it has no questions
				}
				t.Run(fmt.Sprintf("%s/http=%t/%s", revision, http, name), test)
			}
		}
	}
}

// connect connects a client in the way that is tested. roots, when not nil, are its roots.
func (s served) connect(t *testing.T, name string, roots []string, o *mcp.ClientOptions) client {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, o)
	for _, r := range roots {
		c.AddRoots(&mcp.Root{URI: "file://" + r})
	}
	transport, end := s.streams()
	if way.http {
		transport, end = s.overHTTP(t)
	}
	session, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: way.revision})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != way.revision {
		t.Fatalf("they speak %s, not %s", got, way.revision)
	}
	t.Cleanup(func() {
		_ = session.Close()
		if err := end(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return client{session, c, t}
}

// overHTTP serves over HTTP; end ends the server.
func (s served) overHTTP(t *testing.T) (transport mcp.Transport, end func() error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l, err := mcpserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.HTTP(ctx, mcpserver.Options{Engine: s.host.Engine(nil), Sessions: s.opener, Version: "test"}, l,
			"secret-token")
	}()
	return &mcp.StreamableClientTransport{Endpoint: "http://" + l.Addr().String() + "/mcp",
			HTTPClient: &http.Client{Transport: bearing{}}}, func() error {
			stop()
			return <-ended
		}
}

type bearing struct{}

func (bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer secret-token")
	return http.DefaultTransport.RoundTrip(r)
}

// streams serves over streams; end ends the server.
func (s served) streams() (transport mcp.Transport, end func() error) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.Stdio(context.Background(),
			mcpserver.Options{Engine: s.host.Engine(nil), Sessions: s.opener, Version: "test"}, toServer, fromServer)
	}()
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}, func() error {
		_ = fromClient.Close()
		return <-ended
	}
}

// TestMCPQuestionsWithoutAConnection: a question is open until it is answered, once, by who
// was asked; a client that goes on without an answer has given it up.
func TestMCPQuestionsWithoutAConnection(t *testing.T) {
	for _, http := range []bool{false, true} {
		t.Run(fmt.Sprintf("http=%t", http), func(t *testing.T) {
			way.http = http
			defer func() { way.http = false }()
			s := serving(t, `{"version":1,"rounds":[
{"items":[{"call":"exec_command","args":{"cmd":"touch /made","sandbox_permissions":"require_escalated","justification":"j"}}]},
{"items":[{"message":"after"}]},{"items":[{"message":"after all"}]}]}`, nil)
			c := s.connect(t, "c", nil, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }})
			call := func(p *mcp.CallToolParams) *mcp.CallToolResult {
				t.Helper()
				res, err := c.CallTool(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			run := map[string]any{"prompt": "go", "cwd": s.dir}
			first := call(&mcp.CallToolParams{Name: "kerf", Arguments: run})
			if !first.NeedsInput() || first.RequestState == "" || len(first.InputRequests) != 1 {
				t.Fatalf("%+v", first)
			}
			no := mcp.InputResponseMap{"approval": &mcp.ElicitResult{Action: "decline"}}
			if res := call(&mcp.CallToolParams{Name: "kerf", Arguments: run, RequestState: "guessed", InputResponses: no}); !res.IsError ||
				!strings.Contains(textOf(res), "not open") {
				t.Errorf("a guessed state: %s", textOf(res))
			}
			again := call(&mcp.CallToolParams{Name: "kerf", Arguments: run, RequestState: first.RequestState})
			if !again.NeedsInput() || again.RequestState == first.RequestState {
				t.Fatalf("without an answer: %+v", again)
			}
			if res := call(&mcp.CallToolParams{Name: "kerf", Arguments: run, RequestState: first.RequestState, InputResponses: no}); !res.IsError {
				t.Errorf("an old state was taken: %s", textOf(res))
			}
			res := call(&mcp.CallToolParams{Name: "kerf", Arguments: run, RequestState: again.RequestState, InputResponses: no})
			if res.NeedsInput() || textOf(res) != "after" {
				t.Errorf("after no: %s", textOf(res))
			}
			thread := res.StructuredContent.(map[string]any)["threadId"]
			res = call(&mcp.CallToolParams{Name: "kerf-reply", Arguments: map[string]any{"threadId": thread, "prompt": "more"}})
			if textOf(res) != "after all" {
				t.Errorf("kerf-reply: %s", textOf(res))
			}
		})
	}
}

// answer is the object that every file tool returns.
type answer struct {
	Success  bool
	Output   string
	Content  string
	Error    struct{ Code, Message string }
	Warnings []struct{ Code, Message, Suggestion string }
	Results  []struct{ Success bool }
	Metadata struct {
		Lines    int
		Language *string
		Path     string
	}
	VersionInfo struct {
		Version                           int
		ContentHash, LineEnding, Encoding string
	}
	UpdatedFileStates map[string]struct {
		NewVersion        int
		NewHash           string
		AffectedLineRange struct{ Start, End int }
	}
}

// call calls a tool and checks that text, object and error flag agree.
func (c client) call(name string, args map[string]any) answer {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(b, &a); err != nil {
		c.t.Fatal(err)
	}
	if res.IsError == a.Success || res.IsError == (a.Error.Code == "") {
		c.t.Errorf("%s: isError %t, success %t, error %+v", name, res.IsError, a.Success, a.Error)
	}
	if text := textOf(res); a.Error.Code != "" && !strings.Contains(text, a.Error.Code) {
		c.t.Errorf("%s: the text %q does not name %s", name, text, a.Error.Code)
	}
	return a
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func TestMCPStaleEditsAreCaughtAndRecover(t *testing.T) {
	s := serving(t, "", map[string]string{"f.go": "package f\n\nconst A = 1\n"})
	first, second := s.connect(t, "first", nil, nil), s.connect(t, "second", nil, nil)

	seen := first.call("read_code", map[string]any{"filePath": "f.go"})
	if seen.Content != "package f\n\nconst A = 1\n" || seen.Metadata.Lines != 3 ||
		len(seen.VersionInfo.ContentHash) != 16 {
		t.Fatalf("read_code gave %+v", seen)
	}
	second.call("read_file", map[string]any{"file_path": "f.go"})
	second.call("edit_file", map[string]any{"file_path": "f.go", "old_string": "A = 1", "new_string": "A = 2"})

	edit := func(target, hash string) answer {
		return first.call("edit_code", map[string]any{
			"edits":        []any{map[string]any{"filePath": "f.go", "targetString": target, "replacementString": "A = 3"}},
			"fileVersions": map[string]any{"f.go": map[string]any{"expectedHash": hash}}})
	}
	stale := edit("A = 1", seen.VersionInfo.ContentHash)
	if stale.Error.Code != "VERSION_MISMATCH" || len(stale.Results) != 1 || stale.Results[0].Success {
		t.Fatalf("the stale edit gave %+v", stale)
	}
	for _, want := range []string{"re-read with read_file", "A = 2"} {
		if !strings.Contains(stale.Error.Message, want) {
			t.Errorf("the refusal %q does not say %q", stale.Error.Message, want)
		}
	}
	if got := s.read(t, "f.go"); got != "package f\n\nconst A = 2\n" {
		t.Fatalf("the refused edit wrote %q", got)
	}
	again := first.call("read_code", map[string]any{"filePath": "f.go"})
	if again.VersionInfo.Version <= seen.VersionInfo.Version {
		t.Errorf("the version went from %d to %d over a change from outside", seen.VersionInfo.Version,
			again.VersionInfo.Version)
	}
	done := edit("A = 2", again.VersionInfo.ContentHash)
	if !done.Success || done.UpdatedFileStates["f.go"].NewVersion <= again.VersionInfo.Version {
		t.Fatalf("the edit after reading again gave %+v", done)
	}
	if got := s.read(t, "f.go"); got != "package f\n\nconst A = 3\n" {
		t.Errorf("f.go is %q", got)
	}
	if d := first.call("diff", nil).Output; !strings.Contains(d, "-const A = 2\n+const A = 3") {
		t.Errorf("the net diff of the connection is %q", d)
	}
}

func TestMCPHistoryIsTheConnections(t *testing.T) {
	s := serving(t, "", map[string]string{"f": "one\ntwo\n"})
	ours, theirs := s.connect(t, "ours", nil, nil), s.connect(t, "theirs", nil, nil)
	if a := ours.call("undo", nil); a.Success || !strings.Contains(a.Error.Message, "nothing to undo") {
		t.Errorf("undo with nothing done gave %+v", a)
	}
	ours.call("read_file", map[string]any{"file_path": "f"})
	ours.call("edit_file", map[string]any{"file_path": "f", "old_string": "two", "new_string": "TWO"})
	theirs.call("write_file", map[string]any{"file_path": "g", "content": "g\n"})

	lines := strings.Split(strings.TrimSpace(ours.call("blame", map[string]any{"file_path": "f"}).Output), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "not Kerf") || !strings.HasSuffix(lines[0], "one") ||
		!strings.Contains(lines[1], "edit_file ours") || !strings.HasSuffix(lines[1], "TWO") {
		t.Errorf("blame told %q", lines)
	}
	log := ours.call("log", nil).Output
	for _, want := range []string{"edit_file ours", "modified f", "write_file theirs", "created g"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log %q does not tell %q", log, want)
		}
	}
	if d := ours.call("diff", nil).Output; strings.Contains(d, "+++ b/g") || !strings.Contains(d, "+TWO") {
		t.Errorf("the diff of one connection is %q", d)
	}
	if a := ours.call("undo", nil); !a.Success {
		t.Errorf("undo gave %+v", a)
	}
	if got := s.read(t, "f"); got != "one\ntwo\n" {
		t.Errorf("after undo f is %q", got)
	}
	if got := s.read(t, "g"); got != "g\n" {
		t.Errorf("undo of one connection made the other's file %q", got)
	}
	if d := ours.call("diff", nil).Output; d != "" {
		t.Errorf("after undo the diff is %q", d)
	}
}

func TestMCPBestEffortTellsOnlyWhatChanged(t *testing.T) {
	s := serving(t, "", map[string]string{"a": "1\n", "b": "1\n"})
	c := s.connect(t, "c", nil, nil)
	edit := func(path, target string) map[string]any {
		return map[string]any{"filePath": path, "targetString": target, "replacementString": "2",
			"normalization": "whitespace"}
	}
	a := c.call("edit_code", map[string]any{"edits": []any{edit("a", "1"), edit("b", "nothing such")},
		"transactionMode": "best-effort"})
	if a.Success || len(a.Results) != 2 || !a.Results[0].Success || a.Results[1].Success {
		t.Errorf("results are %+v", a)
	}
	if len(a.UpdatedFileStates) != 1 || a.UpdatedFileStates["a"].NewHash == "" {
		t.Errorf("states are %+v", a.UpdatedFileStates)
	}
	if len(a.Warnings) != 1 || a.Warnings[0].Code != "RISKY_NORMALIZATION" || a.Warnings[0].Suggestion == "" {
		t.Errorf("warnings are %+v", a.Warnings)
	}
}

func TestMCPRootsAreHonouredAndFollowed(t *testing.T) {
	s := serving(t, "", map[string]string{"f": "served\n"})
	one, two := t.TempDir(), t.TempDir()
	write(t, filepath.Join(one, "f"), "one\n")
	write(t, filepath.Join(two, "f"), "two\n")
	c := s.connect(t, "c", []string{one}, nil)
	if a := c.call("read_code", map[string]any{"filePath": "f"}); a.Content != "one\n" {
		t.Errorf("below the first root f is %q", a.Content)
	}
	if a := c.call("read_code", map[string]any{"filePath": filepath.Join(two, "f")}); a.Error.Code != "OUTSIDE_WORKSPACE" {
		t.Errorf("a file outside the roots gave %+v", a)
	}
	c.own.RemoveRoots("file://" + one)
	c.own.AddRoots(&mcp.Root{URI: "file://" + two})
	if way.revision != newestRevision { // which has the server ask each time
		if err := c.Ping(t.Context(), nil); err != nil { // what was told before has arrived
			t.Fatal(err)
		}
	}
	if a := c.call("read_code", map[string]any{"filePath": "f"}); a.Content != "two\n" {
		t.Errorf("below the new root f is %q", a.Content)
	}
	without := s.connect(t, "d", nil, nil)
	if a := without.call("read_code", map[string]any{"filePath": "f"}); a.Content != "served\n" {
		t.Errorf("without roots f is %q", a.Content)
	}
}

func TestMCPToolsSayWhatTheyAre(t *testing.T) {
	s := serving(t, "", nil)
	c := s.connect(t, "c", nil, nil)
	readOnly := map[string]bool{}
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(tool.Name, "kerf") {
			continue
		}
		readOnly[tool.Name] = tool.Annotations.ReadOnlyHint
		if tool.Annotations.OpenWorldHint == nil || *tool.Annotations.OpenWorldHint {
			t.Errorf("%s is said to reach the open world", tool.Name)
		}
		if tool.OutputSchema == nil || tool.Description == "" {
			t.Errorf("%s lacks a description or an output schema", tool.Name)
		}
	}
	want := map[string]bool{"read_file": true, "read_code": true, "write_file": false, "edit_file": false,
		"edit_code":   false,
		"apply_patch": false, "diff": true, "undo": false, "log": true, "blame": true}
	if d := cmp.Diff(want, readOnly); d != "" {
		t.Errorf("read-only tools (-want +got):\n%s", d)
	}
	if info := c.InitializeResult(); info.ServerInfo.Name != "kerf" ||
		!strings.Contains(info.Instructions, "VERSION_MISMATCH") {
		t.Errorf("the server says %+v", info)
	}
}

const asking = `{"version":1,"title":"asks","rounds":[
{"items":[{"call":"exec_command","args":{"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"to make it"},"id":"c1"}]},
{"items":[{"message":"first"}]},
{"expect":{"input_contains":["and then"]},"items":[{"message":"second"}]}]}`

func TestMCPAgentAsksByElicitation(t *testing.T) {
	for name, test := range map[string]struct {
		answer string // empty: the client cannot be asked
		made   bool
	}{"accepted": {"accept", true}, "declined": {"decline", false}, "cancelled": {"cancel", false},
		"cannot ask": {"", false}} {
		t.Run(name, func(t *testing.T) {
			s := serving(t, asking, nil)
			var asked []string
			o := &mcp.ClientOptions{}
			if test.answer != "" {
				o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, r.Params.Message)
					return &mcp.ElicitResult{Action: test.answer}, nil
				}
			}
			c := s.connect(t, "c", nil, o)
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "kerf", Arguments: map[string]any{"prompt": "do it",
				"sandbox": "workspace-write", "approval-policy": "on-request"}})
			if err != nil || res.IsError {
				t.Fatalf("kerf: %v, %s", err, textOf(res))
			}
			object := res.StructuredContent.(map[string]any)
			if object["content"] != "first" || object["threadId"] == "" {
				t.Errorf("kerf returned %v", object)
			}
			if _, err := os.Stat(filepath.Join(s.dir, "made")); (err == nil) != test.made {
				t.Errorf("the command ran: %t, want %t", err == nil, test.made)
			}
			if test.answer != "" && (len(asked) != 1 || !strings.Contains(asked[0], "touch made")) {
				t.Errorf("asked %q", asked)
			}
			res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "kerf-reply", Arguments: map[string]any{
				"threadId": object["threadId"], "prompt": "and then"}})
			if err != nil || res.IsError || textOf(res) != "second" {
				t.Errorf("kerf-reply: %v, %s", err, textOf(res))
			}
		})
	}
}

func TestMCPOverHTTPKeepsOthersOut(t *testing.T) {
	s := serving(t, "", nil)
	ctx, stop := context.WithCancel(t.Context())
	l, err := mcpserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.HTTP(ctx, mcpserver.Options{Engine: s.host.Engine(nil), Sessions: s.opener, Version: "test"}, l,
			"secret-token")
	}()
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	for name, test := range map[string]struct {
		token, origin, host string
		status              int
	}{
		"right":          {token: "secret-token", status: 200},
		"its beginning":  {token: "secret-toke", status: 401},
		"and more":       {token: "secret-token2", status: 401},
		"rebound name":   {token: "secret-token", host: "127.0.0.1.evil.test", status: 403},
		"another port":   {token: "secret-token", host: "evil.test:80", status: 403},
		"look-alike":     {token: "secret-token", origin: "http://localhost.evil.test", status: 403},
		"a file's":       {token: "secret-token", origin: "file://", status: 403},
		"own origin":     {token: "secret-token", origin: "http://localhost:3000", status: 200},
		"no token":       {status: 401},
		"wrong token":    {token: "secret-tokem", status: 401},
		"foreign origin": {token: "secret-token", origin: "https://evil.test", status: 403},
		"null origin":    {token: "secret-token", origin: "null", status: 403},
		"foreign host":   {token: "secret-token", host: "evil.test", status: 403},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/mcp",
				strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if test.token != "" {
				r.Header.Set("Authorization", "Bearer "+test.token)
			}
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			r.Host = test.host
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != test.status || strings.Contains(string(body), "secret-token") {
				t.Errorf("status %d, want %d: %s", res.StatusCode, test.status, body)
			}
		})
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
