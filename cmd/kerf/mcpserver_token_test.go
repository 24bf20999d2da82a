//go:build unix

//lint:file-ignore SA1019 clients still send roots, which later revisions of the protocol take away.

package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/testkit/modeltest"
)

// overHTTP starts kerf mcp-server --http and returns its address and the token that it
// printed, "" if it printed none.
func (v *victim) overHTTP(args ...string) (url, token string) {
	v.t.Helper()
	cmd := v.command(context.Background(), append([]string{"mcp-server", "--http", "127.0.0.1:0"}, args...)...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { v.ended(cmd) })
	said := make(chan string, 8)
	go func() { // ends with the program
		defer close(said)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	address, secret := regexp.MustCompile(`http://\S+/mcp`), regexp.MustCompile(`the token of this run: (\S+)`)
	for wait := time.After(runLimit); ; {
		select {
		case line, ok := <-said:
			if !ok {
				v.t.Fatalf("the server ended; address %q", url)
			}
			if a := address.FindString(line); a != "" {
				url = a
			}
			if m := secret.FindStringSubmatch(line); m != nil {
				return url, m[1]
			}
		case <-time.After(time.Second):
			if url != "" {
				return url, ""
			}
		case <-wait:
			v.t.Fatal("the server does not serve")
		}
	}
}

func (v *victim) ended(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		v.t.Errorf("after SIGTERM the server ended with %v", err)
	}
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// reads has the client of the official SDK read a file over HTTP.
func reads(t *testing.T, url, token string) (string, error) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file",
		Arguments: map[string]any{"file_path": "a.txt"}})
	if err != nil {
		return "", err
	}
	return textOf(res), nil
}

// TestSEC_MCPOverHTTPHasBounds: a client that knows the token still names no root and no
// working directory beside those of the user.
func TestSEC_MCPOverHTTPHasBounds(t *testing.T) {
	v := newVictim(t)
	v.write("a.txt", "the content\n")
	v.write("sub/a.txt", "the content below\n")
	elsewhere, added := t.TempDir(), t.TempDir()
	v.serve("", slices.Repeat([]modeltest.Round{modeltest.Answer(modeltest.Message("said"))}, 20)...)
	recorded := map[string]string{v.repo: "", elsewhere: ""}
	for dir := range recorded {
		out, err := v.command(t.Context(), "exec", "--skip-git-repo-check", "--json", "-C", dir, "hello").CombinedOutput()
		id := regexp.MustCompile(`"thread_id":"([^"]+)"`).FindSubmatch(out)
		if err != nil || id == nil {
			t.Fatalf("%v: %s", err, out)
		}
		recorded[dir] = string(id[1])
	}
	for _, dir := range []string{elsewhere, added} {
		write(t, filepath.Join(dir, "a.txt"), "the content of another\n")
	}
	if err := os.Symlink(elsewhere, filepath.Join(v.repo, "link")); err != nil {
		t.Fatal(err)
	}
	url, token := v.overHTTP("--add-dir", added)
	for _, tt := range []struct {
		root, then string
		denied     bool
	}{
		{v.repo, "", false}, {filepath.Join(v.repo, "sub"), "", false}, {added, "", false},
		{elsewhere, "", true}, {"/", "", true}, {filepath.Dir(v.repo), "", true}, {filepath.Join(v.repo, "link"), "", true},
		{v.repo, elsewhere, true},
	} {
		// Where roots move they do so in a connection, which the newest revision does not have.
		options := &mcp.ClientSessionOptions{}
		if tt.then != "" {
			options.ProtocolVersion = "2025-11-25"
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, nil)
		client.AddRoots(&mcp.Root{URI: "file://" + tt.root})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
			HTTPClient: &http.Client{Transport: bearer(token)}}, options)
		if err != nil {
			t.Fatal(err)
		}
		call := func(tool string, args map[string]any) string {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				return err.Error()
			}
			return textOf(res)
		}
		root := tt.root
		if tt.then != "" { // it moves
			if got := call("read_file", map[string]any{"file_path": "a.txt"}); !strings.Contains(got, "the content") {
				t.Errorf("%s: %s", tt.root, got)
			}
			root = tt.then
			client.RemoveRoots("file://" + tt.root)
			client.AddRoots(&mcp.Root{URI: "file://" + root})
			for !strings.Contains(call("log", nil), "is outside of what this server may reach") {
				if t.Context().Err() != nil { // the server has not heard of it yet
					t.Fatal("the roots do not move")
				}
			}
		}
		for tool, args := range map[string]map[string]any{
			"read_file":  {"file_path": filepath.Join(root, "a.txt")},
			"write_file": {"file_path": filepath.Join(root, "b.txt"), "content": "mine\n"},
			"kerf":       {"prompt": "hello", "cwd": root},
		} {
			got := call(tool, args)
			denied := strings.Contains(got, "is outside of what this server may reach")
			if tt.then != "" && tool != "kerf" { // told once, it goes on where it was
				denied = strings.Contains(got, "OUTSIDE_WORKSPACE")
			}
			if denied != tt.denied {
				t.Errorf("%s in %s: %s", tool, root, got)
			}
		}
		for dir, id := range recorded {
			got := call("kerf-reply", map[string]any{"prompt": "hello", "threadId": id})
			if strings.Contains(got, "is outside of what this server may reach") != (dir == elsewhere) {
				t.Errorf("a session of %s: %s", dir, got)
			}
		}
		_ = session.Close()
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "b.txt")); err == nil {
		t.Error("a client wrote where the user named nothing")
	}
}

