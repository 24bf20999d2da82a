package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"kerf/internal/testkit/modeltest"
)

// planted are the forty secrets by the place where each stands.
type planted struct {
	env, mcpEnv, headers, urls, remotes, printed []string
	key                                          string
}

func (p planted) all() []string {
	all := []string{p.key}
	for _, l := range [][]string{p.env, p.mcpEnv, p.headers, p.urls, p.remotes, p.printed} {
		all = append(all, l...)
	}
	return all
}

func plant() planted {
	p := planted{key: "auth-file-key-0123456789abcdef"}
	for i, shape := range []string{"env%02dplain%dvalue", "env %02d with blanks \"%d\" quoted", "env/%02d+%d=&%%é"} {
		for j := range 5 {
			p.env = append(p.env, fmt.Sprintf(shape, i, j))
		}
	}
	for i := range 5 {
		p.mcpEnv = append(p.mcpEnv, fmt.Sprintf("mcp-env-secret-%d-x9", i))
		p.headers = append(p.headers, fmt.Sprintf("header-secret-%d-x9y8", i))
	}
	for i := range 3 {
		p.urls = append(p.urls, fmt.Sprintf("url-password-%d-x9y8", i))
	}
	p.remotes = []string{"remote-password-1x9", "tokenInPlaceOfTheUser0123456789"}
	p.printed = []string{"sk-" + strings.Repeat("aB3d", 8), "ghp_" + strings.Repeat("aB3d", 9), "github_pat_" +
		strings.Repeat("aB3d", 8), "glpat-" + strings.Repeat("aB3d", 6), "AKIA" + strings.Repeat("ABCD", 4),
		"AIza" + strings.Repeat("aB3d", 9), "xoxb-" + strings.Repeat("1234", 6), "npm_" + strings.Repeat("aB3d", 9), "hf_" +
			strings.Repeat("aB3d", 9)}
	return p
}

// watch collects the command lines of all processes until it is stopped.
func watch() (stop func() string) {
	var seen bytes.Buffer
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			processes, _ := os.ReadDir("/proc")
			for _, p := range processes {
				b, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "cmdline"))
				seen.Write(b)
				seen.WriteByte('\n')
			}
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() string {
		close(done)
		all.Wait()
		return seen.String()
	}
}

// leaks are the secrets that stand in a text.
func leaks(text string, secrets []string) []string {
	var found []string
	for _, s := range secrets {
		if strings.Contains(text, s) {
			found = append(found, s)
		}
	}
	return found
}

// inflated is a file with all that is compressed in it.
func inflated(t *testing.T, b []byte) string {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text := string(b)
	for rest := b; ; {
		at := bytes.Index(rest, []byte{0x28, 0xb5, 0x2f, 0xfd})
		if at < 0 {
			return text
		}
		rest = rest[at:]
		if err := d.Reset(bytes.NewReader(rest)); err == nil {
			out, _ := readAtMost(d, 32<<20) // what follows a frame is no frame: what came before counts
			text += "\n" + string(out)
		}
		rest = rest[4:]
	}
}

