//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// patience is how long is waited for what has to come, on a busy machine too.
const patience = 30 * time.Second

func run(t testing.TB, spec Spec) *Process {
	t.Helper()
	if spec.Env == nil {
		spec.Env = os.Environ()
	}
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	p, err := Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func sh(t testing.TB, line string) *Process {
	return run(t, Spec{Argv: []string{"sh", "-c", line}})
}

func TestRunTellsOutputAndExit(t *testing.T) {
	p := sh(t, "echo out; echo err >&2; pwd; exit 7")
	if !p.Wait(patience) {
		t.Fatal("still running")
	}
	text, omitted := p.Output()
	dir, _ := filepath.EvalSymlinks(p.spec.Dir)
	if want := "out\nerr\n" + dir + "\n"; string(text) != want || omitted != 0 {
		t.Errorf("got %q, %d, want %q", text, omitted, want)
	}
	if code, sig, done := p.ExitCode(); code != 7 || sig != "" || !done {
		t.Errorf("got %d %q %v, want 7", code, sig, done)
	}
}

func TestRunTellsSignal(t *testing.T) {
	p := sh(t, "kill -SEGV $$")
	p.Wait(-1)
	if code, sig, _ := p.ExitCode(); code != 139 || sig != "SIGSEGV" {
		t.Errorf("got %d %q", code, sig)
	}
}

func TestStartRefusals(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Start(gone, Spec{Argv: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Start(context.Background(), Spec{Argv: []string{"no-such-program"}, Env: os.Environ()}); !errors.Is(err,
		ErrNotFound) {
		t.Errorf("missing program: %v", err)
	}
	if _, err := Start(context.Background(), Spec{}); err == nil {
		t.Error("no command was accepted")
	}
	if _, err := Start(context.Background(),
		Spec{Argv: []string{"/bin/sh"}, Dir: filepath.Join(t.TempDir(), "x")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	// A relative PATH entry would let the workspace choose the program.
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o755)
	if _, err := Start(context.Background(),
		Spec{Argv: []string{"tool"}, Dir: dir, Env: []string{"PATH=.:"}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("relative PATH: %v", err)
	}
}

func TestInputIsEmptyUnlessAsked(t *testing.T) {
	p := sh(t, "cat; echo end")
	if !p.Wait(patience) {
		t.Fatal("waits for input")
	}
	if _, err := p.Write("x"); !errors.Is(err, ErrNoInput) {
		t.Errorf("got %v", err)
	}
	q := run(t, Spec{Argv: []string{"cat"}, Stdin: true})
	q.Write("hello")
	q.CloseInput()
	q.Wait(patience)
	if text, _ := q.Output(); string(text) != "hello" {
		t.Errorf("got %q", text)
	}
}

func TestTerminal(t *testing.T) {
	p := run(t, Spec{Argv: []string{"sh", "-c", "test -t 0 && stty size; read x; echo got $x; sleep 300"}, TTY: true,
		Size: Size{30, 100}})
	p.Write("word\n")
	for i := 0; i < 1500; i++ {
		if text, _ := p.Output(); bytes.Contains(text, []byte("got word")) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if text := string(next(p)); !strings.Contains(text, "30 100") || !strings.Contains(text, "got word") {
		t.Errorf("got %q", text)
	}
	p.Write("\x03")
	if !p.Wait(patience) {
		t.Fatal("Ctrl-C did not end it")
	}
	if text := next(p); bytes.Contains(text, []byte("got word")) {
		t.Errorf("drained twice: %q", text)
	}
}

// next is the output since the last call.
func next(p *Process) []byte {
	text := p.Next().Text
	return text
}

func TestInterrupt(t *testing.T) {
	for _, tty := range []bool{false, true} {
		p := run(t, Spec{Argv: []string{"sh", "-c",
			"trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.02; done"}, TTY: tty})
		for text := ""; !strings.Contains(text, "ready"); text += string(next(p)) {
			time.Sleep(10 * time.Millisecond)
		}
		p.Interrupt()
		if !p.Wait(patience) {
			t.Fatalf("tty %v: still running", tty)
		}
		if code, _, _ := p.ExitCode(); code != 3 {
			t.Errorf("tty %v: exit %d", tty, code)
		}
	}
}

func TestCancelKills(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p, err := Start(ctx, Spec{Argv: []string{"sleep", "60"}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if !p.Wait(patience) {
		t.Fatal("still running")
	}
	if _, sig, _ := p.ExitCode(); sig != "SIGTERM" {
		t.Errorf("got %q", sig)
	}
}

func TestBigOutputStaysBounded(t *testing.T) {
	var seen int64
	p := run(t, Spec{Argv: []string{"sh", "-c", "echo first; head -c 50000000 /dev/zero; echo; echo last"}, Cap: 1000,
		OnOutput: func(b []byte) { seen += int64(len(b)) }})
	p.Wait(-1)
	text, omitted := p.Output()
	const total = 6 + 50000000 + 1 + 5
	if omitted != total-1000 || seen != total {
		t.Errorf("omitted %d, seen %d, want %d, %d", omitted, seen, total-1000, total)
	}
	if !bytes.HasPrefix(text, []byte("first\n")) || !bytes.HasSuffix(text, []byte("\nlast\n")) {
		t.Errorf("got %q", text)
	}
	if !bytes.Contains(text, fmt.Appendf(nil, "\n[... %d bytes omitted ...]\n", omitted)) {
		t.Error("the hole is not told")
	}
}

// A slow taker of output must not lose what was written before the end, and a
// process that keeps the pipe must not hold the end up.
func TestOutputIsWholeWhenTheReaderIsLate(t *testing.T) {
	p := run(t, Spec{Argv: []string{"sh", "-c", "sleep 30 & head -c 200000 /dev/zero"}, Linger: true,
		OnOutput: func([]byte) { time.Sleep(60 * time.Millisecond) }})
	start := time.Now()
	p.Wait(-1)
	if text, _ := p.Output(); len(text) != 200000 {
		t.Errorf("got %d bytes", len(text))
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
}

// The buffer against a plain twin that keeps everything.
func TestBufferLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 40).Draw(t, "limit")
		b := newBuffer(limit)
		half := limit / 2
		var all []byte
		for _, n := range rapid.SliceOf(rapid.IntRange(0, 50)).Draw(t, "writes") {
			chunk := make([]byte, n)
			for i := range chunk {
				chunk[i] = byte('a' + (len(all)+i)%26)
			}
			b.write(chunk)
			all = append(all, chunk...)
			at := rapid.IntRange(0, len(all)).Draw(t, "at")
			var want []byte
			head := min(half, len(all))
			tail := max(head, len(all)-half)
			if at < head {
				want = append(want, all[at:head]...)
			}
			gone := max(0, tail-max(at, head))
			if gone > 0 {
				want = fmt.Appendf(want, "\n[... %d bytes omitted ...]\n", gone)
			}
			if from := max(at, tail); from < len(all) {
				want = append(want, all[from:]...)
			}
			got, next, omitted := b.since(int64(at))
			if string(got) != string(want) || next != int64(len(all)) || omitted != int64(gone) {
				t.Fatalf("since %d of %d: got %q %d %d, want %q %d", at, len(all), got, next, omitted, want, gone)
			}
		}
	})
}

func TestTable(t *testing.T) {
	var table Table
	var ids []int
	for range MaxProcesses {
		p, err := table.Start(context.Background(), Spec{Argv: []string{"sleep", "60"}, Env: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		id, err := table.Add(p)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if ids[0] != 1000 || ids[63] != 1063 {
		t.Errorf("ids %v", ids)
	}
	p := sh(t, "sleep 60")
	if _, err := table.Add(p); !errors.Is(err, ErrTableFull) {
		t.Errorf("got %v", err)
	}
	first, _ := table.Get(1000)
	first.Kill()
	if id, err := table.Add(p); err != nil || id != 1064 {
		t.Errorf("got %d, %v", id, err)
	}
	list := table.List()
	start := time.Now()
	table.CloseAll()
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("closing took %s", d)
	}
	for _, e := range list {
		if !e.Process.Wait(0) {
			t.Errorf("%d lives", e.ID)
		}
	}
	if _, err := table.Start(context.Background(), Spec{Argv: []string{"true"}}); err == nil {
		t.Error("a closed table starts processes")
	}
}

func TestProgramIsNotTakenFromTheWorkspace(t *testing.T) {
	outside, work := t.TempDir(), t.TempDir()
	put := func(path string) {
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(work, "git"))
	put(filepath.Join(outside, "real", "git"))
	link := filepath.Join(outside, "linked")
	os.Mkdir(link, 0o755)
	os.Symlink(filepath.Join(work, "git"), filepath.Join(link, "git"))
	alias := filepath.Join(outside, "alias")
	os.Symlink(work, alias)
	t.Setenv("PATH", strings.Join([]string{".", work, alias, link, filepath.Join(outside, "real")},
		string(os.PathListSeparator)))
	t.Chdir(work)

	got, err := Program("git", []string{work})
	if want := filepath.Join(outside, "real", "git"); err != nil || got != want {
		t.Errorf("TestSEC_K8: got %q, %v, want %q", got, err, want)
	}
	if got, _ := Program("git", nil); got != filepath.Join(work, "git") {
		t.Errorf("control: got %q", got)
	}
	if _, err := Program("git", []string{work, outside}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	parent := []string{
		"PATH=/bin", "HOME=/h", "LC_TIME=C", "RANDOM_THING=1", "OPENAI_API_KEY=x", "npm_config_registry=https://r/",
		"npm_config__auth=abc",
		"HTTPS_PROXY=http://u:p@proxy:1", "GOPROXY=https://me:pw@go.example,direct", "SSH_AUTH_SOCK=/s",
		"GOFLAGS=-ldflags=ghp_abcdefghijklmnopqrstuvwxyz",
		"GIT_AUTHOR_NAME=me", "broken", "=x=y", "LANG=de_DE.UTF-8", "TERM=screen",
	}
	forced := []string{"GH_PAGER=cat", "GIT_PAGER=cat", "LANG=de_DE.UTF-8", "LC_ALL=C.UTF-8", "NO_COLOR=1", "PAGER=cat",
		"TERM=dumb"}
	cases := []struct {
		name   string
		policy EnvPolicy
		want   []string
	}{
		{"default", EnvPolicy{}, append([]string{"GIT_AUTHOR_NAME=me", "GOPROXY=https://go.example,direct", "HOME=/h",
			"HTTPS_PROXY=http://proxy:1", "LC_TIME=C", "PATH=/bin", "RANDOM_THING=1", "npm_config_registry=https://r/"}, forced...)},
		{"core", EnvPolicy{Inherit: "core"}, append([]string{"GOPROXY=https://go.example,direct", "HOME=/h", "HTTPS_PROXY=http://proxy:1", "LC_TIME=C", "PATH=/bin", "npm_config_registry=https://r/"}, forced...)},
		{"none", EnvPolicy{Inherit: "none", Session: "s"}, []string{"GH_PAGER=cat", "GIT_PAGER=cat", "KERF_SESSION_ID=s", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "NO_COLOR=1", "PAGER=cat", "TERM=dumb"}},
		{"all", EnvPolicy{Inherit: "all", TTY: true, Exclude: []string{"go*", "HTTPS_PROXY", "npm_*"}},
			[]string{"GH_PAGER=cat", "GIT_AUTHOR_NAME=me", "GIT_PAGER=cat", "HOME=/h",
				"LANG=de_DE.UTF-8", "LC_ALL=C.UTF-8", "LC_TIME=C", "NO_COLOR=1", "PAGER=cat", "PATH=/bin", "RANDOM_THING=1",
				"TERM=xterm-256color"}},
		{"secrets kept", EnvPolicy{Inherit: "all", IgnoreDefaultExcludes: true, IncludeOnly: []string{"*KEY", "PATH"}},
			[]string{"GH_PAGER=cat", "GIT_PAGER=cat", "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
				"NO_COLOR=1", "OPENAI_API_KEY=x", "PAGER=cat", "PATH=/bin", "TERM=dumb"}},
		{"set", EnvPolicy{Inherit: "none", Set: map[string]string{"MY_TOKEN": "t", "TERM": "vt100", "B=D": "x"}},
			[]string{"GH_PAGER=cat", "GIT_PAGER=cat", "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
				"MY_TOKEN=t", "NO_COLOR=1", "PAGER=cat", "TERM=vt100"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := append([]string(nil), c.want...)
			slices.Sort(want)
			if diff := cmp.Diff(want, Environment(parent, c.policy)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSecretsAreLeftOut: what looks like a secret by its name or its value does not reach
// commands, and what people need does.
func TestSecretsAreLeftOut(t *testing.T) {
	secret := []string{"GH_PAT=1", "JWT=1", "BEARER=1", "MYSQL_PWD=1", "DB_PASS=1", "SSHPASS=1", "PGPASSWORD=1", "MY_API_KEY=1", "APIKEY=1", "AWS_SECRET=1",
		"GITHUB_TOKEN=1", "X_AUTH=1", "SESSION_COOKIE=1", "SENTRY_DSN=1", "GPG_PASSPHRASE=1", "GOOGLE_APPLICATION_CREDENTIALS=1",
		"DB_PASSWD=1", "A=AKIAABCDEFGHIJKLMNOP", "B=ghp_abcdefghijklmnopqrstuvwxyz0123456789", "C=sk-abcdefghijklmnopqrstuvwx",
		"D=-----BEGIN RSA PRIVATE KEY-----", "E=postgres://u:pw@h/db", "DATABASE_URL=postgres://h/db?user=u&password=pw", "F=host=h user=u password=pw", "SSH_AUTH_SOCK=/s", "SSH_AGENT_PID=1", "GPG_AGENT_INFO=/g",
		"PLAIN=known-to-kerf"}
	fine := []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_DATE=1", "CI=1", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "JAVA_HOME=/j", "VIRTUAL_ENV=/v",
		"REPLICA_URL=postgres://u@h/db?sslmode=require", "PATH=/bin", "PWD=/w", "OLDPWD=/o", "KEYBOARD=de", "MONKEYS=2", "COMPAT=1", "MY_SETTING=x"}
	p := EnvPolicy{Secret: func(v string) bool { return v == "known-to-kerf" }}
	got := Environment(append(slices.Clone(secret), fine...), p)
	for _, kv := range secret {
		if slices.Contains(got, kv) {
			t.Errorf("%s reaches commands", kv)
		}
	}
	for _, kv := range fine {
		if !slices.Contains(got, kv) {
			t.Errorf("%s does not reach commands", kv)
		}
	}
	if left := LeftOut(append(slices.Clone(secret), fine...), p); len(left) != len(secret) || slices.ContainsFunc(left, func(l Left) bool { return l.Why == "" || strings.Contains(l.Why, "pw") }) {
		t.Errorf("left out: %q", left)
	}
	kept := Environment(secret, EnvPolicy{IgnoreDefaultExcludes: true}) // control
	for _, kv := range secret {
		if !slices.Contains(kept, kv) {
			t.Errorf("control: %s is gone", kv)
		}
	}
}