// TestSEC_MCPOverHTTPIsNoWiderThanConfigured: a client that knows the token chooses nothing that
// the user's configuration does not allow, and lets no command out by its own answer.
func TestSEC_MCPOverHTTPIsNoWiderThanConfigured(t *testing.T) {
	const workspace, full, reading = "workspace-write", "danger-full-access", "read-only"
	type call struct{ sandbox, approval, denied string }
	for name, test := range map[string]struct {
		config  string
		args    []string
		calls   []call
		escapes bool // a command that the model wants outside runs there, once the client says yes
	}{
		"nothing configured": {calls: []call{{full, "", "wider"}, {full, "never", "wider"}, {workspace, "never", ""}, {reading, "", ""}}},
		"read-only":          {config: "sandbox_mode = 'read-only'\n", calls: []call{{workspace, "", "wider"}, {reading, "", ""}}},
		"untrusted": {config: "approval_policy = 'untrusted'\n",
			calls: []call{{workspace, "never", "asks about less"}, {workspace, "on-request", "asks about less"}, {workspace, "plan", ""}}},
		"never": {config: "approval_policy = 'never'\n", calls: []call{{full, "", "wider"}, {workspace, "on-request", ""}}},
		"full access": {config: "sandbox_mode = 'danger-full-access'\n", escapes: true,
			calls: []call{{full, "never", ""}, {reading, "", ""}}},
		"the flag": {args: []string{"--allow-full-access"}, escapes: true, calls: []call{{full, "never", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			v.write("a.txt", "the content\n")
			escape := modeltest.Answer(modeltest.Call("exec_command", map[string]any{
				"cmd": "touch " + filepath.Join(v.base, "outside-ran"), "sandbox_permissions": "require_escalated", "justification": "to see"}))
			said := modeltest.Answer(modeltest.Message("said"))
			rounds := []modeltest.Round{escape, said}
			for range test.calls {
				rounds = append(rounds, said)
			}
			v.serve("", rounds...)
			v.settings(test.config)
			url, token := v.overHTTP(test.args...)
			asked := 0
			client := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					return &mcp.ElicitResult{Action: "accept"}, nil
				}})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
				HTTPClient: &http.Client{Transport: bearer(token)}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			ask := func(args map[string]any) string {
				args["prompt"] = "go"
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "kerf", Arguments: args})
				if err != nil {
					return err.Error()
				}
				return textOf(res)
			}
			wanted := map[string]any{"sandbox": workspace, "approval-policy": "on-request"}
			switch name {
			case "read-only":
				wanted["sandbox"] = reading
			case "untrusted":
				delete(wanted, "approval-policy")
			}
			if got := ask(wanted); !strings.Contains(got, "said") {
				t.Errorf("the model's escape: %s", got)
			}
			_, err = os.Stat(filepath.Join(v.base, "outside-ran"))
			if (err == nil) != test.escapes || (asked > 0) != test.escapes {
				t.Errorf("ran outside: %t, asked %d", err == nil, asked)
			}
			for _, c := range test.calls {
				args := map[string]any{"sandbox": c.sandbox}
				if c.approval != "" {
					args["approval-policy"] = c.approval
				}
				got := ask(args)
				if c.denied == "" && !strings.Contains(got, "said") || c.denied != "" && (!strings.HasPrefix(got,
					"the agent could not be started: DENIED: ") || !strings.Contains(got, c.denied)) {
					t.Errorf("%+v: %s", c, got)
				}
			}
		})
	}
}