func readAtMost(r interface{ Read([]byte) (int, error) }, most int) ([]byte, error) {
	var out []byte
	buf := make([]byte, 64<<10)
	for len(out) < most {
		n, err := r.Read(buf)
		out = append(out, buf[:n]...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// secretive sets up the machine of S1 and returns the secrets.
func secretive(t *testing.T) (*victim, planted, *modeltest.Server) {
	t.Helper()
	v, p := newVictim(t), plant()
	v.repository()
	v.git("remote", "add", "origin", "https://me:"+p.remotes[0]+"@git.invalid/x.git")
	v.git("remote", "add", "other", "https://"+p.remotes[1]+"@git.invalid/x.git")
	words := []string{"KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE", "DSN", "API_KEY"}
	for i, s := range p.env {
		v.env = append(v.env, fmt.Sprintf("MY_%s_%d=%s", words[i%len(words)], i, s))
	}
	v.env = append(v.env, "HEADER_VALUE_3="+p.headers[3], "BEARER_VALUE="+p.headers[4])
	noisy := v.script(filepath.Join(v.base, "bin", "noisy"),
		"#!/bin/sh\nenv >&2\nread line\nprintf "+
			"'{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"bad token %s\"}}\\n' \"$A_TOKEN\"\n")
	file := v.write(filepath.Join(v.base, "printed.txt"), strings.Join(p.all(), "\n")+"\n")
	calls := turn(shellCall("cat "+file+"; sleep 1.0625"), shellCall("env; cat "+file+" >&2; exit 3"),
		shellCall("git remote -v; cat .git/config; cat "+file+" | tr '\\n' ' '"))
	calls = append(calls, modeltest.HTTP(400, "bad request: "+strings.Join(p.all(), " ")))
	s := v.serve(fmt.Sprintf(`env_key = "NOT_SET_HERE"
http_headers = { "X-Api-Key" = %q, "Cookie" = "session=%s" }
env_http_headers = { "X-Auth" = "HEADER_VALUE_3" }
[mcp_servers.noisy]
command = %q
env = { A_TOKEN = %q, B_SECRET = %q, C_PASSWORD = %q, D_API_KEY = %q, E_AUTH = %q }
[mcp_servers.far]
url = "http://me:%s@127.0.0.1:1/mcp?token=%s"
http_headers = { "X-Token" = %q }
[mcp_servers.further]
url = "http://me:%s@127.0.0.1:1/mcp"
bearer_token_env_var = "BEARER_VALUE"
`, p.headers[0], p.headers[1], noisy, p.mcpEnv[0], p.mcpEnv[1], p.mcpEnv[2], p.mcpEnv[3], p.mcpEnv[4], p.urls[0],
		p.urls[1], p.headers[2], p.urls[2]), calls...)
	if r := v.fed(p.key, "login", "mock", "--with-api-key", "--no-check"); r.code != 0 {
		if r = v.fed(p.key, "login", "mock", "--with-api-key"); r.code != 0 {
			t.Fatalf("login: %s", r.all())
		}
	}
	if n := len(p.all()); n != 40 {
		t.Fatalf("%d secrets", n)
	}
	return v, p, s
}

// TestSEC_S1_SecretsAreNowhere plants forty secrets, has commands print them all,
// servers throw them back, and looks through all that Kerf wrote, said, sent and
// started.
func TestSEC_S1_SecretsAreNowhere(t *testing.T) {
	v, p, s := secretive(t)
	secrets := p.all()
	stop := func() string { return "" }
	if runtime.GOOS == "linux" {
		stop = watch()
	}
	turnOne := v.fed("my key is "+p.env[0]+", and "+p.printed[0], "exec", "--json", "-s", "danger-full-access", "-")
	failed := v.run("exec", "again")
	commands := stop()
	if turnOne.code != 0 || failed.code != 1 || !strings.Contains(failed.err, "bad request") {
		t.Fatalf("exit codes %d and %d: %s%s", turnOne.code, failed.code, turnOne.err, failed.all())
	}
	if runtime.GOOS == "linux" && !strings.Contains(commands, "sleep\x001.0625") {
		t.Error("the command lines of the children were not seen")
	}
	said := map[string]string{"exec --json": turnOne.all(), "a failed exec": failed.all(), "ps": commands}
	for _, args := range [][]string{{"sessions", "list"}, {"sessions", "list", "--json"}, {"mcp", "list"},
		{"mcp", "list", "--json"}, {"mcp", "get", "noisy"}, {"mcp", "get", "far", "--json"}, {"config", "show"},
		{"login", "status"}, {"log"}, {"doctor"}, {"explain", "git push"}, {"exec", "-c", "nonsense=1", "x"},
		{"sessions", "show", "--last"}} {
		said[strings.Join(args, " ")] = v.run(args...).all()
	}
	for name, text := range said {
		if found := leaks(text, secrets); len(found) > 0 {
			t.Errorf("%s shows %q", name, found)
		}
	}
	if !strings.Contains(turnOne.out, "[redacted]") || !strings.Contains(turnOne.all(), "noisy") {
		t.Error("neither outputs nor servers were told of")
	}
	told := 0
	for _, r := range s.Requests() {
		for _, o := range r.Outputs() {
			told++
			if found := leaks(o, secrets); len(found) > 0 {
				t.Errorf("the model was told %q", found)
			}
		}
	}
	if told < 3 {
		t.Errorf("only %d outputs were told", told)
	}
	searched := 0
	err := filepath.WalkDir(v.own, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == filepath.Join(v.own, "auth.json") ||
			path == filepath.Join(v.own, "config.toml") {
			return err
		}
		b, err := os.ReadFile(path)
		searched++
		if found := leaks(inflated(t, b), secrets); len(found) > 0 {
			t.Errorf("%s holds %q", path, found)
		}
		return err
	})
	if err != nil || searched < 3 {
		t.Errorf("%d files were searched: %v", searched, err)
	}
}

// TestSEC_S1_CrashTextHasNoSecrets has the program print all its goroutines while a
// command that got everything runs.
func TestSEC_S1_CrashTextHasNoSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGQUIT")
	}
	v, p, _ := secretive(t)
	v.env = append(v.env, "GOTRACEBACK=all")
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	cmd := v.command(ctx, "exec", "-s", "danger-full-access", "my key is "+p.env[0])
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if dirs, _ := filepath.Glob(filepath.Join(v.own, "sessions", "*", "rollout.jsonl")); len(dirs) > 0 &&
			strings.Contains(readable(dirs[0]), "user_input") {
			break
		}
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	said := drain(out)
	_ = cmd.Wait()
	if !strings.Contains(errs.String(), "goroutine ") {
		t.Errorf("nothing was dumped: %.300s", errs.String())
	}
	for _, s := range leaks(said+errs.String(), p.all()) {
		if s != p.env[0] { // the prompt is shown as it was typed, on the screen it was typed on
			t.Errorf("the dump has %q", s)
		}
	}
}
