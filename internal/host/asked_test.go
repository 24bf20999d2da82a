package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
	"kerf/internal/work/changes"
	"kerf/internal/work/check"
	"kerf/internal/work/mcpclient"
)

// configuredHost is a host that asks c, with this configuration, in which CWD stands for its directory.
func configuredHost(t *testing.T, c model.Client, toml string, env ...string) *Host {
	t.Helper()
	home, cwd := t.TempDir(), t.TempDir()
	toml = strings.ReplaceAll(toml, "CWD", cwd)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)
	lookup := func(name string) string {
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	cfg, _, err := config.Load(config.Options{Home: home, Cwd: cwd, Env: lookup})
	if err != nil {
		t.Fatal(err)
	}
	return &Host{Config: cfg, Env: env, Client: c}
}

const free = "model = 'm'\nmodel_provider = 'script'\nsandbox_mode = 'danger-full-access'\napproval_policy = 'never'\n"

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestThePromptIsShownWithoutAsking: the request is the one that the model would get; no model is asked
// and nothing is kept.
func TestThePromptIsShownWithoutAsking(t *testing.T) {
	c := &talker{}
	h := scripted(t, c)
	r, err := h.DebugPrompt(t.Context(), "", protocol.Settings{}, []protocol.Input{{Text: "well?"}})
	if err != nil || r.Model != "m" || len(r.Tools) == 0 || r.Items[len(r.Items)-1].Text() != "well?" {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(c.requests) != 0 {
		t.Errorf("the model was asked %d times", len(c.requests))
	}
	if list, err := h.Sessions().List(t.Context(), protocol.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%d sessions are kept, %v", len(list), err)
	}
	id := talk(t, h, protocol.OpenOptions{}, "before")
	r, err = h.DebugPrompt(t.Context(), string(id), protocol.Settings{}, []protocol.Input{{Text: "and?"}})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, it := range r.Items {
		text += it.Text() + "\n"
	}
	if !strings.Contains(text, "before") || !strings.HasSuffix(text, "and?\n") {
		t.Errorf("the next request of a session is %q", text)
	}
	if _, err := h.DebugPrompt(t.Context(), "none", protocol.Settings{}, nil); !errors.Is(err, protocol.ErrNoSession) {
		t.Errorf("of no session: %v", err)
	}
}

// TestWhatCannotBeRecordedDoesNotBegin: unless the user says so; an old session never goes on without its
// record.
func TestWhatCannotBeRecordedDoesNotBegin(t *testing.T) {
	h := scripted(t, &talker{})
	if err := os.WriteFile(h.SessionsDir(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(t.Context(), protocol.OpenOptions{}); err == nil || !strings.HasSuffix(err.Error(), "to go on without a record, add --unrecorded") {
		t.Errorf("opened: %v", err)
	}
	open(t, h, protocol.OpenOptions{Ephemeral: true}).say("this one keeps none")
	h.Unrecorded = true
	open(t, h, protocol.OpenOptions{}).say("hello")
	if _, err := h.Open(t.Context(), protocol.OpenOptions{Last: true}); err == nil || !strings.HasPrefix(err.Error(), "an earlier session cannot go on: ") {
		t.Errorf("resumed: %v", err)
	}
}

// TestSignInsToServers: each is kept by itself, and one that is not Kerf's says how to have another.
func TestSignInsToServers(t *testing.T) {
	h := configuredHost(t, nil, "mcp_oauth_credentials_store = 'file'\n[mcp_servers.a]\nurl = 'http://127.0.0.1:1/mcp'\n[mcp_servers.b]\n"+
		"command = '/bin/sh'\nargs = ['-c', 'exit 3']\n")
	m := h.MCP()
	if m.SignedIn("a") {
		t.Error("signed in to begin with")
	}
	if was, err := m.Logout("a"); was || err != nil {
		t.Errorf("signed out: %v, %v", was, err)
	}
	s, err := m.Server("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.grants(s).Save("a", &mcpclient.Grant{ClientID: "c"}); err != nil {
		t.Fatal(err)
	}
	g, err := h.MCP().grants(s).Load("a")
	if err != nil || g.ClientID != "c" || !m.SignedIn("a") || m.SignedIn("b") {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := m.grants(s).store.Put("mcp:a", auth.Credential{Key: "no JSON"}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.grants(s).Load("a"); err == nil || !strings.Contains(err.Error(), "sign in again with: kerf mcp login a") || m.SignedIn("a") {
		t.Errorf("of another program: %v", err)
	}
	if was, err := m.Logout("a"); !was || err != nil || m.SignedIn("a") {
		t.Errorf("signed out: %v, %v", was, err)
	}
	for what, err := range map[string]error{"logout": second(m.Logout("none")), "check": second(m.Check(t.Context(), "none")),
		"login": m.Login(t.Context(), "none", nil, nil)} {
		if err == nil || !strings.Contains(err.Error(), `no MCP server "none" is configured; kerf mcp list shows them`) {
			t.Errorf("%s of a server that there is not: %v", what, err)
		}
	}
	if st, err := m.Check(t.Context(), "b"); err != nil || st.State != "failed" || st.Name != "b" {
		t.Errorf("%+v, %v", st, err)
	}
	if err := m.Login(t.Context(), "a", nil, func(string) { t.Error("an address is shown") }); err == nil {
		t.Error("signed in to a server that does not answer")
	}
}

func second[T any](_ T, err error) error { return err }

// TestServersGetWhatIsNamed: of Kerf's environment and of the files, and nothing more.
func TestServersGetWhatIsNamed(t *testing.T) {
	h := configuredHost(t, nil, "[mcp_servers.a]\ncommand = 'run'\nargs = ['it']\nenv_vars = ['GIVEN', 'UNSET']\nenv = {PLAIN = 'p'}\n"+
		"[mcp_servers.b]\nurl = 'http://b.invalid'\nbearer_token_env_var = 'TOKEN'\nhttp_headers = {x-one = '1'}\nenv_http_headers = {x-two = 'TWO', x-three = 'UNSET'}\n"+
		"[mcp_servers.c]\nurl = 'http://c.invalid'\nenv_http_headers = {x-two = 'TWO'}\n[mcp_servers.off]\ncommand = 'x'\nenabled = false\n"+
		"[mcp_servers.needed]\ncommand = 'x'\nrequired = true\n[mcp_servers.needed.tools.drop]\napproval_mode = 'prompt'\n",
		"GIVEN=g", "TOKEN=t0ken", "TWO=2", "OTHER=o")
	list := h.MCP().servers(h.Config.Cwd, []protocol.MCPServer{{Name: "c", Command: "mine"}, {Name: "d", URL: "http://d.invalid"}})
	byName := map[string]mcpclient.Server{}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
		byName[s.Name] = s
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d", "needed"}) {
		t.Errorf("servers %q", names)
	}
	env := strings.Join(byName["a"].Env, "\n")
	if !strings.Contains(env, "GIVEN=g") || !strings.Contains(env, "PLAIN=p") || strings.Contains(env, "OTHER") || strings.Contains(env, "TOKEN") || strings.Contains(env, "UNSET") {
		t.Errorf("a gets %q", env)
	}
	b := byName["b"]
	if b.Bearer != "t0ken" || b.Headers["x-one"] != "1" || b.Headers["x-two"] != "2" || len(b.Headers) != 2 || b.Store != nil {
		t.Errorf("b is reached with %+v", b)
	}
	if c := byName["c"]; c.Command != "mine" || c.URL != "" {
		t.Errorf("the front end's does not count: %+v", c)
	}
	if d := byName["d"]; d.Store == nil {
		t.Error("nobody can sign in to d")
	}
	if got := h.MCP().required(); !slices.Equal(got, []string{"needed"}) {
		t.Errorf("required: %q", got)
	}
	if got := h.MCP().approval("needed", "drop"); got != "prompt" {
		t.Errorf("a tool of its own is %q", got)
	}
}

// TestSecretsOfTheConfigurationAreNotRepeated: headers, variables and addresses that hold any.
func TestSecretsOfTheConfigurationAreNotRepeated(t *testing.T) {
	h := configuredHost(t, &talker{}, free+"[mcp_servers.a]\nurl = 'http://user:adress-pw@127.0.0.1:1/mcp'\nenabled = false\nhttp_headers = {authorization = 'Bearer header-pw'}\n"+
		"env_http_headers = {x-api-key = 'HEADERVALUE'}\nbearer_token_env_var = 'BEARERVALUE'\n[mcp_servers.b]\ncommand = 'x'\nenabled = false\nenv = {DB_PASSWORD = 'server-pw', PLAIN = 'a-plain-word'}\n"+
		"[model_providers.p]\nname = 'p'\nbase_url = 'http://user:provider-pw@127.0.0.1:1'\nenv_key = 'KEYVALUE'\nhttp_headers = {x-secret = 'other-header-pw'}\nquery_params = {api_token = 'query-pw'}\n",
		"HEADERVALUE=from-the-header", "BEARERVALUE=from-the-bearer", "KEYVALUE=from-the-key")
	open(t, h, protocol.OpenOptions{}).say("hello")
	for _, secret := range []string{"adress-pw", "header-pw", "from-the-header", "from-the-bearer", "server-pw", "provider-pw", "from-the-key", "other-header-pw", "query-pw"} {
		if got := h.Redact("it says " + secret + "."); strings.Contains(got, secret) {
			t.Errorf("%s is repeated: %q", secret, got)
		}
	}
	if got := h.Redact("it says a-plain-word."); got != "it says a-plain-word." {
		t.Errorf("a word that is no secret: %q", got)
	}
	if !SecretName("MY_TOKEN") || SecretName("MY_NAME") {
		t.Error("names of secrets")
	}
}

// TestRulesOfAProjectGiveNoFreedom: one that would leave the sandbox is a fault of its file and line.
func TestRulesOfAProjectGiveNoFreedom(t *testing.T) {
	h := configuredHost(t, nil, free+"[projects.'CWD']\ntrust_level = 'trusted'\n")
	if !h.Trusted() {
		t.Fatal("the project is not trusted")
	}
	putFile(t, filepath.Join(h.Config.Home, "rules", "mine.rules"), "make test -> allow unsandboxed\n")
	putFile(t, filepath.Join(h.Config.Cwd, ".kerf", "rules", "ours.rules"), "make vet -> allow\n")
	if list, err := h.Rules(); err != nil || len(list) != 2 || !list[0].Unsandboxed || list[1].Unsandboxed {
		t.Errorf("%+v, %v", list, err)
	}
	for text, want := range map[string]string{"ls -> allow\nmake vet -> allow unsandboxed\n": "a project's rule cannot say unsandboxed", "\nls -> maybe\n": ""} {
		putFile(t, filepath.Join(h.Config.Cwd, ".kerf", "rules", "ours.rules"), text)
		var fault *config.Error
		if _, err := h.Rules(); !errors.As(err, &fault) || fault.Line != 2 || !strings.HasSuffix(fault.File, "ours.rules") || !strings.Contains(fault.Message, want) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := h.Open(t.Context(), protocol.OpenOptions{}); !errors.As(err, &fault) {
			t.Errorf("a session begins without a rule: %v", err)
		}
	}
}

// TestWhatWouldHappen: to a path, a host and a command, in the words of the plan that would hold here.
func TestWhatWouldHappen(t *testing.T) {
	h := configuredHost(t, nil, "model = 'm'\nmodel_provider = 'script'\nsandbox_mode = 'workspace-write'\napproval_policy = 'on-request'\n", "SHELL=/bin/bash")
	cwd, err := filepath.EvalSymlinks(h.Config.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]boundary.Reach{"new.txt": boundary.Writable, "/usr/new.txt": boundary.Readable} {
		real, v, mode, err := h.ExplainPath(path, protocol.Settings{}, nil)
		if err != nil || v.Access != want || mode != protocol.SandboxWorkspace || v.Why == "" && want != boundary.Writable {
			t.Errorf("%s: %q, %+v, %s, %v", path, real, v, mode, err)
		}
		if path == "new.txt" && real != filepath.Join(cwd, path) {
			t.Errorf("%s is %s", path, real)
		}
	}
	if _, v, mode, err := h.ExplainPath("new.txt", protocol.Settings{Sandbox: protocol.SandboxReadOnly}, nil); err != nil || v.Access != boundary.Readable ||
		mode != protocol.SandboxReadOnly {
		t.Errorf("read-only: %+v, %s, %v", v, mode, err)
	}
	if v, mode, err := ExplainHost(h, "example.org", 443, protocol.Settings{}); err != nil || v.Access != boundary.Hidden || mode != protocol.SandboxWorkspace {
		t.Errorf("a host: %+v, %s, %v", v, mode, err)
	}
	if v, _, err := ExplainHost(h, "example.org", 443, protocol.Settings{Sandbox: protocol.SandboxFull}); err != nil || v.Access == boundary.Hidden {
		t.Errorf("a host, with full access: %+v, %v", v, err)
	}
	if why := Hidden(h, nil)(filepath.Join(cwd, "f")); why != "" {
		t.Errorf("a file is hidden: %s", why)
	}
	if why := Hidden(h, nil)(filepath.Join(h.Config.Home, "auth.json")); why == "" {
		t.Error("Kerf's keys can be seen")
	}
	safe, err := Safety(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		argv []string
		asks bool
	}{{[]string{"ls"}, false}, {[]string{"rm", "-rf", "x"}, true}} {
		if e, err := safe(c.argv); err != nil || (e.Verdict != 0) != c.asks {
			t.Errorf("%q: %+v, %v", c.argv, e, err)
		}
	}
}

// TestProgramsAsTheyAreRun: in the sandbox that is asked for, where the user is, and with a name that
// tells no secret.
func TestProgramsAsTheyAreRun(t *testing.T) {
	h := configuredHost(t, nil, free, "MY_TOKEN=hunter2hunter2", "TERM=dumb")
	c, err := h.Sandboxed("read-only", nil, []string{"ls"})
	if err != nil || c.Full || c.Dir != h.Config.Cwd || c.Policy.Mode != "read-only" || !slices.Equal(c.Argv, []string{"ls"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if env := strings.Join(c.Env(true), "\n"); !strings.Contains(env, "TERM=dumb") || strings.Contains(env, "hunter2") {
		t.Errorf("on a terminal it gets %q", env)
	}
	if c, err = h.Sandboxed("", nil, []string{"ls"}); err != nil || !c.Full {
		t.Errorf("as configured: %+v, %v", c, err)
	}
	if _, err := h.Sandboxed("tight", nil, nil); err == nil {
		t.Error("there is no such mode")
	}
	g, err := h.Guarded("", nil, []string{"echo", "hunter2hunter2", strings.Repeat("x", 500)})
	if err != nil || g.Sandbox != nil || strings.Contains(g.Name, "hunter2") || len([]rune(g.Name)) > maxName+1 {
		t.Errorf("%+v, %v", g, err)
	}
	ws, err := g.Open()
	if err != nil {
		t.Fatal(err)
	}
	_ = ws.Close()
	if g, err = h.Guarded("workspace-write", nil, []string{"ls"}); err != nil || g.Sandbox == nil || g.Sandbox.Full {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err = h.Guarded("", []string{"/no/such/place"}, nil); err == nil {
		t.Error("a directory that there is not is a root")
	}
}

// TestOneToolWithoutAModel: as `kerf tool` runs them.
func TestOneToolWithoutAModel(t *testing.T) {
	h := scripted(t, nil)
	tool := func(name, args string) (bool, string) {
		t.Helper()
		r, err := h.Tool(t.Context(), name, json.RawMessage(args), protocol.Settings{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := r.Output
		if r.Error != nil {
			text += r.Error.Code + " " + r.Error.Message
		}
		return r.Success, text
	}
	if ok, text := tool("write_file", `{"file_path":"f","content":"one\n"}`); !ok {
		t.Error(text)
	}
	if ok, text := tool("read_file", `{"file_path":"f"}`); !ok || !strings.Contains(text, "one") {
		t.Error(text)
	}
	if ok, text := tool("exec_command", `{"cmd":"echo out; exit 3"}`); ok || !strings.Contains(text, "out") || !strings.Contains(text, "COMMAND_FAILED") {
		t.Errorf("a command that fails: %v, %q", ok, text)
	}
	if ok, text := tool("fly", `{}`); ok || !strings.Contains(text, "UNKNOWN_TOOL") {
		t.Errorf("no tool: %v, %q", ok, text)
	}
	if _, err := h.Tool(t.Context(), "read_file", nil, protocol.Settings{Sandbox: "tight"}, nil); err == nil {
		t.Error("there is no such mode")
	}
	reads := func(r changes.Reader) error {
		list, err := r.Log(changes.Filter{})
		if err != nil || len(list) == 0 || list[len(list)-1].Client != "tool" {
			t.Errorf("%d entries of what a tool changed, %v", len(list), err)
		}
		return nil
	}
	if err := h.configured().reading(h.Config.Cwd, reads); err != nil {
		t.Error(err)
	}
}

// TestChecksRunAgain: those of a project that is trusted.
func TestChecksRunAgain(t *testing.T) {
	h := configuredHost(t, nil, free)
	if _, err := Check(t.Context(), h, check.Moment{When: check.Verify}); err == nil || !strings.Contains(err.Error(), "no checks are configured") {
		t.Errorf("without checks: %v", err)
	}
	checks := "[[checks]]\nname = 'good'\ncommand = 'true'\nwhen = 'edit'\n[[checks]]\nname = 'bad'\ncommand = 'echo broken; exit 1'\nwhen = 'edit'\n"
	h = configuredHost(t, nil, free+checks)
	if _, err := Check(t.Context(), h, check.Moment{}); err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("not trusted: %v", err)
	}
	h = configuredHost(t, nil, free+checks+"[projects.'CWD']\ntrust_level = 'trusted'\n")
	list, err := Check(t.Context(), h, check.Moment{})
	if err != nil || len(list) != 2 || list[0].Check.Name != "good" || list[0].Exit != 0 || list[1].Exit != 1 || !strings.Contains(list[1].Output, "broken") {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestWhatFrontEndsAsk: files by a part of their names, and what they need on this machine.
func TestWhatFrontEndsAsk(t *testing.T) {
	h := scripted(t, &talker{})
	putFile(t, filepath.Join(h.Config.Cwd, "some", "parser.go"), "package some\n\nfunc ParseAll() {}\n")
	putFile(t, filepath.Join(h.Config.Cwd, "other.txt"), "x\n")
	q := h.Query()
	for _, cwd := range []string{"", h.Config.Cwd} {
		if list, err := q.Files(t.Context(), cwd, "pars", 10); err != nil || !slices.Equal(list, []string{"some/parser.go"}) {
			t.Errorf("%q, %v", list, err)
		}
	}
	list, err := q.Mentions(t.Context(), "", "Pars", 10)
	if err != nil || !slices.ContainsFunc(list, func(m protocol.Mention) bool { return strings.HasPrefix(m.Text, "some/parser.go") }) {
		t.Errorf("%+v, %v", list, err)
	}
	checks, err := q.Check(t.Context())
	if err != nil || len(checks) == 0 || slices.ContainsFunc(checks, func(c protocol.Check) bool { return c.Name == "" }) {
		t.Errorf("%+v, %v", checks, err)
	}
}

// TestSessionsAreFoundWhereverTheyWorked: also when their directory is gone.
func TestSessionsAreFoundWhereverTheyWorked(t *testing.T) {
	h := scripted(t, caller("write_file", map[string]any{"file_path": "f", "content": "x\n"}))
	id := talk(t, h, protocol.OpenOptions{}, "change it")
	info, err := h.FindSession("")
	if err != nil || info.ID != id {
		t.Fatalf("%+v, %v", info, err)
	}
	if err := os.RemoveAll(h.Config.Cwd); err != nil {
		t.Fatal(err)
	}
	read := func() (n int, err error) {
		err = h.ReadSession(string(id)[:13], func(r changes.Reader, full string) error {
			list, err := r.Log(changes.Filter{})
			if n = len(list); full != string(id) {
				t.Errorf("it is called %s", full)
			}
			return err
		})
		return n, err
	}
	if n, err := read(); err != nil || n == 0 {
		t.Errorf("%d changes, %v", n, err)
	}
	if err := os.Remove(filepath.Join(h.SessionsDir(), string(id), "metadata.json")); err != nil {
		t.Logf("no metadata to lose: %v", err)
	}
	if n, err := read(); err != nil || n == 0 {
		t.Errorf("without metadata %d changes, %v", n, err)
	}
	if err := h.ReadSession("none", nil); !errors.Is(err, protocol.ErrNoSession) {
		t.Errorf("of no session: %v", err)
	}
	if r := h.Retention(); r.Home != h.Config.Home || r.Sessions != h.SessionsDir() || r.Keep.Most <= r.Keep.Least {
		t.Errorf("%+v", r)
	}
}

// TestASessionIsPlayedAgainElsewhere: in a home of its own, with nothing of the user's servers and hooks.
func TestASessionIsPlayedAgainElsewhere(t *testing.T) {
	h := scripted(t, &talker{})
	h.Config.MCPServers = troubled()
	home, cwd := t.TempDir(), t.TempDir()
	s, dir, err := h.opener().openScratch(t.Context(), home, protocol.Settings{Cwd: cwd}, &talker{})
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, Session: s}
	l.say("again")
	shut(t, l)
	if _, err := os.Stat(filepath.Join(dir, "rollout.jsonl")); err != nil || !strings.HasPrefix(dir, home) {
		t.Errorf("recorded in %s: %v", dir, err)
	}
	if list, err := h.Sessions().List(t.Context(), protocol.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%d sessions of the user's own, %v", len(list), err)
	}
}

// TestHooksOfTheUser run with her shell and know the project; one that cannot be understood is a fault of the
// configuration.
func TestHooksOfTheUser(t *testing.T) {
	h := scripted(t, &talker{})
	putFile(t, filepath.Join(h.Config.Home, "hooks.json"), `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo \"$CLAUDE_PROJECT_DIR\" >> '`+
		filepath.Join(h.Config.Home, "seen")+`'"}]}]}}`)
	open(t, h, protocol.OpenOptions{}).say("hello")
	if b, err := os.ReadFile(filepath.Join(h.Config.Home, "seen")); err != nil || strings.TrimSpace(string(b)) != h.Config.Root {
		t.Errorf("the hook was told %q, %v", b, err)
	}
	putFile(t, filepath.Join(h.Config.Home, "hooks.json"), `{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[{"type":"command","command":"true"}]}]}}`)
	_, err := h.Open(t.Context(), protocol.OpenOptions{})
	var fault interface{ ExitCode() int }
	if !errors.As(err, &fault) || fault.ExitCode() != 2 {
		t.Errorf("opened with a hook that cannot be understood: %v", err)
	}
	for shell, want := range map[string]string{"/bin/bash": "/bin/bash", "/usr/bin/fish": "/bin/sh", "": "/bin/sh"} {
		c := configured{h.Config, []string{"SHELL=" + shell}, nil, nil}
		if got := c.hookShell(); got != want {
			t.Errorf("hooks of %q run with %s", shell, got)
		}
	}
}

// TestTokensOfAProgram: it is the user's, asked once, and what it prints is a secret.
func TestTokensOfAProgram(t *testing.T) {
	h := configuredHost(t, nil, "[model_providers.p]\nname = 'p'\nbase_url = 'http://127.0.0.1:1'\nwire_api = 'chat'\n[model_providers.p.auth]\ncommand = '/bin/sh'\nargs = ['-c', 'echo printed-token']\n")
	k, err := h.Keys().Key("p")
	if err != nil {
		t.Fatal(err)
	}
	if token, err := k.Get(t.Context()); err != nil || token != "printed-token" {
		t.Errorf("%q, %v", token, err)
	}
	if got := h.Redact("printed-token"); got == "printed-token" {
		t.Error("the token is no secret")
	}
	if first, second := h.Providers(), h.Providers(); first != second {
		t.Error("the providers are made twice for one configuration")
	}
	h.Use(configuredHost(t, nil, "model_provider = 'openai'\nmodel = 'gpt-5'\n").Config, []string{"mind"})
	var missing *protocol.CredentialsError
	if err := h.Ready(); !errors.As(err, &missing) || missing.Provider != "openai" {
		t.Errorf("without a key it is ready: %v", err)
	}
	if !slices.Equal(h.Warnings, []string{"mind"}) {
		t.Errorf("warnings %q", h.Warnings)
	}
	if dollars, known := h.Price("gpt-5", protocol.Usage{Input: 1_000_000}); !known || dollars <= 0 {
		t.Errorf("a million tokens cost %g, %v", dollars, known)
	}
	if _, known := h.Price("no-such-model", protocol.Usage{Input: 1}); known {
		t.Error("a model that nobody knows has a price")
	}
}

// TestRepositories: whether the directory is in one, and whether all in it is committed.
func TestRepositories(t *testing.T) {
	h := scripted(t, &talker{})
	if h.InGit() || h.Clean(t.Context()) {
		t.Error("an empty directory is a clean repository")
	}
	if h.Getenv("SHELL") != "/bin/bash" || h.Getenv("NONE") != "" {
		t.Errorf("SHELL is %q", h.Getenv("SHELL"))
	}
	ws, err := h.OpenWorkspace(WorkspaceOptions{})
	if err != nil || ws.Base() != cmp.Or(ws.Base(), h.Config.Cwd) {
		t.Fatal(err)
	}
	_ = ws.Close()
}

// TestTheFileEngine serves clients that bring a model of their own.
func TestTheFileEngine(t *testing.T) {
	h := scripted(t, nil)
	e := h.Engine(nil)
	if len(e.Tools()) == 0 {
		t.Fatal("there are no tools")
	}
	c, err := e.Connect(t.Context(), protocol.EngineOptions{Client: "an editor"})
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Call(t.Context(), "write_file", json.RawMessage(`{"file_path":"f","content":"x\n"}`)); a.Failed {
		t.Errorf("%+v", a)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(h.Config.Cwd, "f")); err != nil || string(b) != "x\n" {
		t.Errorf("%q, %v", b, err)
	}
}