// TestSEC_MCPRootsOpenNothingHidden: a root or a working directory that a client names opens no
// place that is hidden, over streams and over HTTP; one that the user named does.
func TestSEC_MCPRootsOpenNothingHidden(t *testing.T) {
	v := newVictim(t)
	v.write("a.txt", "the content\n")
	keys := filepath.Join(v.home, ".ssh", "below")
	v.write(filepath.Join(keys, "a.txt"), "HUSH\n")
	v.write(filepath.Join(v.home, "open", "a.txt"), "the content\n")
	v.write(filepath.Join(v.repo, "private", "sub", "a.txt"), "HUSH\n")
	for name, to := range map[string]string{"link": filepath.Dir(keys), "plain": filepath.Join(v.home, "open")} {
		if err := os.Symlink(to, filepath.Join(v.repo, name)); err != nil {
			t.Fatal(err)
		}
	}
	said := modeltest.Answer(modeltest.Message("said"))
	v.serve("[permissions.mine.filesystem]\n'private' = 'none'\n", slices.Repeat([]modeltest.Round{said}, 40)...)
	v.settings("default_permissions = 'mine'\n")
	for _, tt := range []struct {
		root   string
		args   []string // of the server
		hidden bool
	}{
		{root: filepath.Dir(keys), hidden: true}, {root: keys, hidden: true}, {root: filepath.Join(v.repo, "link", "below"), hidden: true},
		{root: filepath.Join(v.repo, "private", "sub"), hidden: true}, {root: filepath.Join(v.home, ".kerf"), hidden: true},
		{root: filepath.Join(v.home, "open")}, {root: filepath.Join(v.repo, "plain")},
		{root: keys, args: []string{"--add-dir", filepath.Dir(keys)}}, {root: v.repo},
	} {
		for _, http := range []bool{false, true} {
			args := slices.Clone(tt.args)
			if http {
				args = append(args, "--add-dir", v.base)
			}
			got := v.named(t, tt.root, http, args)
			for what, text := range got {
				if strings.Contains(text, "is hidden from clients") != tt.hidden || tt.hidden && strings.Contains(text, "HUSH") {
					t.Errorf("%s as a root, %q, over HTTP %t: %s: %s", tt.root, tt.args, http, what, text)
				}
			}
		}
	}
}

// named is what a client is told that names a root, by tool.
func (v *victim) named(t *testing.T, root string, overHTTP bool, args []string) map[string]string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file://" + root})
	var transport mcp.Transport
	if overHTTP {
		url, token := v.overHTTP(args...)
		transport = &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}
	} else {
		transport = &mcp.CommandTransport{Command: v.command(context.Background(), append([]string{"mcp-server"}, args...)...)}
	}
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	got := map[string]string{}
	for tool, args := range map[string]map[string]any{
		"read_file": {"file_path": "a.txt"}, "write_file": {"file_path": "b.txt", "content": "mine\n"},
		"kerf": {"prompt": "hello", "cwd": root},
	} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			got[tool] = err.Error()
		} else {
			got[tool] = textOf(res)
		}
	}
	return got
}

// TestSEC_MCPOverHTTPAlwaysWantsAToken: whoever reaches the port of a server that was
// started without a token still cannot use it.
func TestSEC_MCPOverHTTPAlwaysWantsAToken(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		env   string
		token string // the one that counts; "" means that which was printed
	}{
		"made":     {},
		"flag":     {args: []string{"--token", "a-secret-token"}, token: "a-secret-token"},
		"variable": {env: "KERF_MCP_TOKEN=from-the-environment", token: "from-the-environment"},
		"file":     {args: []string{"--token-file", "FILE"}, token: "from-the-file"},
		"file before variable": {args: []string{"--token-file", "FILE"}, env: "KERF_MCP_TOKEN=from-the-environment",
			token: "from-the-file"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			v.write("a.txt", "the content\n")
			file := v.write(filepath.Join(v.base, "token"), "from-the-file\n")
			for i := range test.args {
				test.args[i] = strings.ReplaceAll(test.args[i], "FILE", file)
			}
			if test.env != "" {
				v.env = append(v.env, test.env)
			}
			url, printed := v.overHTTP(test.args...)
			if (printed == "") == (test.token == "") {
				t.Fatalf("printed %q", printed)
			}
			token := test.token + printed
			if got, err := reads(t, url, token); err != nil || !strings.Contains(got, "the content") {
				t.Errorf("control: with the token: %q, %v", got, err)
			}
			for _, wrong := range []string{"", "x", token[:len(token)-1], token + "x", strings.ToLower(token) + "X"} {
				if got, err := reads(t, url, wrong); err == nil {
					t.Errorf("with the token %q: %q", wrong, got)
				}
			}
		})
	}
}

// TestMCPTokensThatCannotBeUsed are refused before anything is opened.
func TestMCPTokensThatCannotBeUsed(t *testing.T) {
	v := newVictim(t)
	empty := v.write(filepath.Join(v.base, "token"), "\n")
	for _, args := range [][]string{{"--token", "short"}, {"--token", "with a space in it"}, {"--token-file", empty},
		{"--token-file", empty, "--token", "a-secret-token"}} {
		r := v.run(append([]string{"mcp-server", "--http", "127.0.0.1:0"}, args...)...)
		if r.code != 2 || strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "serving") {
			t.Errorf("%q: code %d, %s", args, r.code, r.err)
		}
	}
}
