package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/modeltest"
)

// victim is a machine of its own for the real binary: a home, a repository, a model.
type victim struct {
	t                *testing.T
	kerf             string // the program, by an ordinary path
	base, home, repo string
	own              string // KERF_HOME
	env              []string
}

// runLimit ends a program that hangs.
const runLimit = 60 * time.Second

func newVictim(t *testing.T) *victim {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{t: t, base: base, home: filepath.Join(base, "home"), repo: filepath.Join(base, "repo")}
	v.own = filepath.Join(v.home, ".kerf")
	for _, dir := range []string{v.own, v.repo, filepath.Join(base, "tmp"), filepath.Join(base, "bin")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	v.kerf = filepath.Join(base, "bin", "kerf")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, v.kerf) != nil { // the test binary is Kerf when it is called so
		v.copy(self)
	}
	v.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + v.home, "KERF_HOME=" + v.own, "TMPDIR=" +
		filepath.Join(base, "tmp"), "SHELL=/bin/bash", "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1"}
	return v
}

func (v *victim) copy(self string) {
	v.t.Helper()
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(v.kerf, b, 0o700)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// write makes a file below the base, with its directories.
func (v *victim) write(path, text string) string {
	v.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(v.repo, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return path
}

// script makes a program.
func (v *victim) script(path, text string) string {
	v.t.Helper()
	path = v.write(path, text)
	if err := os.Chmod(path, 0o700); err != nil {
		v.t.Fatal(err)
	}
	return path
}

// git runs the user's own git in the repository, as it is configured.
func (v *victim) git(args ...string) {
	v.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Dir, cmd.Env = v.repo, v.env
	if out, err := cmd.CombinedOutput(); err != nil {
		v.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// repository makes the repository one with a commit.
func (v *victim) repository() {
	v.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		v.t.Skip("no git")
	}
	v.write("a.txt", "a\n")
	v.git("init", "-q", "-b", "main")
	v.git("add", "-A")
	v.git("commit", "-q", "-m", "first")
}

// serve starts a model and writes the configuration that leads to it; more are
// further lines of config.toml.
func (v *victim) serve(more string, rounds ...modeltest.Round) *modeltest.Server {
	v.t.Helper()
	s := modeltest.Start(v.t, rounds...)
	v.write(filepath.Join(v.own, "config.toml"),
		fmt.Sprintf("model = \"m\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\nbase_url = "+
			"%q\nwire_api = \"responses\"\n%s\n", s.URL, more))
	return s
}

// settings puts lines before those of config.toml.
func (v *victim) settings(lines string) {
	v.t.Helper()
	file := filepath.Join(v.own, "config.toml")
	had, err := os.ReadFile(file)
	if err != nil {
		v.t.Fatal(err)
	}
	v.write(file, lines+string(had))
}

// ran is what a run of the program came to.
type ran struct {
	out, err string
	code     int
}

func (r ran) all() string { return r.out + r.err }

// command is Kerf in the repository.
func (v *victim) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, v.kerf, args...)
	cmd.Dir, cmd.Env = v.repo, v.env
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs Kerf in the repository.
func (v *victim) run(args ...string) ran { return v.fed("", args...) }

// fed runs Kerf with standard input.
func (v *victim) fed(stdin string, args ...string) ran {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), runLimit)
	defer cancel()
	cmd := v.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		v.t.Fatalf("kerf %v hangs: %s%s", args, out.String(), errs.String())
	}
	if err != nil && cmd.ProcessState == nil {
		v.t.Fatalf("kerf %v: %v", args, err)
	}
	return ran{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must runs Kerf and expects success.
func (v *victim) must(args ...string) ran {
	v.t.Helper()
	r := v.run(args...)
	if r.code != 0 {
		v.t.Fatalf("kerf %v: exit code %d: %s", args, r.code, r.all())
	}
	return r
}

// turn is a conversation: these calls, then a word.
func turn(calls ...[2]any) []modeltest.Round {
	var rounds []modeltest.Round
	for _, c := range calls {
		name, _ := c[0].(string)
		rounds = append(rounds, modeltest.Answer(modeltest.Call(name, c[1])))
	}
	return append(rounds, modeltest.Answer(modeltest.Message("done")))
}

// shellCall is a call that runs a command.
func shellCall(line string) [2]any { return [2]any{"exec_command", map[string]any{"cmd": line}} }

// outputs are what the model was told its calls came to.
func outputs(s *modeltest.Server) []string {
	all := s.Requests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Outputs()
}

// readable reports what a file says, or "" when it is not there.
func readable(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// drain reads all that is left.
func drain(r io.Reader) string {
	b, _ := io.ReadAll(r)
	return string(b)
}
