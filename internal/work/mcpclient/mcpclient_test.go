package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// TestMain is a server when the environment asks for one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("MCP_FIXTURE"); mode != "" {
		fixture(mode)
		return
	}
	os.Exit(m.Run())
}

// fixture is a server on the standard streams, with the manners of mode.
func fixture(mode string) {
	switch mode {
	case "raw":
		rawServer(os.Stdin, os.Stdout)
		return
	case "crash":
		fmt.Fprintln(os.Stderr, "the port is taken\x1b[2J")
		os.Exit(3)
	case "license":
		fmt.Fprint(os.Stderr, strings.Repeat("loading a part\n", 100), "license expired\n")
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "slow":
		fmt.Fprintln(os.Stderr, "license expired")
		_ = os.Stdout.Close()
		time.Sleep(600 * time.Millisecond)
		os.Exit(1)
	case "later":
		go func() {
			time.Sleep(300 * time.Millisecond)
			fmt.Fprintln(os.Stderr, "license expired")
			os.Exit(1)
		}()
	case "ignores", "leaves", "hushed":
		olderServer(mode)
		return
	case "silent":
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Println("Welcome to my server!\n{not json")
		time.Sleep(time.Hour)
	}
	s := newFixture()
	if mode == "lists" || mode == "calls" {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "tools/list" && mode == "lists" || method == "tools/call" || method == "resources/read" {
					fmt.Fprintln(os.Stderr, "license expired")
					os.Exit(1)
				}
				return next(ctx, method, r)
			}
		})
	}
	if mode == "dies" {
		s.AddTool(&mcp.Tool{Name: "die", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				os.Exit(0)
				return nil, nil
			})
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// olderServer speaks no revision that has server/discover: it ignores the request, or
// ends, or answers it too late.
func olderServer(mode string) {
	in := bufio.NewReader(os.Stdin)
	first, err := in.ReadBytes('\n')
	if err != nil {
		return
	}
	known := !bytes.Contains(first, []byte(discovery))
	if !known && mode == "leaves" {
		fmt.Fprintln(os.Stderr, "unknown method")
		os.Exit(1)
	}
	rest := io.Reader(in)
	if known {
		rest = io.MultiReader(bytes.NewReader(first), in)
	}
	if mode == "hushed" {
		go func() {
			time.Sleep(1500 * time.Millisecond)
			var m struct{ ID json.RawMessage }
			_ = json.Unmarshal(first, &m)
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"late"}}`+"\n", m.ID)
		}()
	}
	s := newFixture()
	_ = s.Run(context.Background(), &mcp.IOTransport{Reader: io.NopCloser(rest), Writer: os.Stdout})
}

func newFixture() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1"}, nil)
	add := func(name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	add("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := text("it went wrong")
		r.IsError = true
		return r, nil
	})
	add("slow", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done() // cancelled by the client
		if path := os.Getenv("MCP_CANCELLED"); path != "" {
			_ = os.WriteFile(path, []byte("cancelled"), 0o600)
		}
		return text("late"), nil
	})
	add("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Mode: "form",
				Message:         "your name?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}}}, nil
		}
		reply, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult)
		if !ok {
			return text("no reply"), nil
		}
		return text(fmt.Sprintf("%s %v", reply.Action, reply.Content["name"])), nil
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "grown", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("grown"), nil
			})
		return text("done"), nil
	})
	s.AddResource(&mcp.Resource{URI: "fixture://a", Name: "a"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "fixture://a", Text: "resource a"}}}, nil
		})
	return s
}

// program is a server that is this test, with the manners of mode.
func program(t testing.TB, name, mode string, env ...string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: self,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "MCP_FIXTURE=" + mode}, env...)}
}

func started(t testing.TB, o Options) *Manager {
	t.Helper()
	o.Name, o.Version = "kerf", "test"
	m := Start(o)
	t.Cleanup(m.Close)
	return m
}

func call(t *testing.T, m *Manager, tool, args string) Result {
	t.Helper()
	r, err := m.Call(t.Context(), tool, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestToolsOfAProgram(t *testing.T) {
	s := program(t, "fix", "good")
	s.Disabled = []string{"slow"}
	m := started(t, Options{Servers: []Server{s}})
	m.Settle(t.Context())
	var names []string
	for _, tool := range m.Tools() {
		names = append(names, tool.Qualified)
	}
	if d := cmp.Diff([]string{"mcp__fix__ask", "mcp__fix__echo", "mcp__fix__fails", "mcp__fix__grow"}, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if r := call(t, m, "mcp__fix__echo", `{"a":1}`); r.Text != `{"a":1}` || r.Failed {
		t.Errorf("echo returned %+v", r)
	}
	if r := call(t, m, "mcp__fix__fails", ""); r.Text != "it went wrong" || !r.Failed {
		t.Errorf("fails returned %+v", r)
	}
	if _, err := m.Call(t.Context(), "mcp__fix__slow", nil); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("a disabled tool gave %v", err)
	}
	list, err := m.Resources(t.Context(), "fix")
	if err != nil || !strings.Contains(list, "fixture://a") {
		t.Errorf("resources are %q, %v", list, err)
	}
	r, err := m.ReadResource(t.Context(), "fix", "fixture://a")
	if err != nil || r.Text != "resource a" {
		t.Errorf("the resource is %+v, %v", r, err)
	}
	if _, err := m.Resources(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "[fix]") {
		t.Errorf("an unknown server gave %v", err)
	}
}

func TestAToolListThatChangesIsFollowed(t *testing.T) {
	changed := make(chan struct{}, 10)
	m := started(t, Options{Servers: []Server{program(t, "fix", "good")}, Changed: func() { changed <- struct{}{} }})
	m.Settle(t.Context())
	call(t, m, "mcp__fix__grow", "")
	for {
		if _, ok := m.Lookup("mcp__fix__grown"); ok {
			break
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("the new tool did not come")
		}
	}
	if r := call(t, m, "mcp__fix__grown", ""); r.Text != "grown" {
		t.Errorf("grown returned %+v", r)
	}
}

func TestQuestionsReachTheUser(t *testing.T) {
	for name, test := range map[string]struct {
		reply Reply
		want  string
	}{
		"accepted": {Reply{"accept", map[string]any{"name": "Ada"}}, "accept Ada"},
		"declined": {Reply{Action: "decline"}, "decline <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked Elicitation
			m := started(t, Options{Servers: []Server{program(t, "fix", "good")},
				Elicit: func(_ context.Context, q Elicitation) (Reply, error) {
					asked = q
					return test.reply, nil
				}})
			m.Settle(t.Context())
			if r := call(t, m, "mcp__fix__ask", ""); r.Text != test.want {
				t.Errorf("ask returned %+v", r)
			}
			if asked.Server != "fix" || asked.Message != "your name?" || !strings.Contains(string(asked.Schema), "name") {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

func TestBrokenServersAreOneLineEach(t *testing.T) {
	slow := program(t, "silent", "silent")
	slow.StartupTimeout = 300 * time.Millisecond
	garbage := program(t, "garbage", "garbage")
	garbage.StartupTimeout = 2 * time.Second
	m := started(t, Options{Servers: []Server{
		program(t, "crash", "crash"), slow, garbage, {Name: "missing", Command: "/no/such/program"},
		{Name: "refused", URL: "http://127.0.0.1:1/mcp"}, {Name: "nourl", URL: "mailto:x"}, program(t, "good", "good")}})
	m.Settle(t.Context())
	want := map[string]string{"crash": "exit code 3: the port is taken", "silent": "did not start within 300ms",
		"missing": "not found",
		"refused": "refused", "nourl": "not an http address"}
	for _, s := range m.Status() {
		if part, ok := want[s.Name]; ok && (s.State != failed && s.State != starting || s.Error != "" &&
			!strings.Contains(s.Error, part)) {
			t.Errorf("%s is %s: %q, want %q", s.Name, s.State, s.Error, part)
		}
		if s.Name == "good" && s.State != ready {
			t.Errorf("the good server is %+v", s)
		}
		if len(s.Error) >= 600 || strings.ContainsAny(s.Error, "\n\r") {
			t.Errorf("%s tells %q", s.Name, s.Error)
		}
	}
	if _, err := m.Call(t.Context(), "mcp__silent__x", nil); err == nil || !strings.Contains(err.Error(), "silent") {
		t.Errorf("a tool of a failed server gave %v", err)
	}
}

func TestOlderServersAreSpokenTo(t *testing.T) {
	for _, mode := range []string{"ignores", "leaves", "hushed"} {
		t.Run(mode, func(t *testing.T) {
			s := program(t, mode, mode)
			s.StartupTimeout = 3 * time.Second
			m := started(t, Options{Servers: []Server{s}})
			m.Settle(t.Context())
			if st := m.Status()[0]; st.State != ready {
				t.Fatalf("the server is %s: %s", st.State, st.Error)
			}
			if mode == "hushed" {
				time.Sleep(time.Second) // the late answer comes and ends nothing
			}
			if r := call(t, m, "mcp__"+mode+"__echo", `{"a":1}`); r.Text != `{"a":1}` {
				t.Errorf("echo gives %q", r.Text)
			}
		})
	}
}

func TestServersAreToldWithTheirLastWords(t *testing.T) {
	for mode, want := range map[string]string{"license": "license expired", "later": "it ended with exit code 1: license expired",
		"lists": "it ended with exit code 1: license expired", "slow": "it ended with exit code 1: license expired",
		"crash": "it ended with exit code 3: the port is taken"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m := started(t, Options{Servers: []Server{program(t, "paid", mode)}})
			for m.Status()[0].State != failed {
				if t.Context().Err() != nil {
					t.Fatalf("the server is %+v", m.Status()[0])
				}
				time.Sleep(5 * time.Millisecond) // nothing tells when it has failed
			}
			got := m.Status()[0].Error
			if !strings.Contains(got, want) || strings.Contains(got, "killed") {
				t.Errorf("told is %q, want %q", got, want)
			}
		})
	}
}

// TestCallsAreToldHowTheServerEnded: what a program said at its end answers the request that
// it ended at.
func TestCallsAreToldHowTheServerEnded(t *testing.T) {
	m := started(t, Options{Servers: []Server{program(t, "paid", "calls")}})
	m.Settle(t.Context())
	for name, request := range map[string]func() error{
		"call": func() error { _, err := m.Call(t.Context(), "mcp__paid__echo", nil); return err },
		"read": func() error { _, err := m.ReadResource(t.Context(), "paid", "x:y"); return err },
	} {
		for { // its tools are gone until it is back
			err := request()
			if err == nil {
				t.Fatal(name, "was answered")
			}
			if strings.Contains(err.Error(), "it ended with exit code 1: license expired") {
				break
			}
			if !strings.Contains(err.Error(), "not available") && !strings.Contains(err.Error(), "starting") || t.Context().Err() != nil {
				t.Fatalf("%s: %v", name, err)
			}
			time.Sleep(5 * time.Millisecond) // nothing tells when the list is there again
		}
	}
}

func TestADeadServerComesBack(t *testing.T) {
	m := started(t, Options{Servers: []Server{program(t, "fix", "dies")}})
	m.Settle(t.Context())
	for range 2 {
		if _, err := m.Call(t.Context(), "mcp__fix__die", nil); err == nil || !strings.Contains(err.Error(), "fix") {
			t.Fatalf("the call that killed the server gave %v", err)
		}
		for { // its tools are gone until it is back
			r, err := m.Call(t.Context(), "mcp__fix__echo", json.RawMessage(`{}`))
			if err == nil && r.Text == "{}" {
				break
			}
			if t.Context().Err() != nil {
				t.Fatal("the server did not come back")
			}
			time.Sleep(5 * time.Millisecond) // nothing tells when the list is there again
		}
	}
}

func TestTimeIsUpAndTheServerIsTold(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "cancelled")
	s := program(t, "fix", "good", "MCP_CANCELLED="+mark)
	s.ToolTimeout = 100 * time.Millisecond
	m := started(t, Options{Servers: []Server{s}})
	m.Settle(t.Context())
	_, err := m.Call(t.Context(), "mcp__fix__slow", nil)
	if err == nil || !strings.Contains(err.Error(), "tool_timeout_sec") || !strings.Contains(err.Error(), "fix") {
		t.Errorf("the slow tool gave %v", err)
	}
	for t.Context().Err() == nil {
		if b, err := os.ReadFile(mark); err == nil && string(b) == "cancelled" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the server was not told")
}

func TestHeadersGoToTheServerAlone(t *testing.T) {
	var foreign atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" || r.Header.Get("Authorization") != "" {
			foreign.Store(true)
		}
	}))
	t.Cleanup(other.Close)
	var authorised atomic.Bool
	streams := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newFixture() }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorised.Store(r.Header.Get("X-Key") == "k" && r.Header.Get("Authorization") == "Bearer b")
		streams.ServeHTTP(w, r)
	}))
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	m := started(t, Options{Servers: []Server{
		{Name: "fix", URL: srv.URL + "/mcp", Headers: map[string]string{"X-Key": "k"}, Bearer: "b"},
		{Name: "away", URL: srv.URL + "/away", Headers: map[string]string{"X-Key": "k"}, Bearer: "b",
			StartupTimeout: time.Second}}})
	m.Settle(t.Context())
	if r := call(t, m, "mcp__fix__echo", `{"a":1}`); r.Text != `{"a":1}` || !authorised.Load() {
		t.Errorf("echo returned %+v, authorised %t", r, authorised.Load())
	}
	if foreign.Load() {
		t.Error("a redirect carried the headers away")
	}
}

func TestNamesAreSafeAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.String(), 2, 20).Draw(t, "names")
		server := rapid.String().Draw(t, "server")
		taken := map[string]bool{}
		seen := map[string]bool{}
		for _, n := range names {
			q := unique(qualify(server, n), server, n, taken)
			if len(q) > nameLimit || q != safe(q) || !strings.HasPrefix(q, "mcp__") {
				t.Fatalf("%q of %q became %q", n, server, q)
			}
			if seen[q] {
				t.Fatalf("%q came twice", q)
			}
			seen[q] = true
		}
	})
}

// BenchmarkStart is what ten servers cost whoever starts them: slow, broken and
// good ones alike.
func BenchmarkStart(b *testing.B) {
	var servers []Server
	for i := range 10 {
		servers = append(servers, program(b, fmt.Sprint("s", i), []string{"silent", "crash", "good"}[i%3]))
	}
	for b.Loop() {
		m := Start(Options{Servers: servers, Name: "kerf", Version: "test"})
		_ = m.Tools()
		b.StopTimer()
		m.Close()
		b.StartTimer()
	}
}
