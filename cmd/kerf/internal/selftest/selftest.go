// Package selftest tries on this machine what Kerf promises: with the real program, real
// files, the real sandbox and a scripted model, in a directory and a home of its own.
package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// limit bounds each step.
const limit = time.Minute

// stage is where the steps happen.
type stage struct {
	exe, base string
	env       []string
	// confined says that the commands of this machine run in a sandbox.
	confined bool
}

// step tries one thing. It returns what it saw; the error says what is not as it must be.
type step struct {
	name string
	try  func(context.Context, *stage) (string, error)
}

// absent says that a system has no such thing.
type absent string

func (a absent) Error() string { return string(a) }

// Run carries out all steps, in order. tell gets each result as soon as it is there:
// states are "ok", "fail", and "warn" for what this system does not have.
func Run(ctx context.Context, exe string, env []string, tell func(protocol.Check)) error {
	base, err := os.MkdirTemp("", "kerf-selftest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return err
	}
	s := &stage{exe: exe, base: base}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "KERF_") && name != "HOME" && name != "USERPROFILE" {
			s.env = append(s.env, v)
		}
	}
	s.env = append(s.env, "KERF_HOME="+s.path("home"), "HOME="+s.path("user"), "USERPROFILE="+s.path("user"))
	for _, dir := range []string{"home", "user", "work", "beside"} {
		if err := os.Mkdir(s.path(dir), 0o700); err != nil {
			return err
		}
	}
	for _, st := range steps {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, limit)
		saw, err := st.try(ctx, s)
		cancel()
		c := protocol.Check{Name: st.name, State: "ok", Detail: fmt.Sprintf("%s (%d ms)", saw, time.Since(began).Milliseconds())}
		var none absent
		switch {
		case errors.As(err, &none):
			c.State, c.Detail = "warn", string(none)
		case err != nil:
			c.State, c.Detail = "fail", visible.OneLine(err.Error(), 600)
		}
		tell(c)
	}
	return nil
}

var steps = []step{
	{"edit", edit}, {"command", command}, {"diff", diff}, {"another hand", anotherHand}, {"undo", undo},
	{"verify", verify}, {"sandbox: files", confinedFiles}, {"sandbox: Kerf's home", confinedHome},
	{"sandbox: network", confinedNetwork}, {"kill -9", killed},
}

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.base}, parts...)...)
}

// kerf runs the program in the directory work, and returns what it printed.
func (s *stage) kerf(ctx context.Context, args ...string) (string, error) {
	cmd := s.command(ctx, args...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", fmt.Errorf("kerf %s: no end within %s", strings.Join(args, " "), limit)
	}
	if err != nil {
		return string(out), fmt.Errorf("kerf %s: %w: %s", strings.Join(args, " "), err, tail(out))
	}
	return string(out), nil
}

func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.exe, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.path("work"), s.env, 5*time.Second
	return cmd
}

func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// call is one call of the scripted model.
type call struct {
	tool string
	args map[string]any
}

// turn runs a turn in which the scripted model makes calls.
func (s *stage) turn(ctx context.Context, calls ...call) (string, error) {
	if err := s.script(calls...); err != nil {
		return "", err
	}
	return s.kerf(ctx, "exec", "--skip-git-repo-check", "-s", "workspace-write", "go")
}

// script writes the scenario that the next session plays.
func (s *stage) script(calls ...call) error {
	var rounds []any
	for _, c := range calls {
		rounds = append(rounds, map[string]any{"items": []any{map[string]any{"call": c.tool, "args": c.args}}})
	}
	rounds = append(rounds, map[string]any{"items": []any{map[string]any{"message": "Done."}}})
	b, err := json.Marshal(map[string]any{"version": 1, "rounds": rounds})
	if err != nil {
		return err
	}
	config := fmt.Sprintf("model = \"scripted\"\nmodel_provider = \"s\"\n[model_providers.s]\nname = \"scripted\"\n"+
		"wire_api = \"script\"\nbase_url = %s\n", quoted(s.path("script.json")))
	return errors.Join(os.WriteFile(s.path("script.json"), b, 0o600),
		os.WriteFile(s.path("home", "config.toml"), []byte(config), 0o600))
}

// quoted is a string of TOML.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always has an encoding, and TOML's escapes are JSON's
	return string(b)
}

// holds compares a file in the directory work.
func (s *stage) holds(name, want string) error {
	b, err := os.ReadFile(s.path("work", name))
	if err != nil {
		return err
	}
	if string(b) != want {
		return fmt.Errorf("%s holds %q, want %q", name, b, want)
	}
	return nil
}

func edit(ctx context.Context, s *stage) (string, error) {
	_, err := s.turn(ctx, call{"write_file", map[string]any{"file_path": "made.txt", "content": "one\ntwo\nthree\n"}},
		call{"edit_file", map[string]any{"file_path": "made.txt", "old_string": "two", "new_string": "TWO"}})
	if err != nil {
		return "", err
	}
	return "a file was written and edited", s.holds("made.txt", "one\nTWO\nthree\n")
}

func command(ctx context.Context, s *stage) (string, error) {
	out, err := s.turn(ctx, call{"exec_command", map[string]any{"cmd": "echo from a command>by-command.txt"}})
	b, missing := os.ReadFile(s.path("work", "by-command.txt"))
	if missing != nil {
		if runtime.GOOS == "windows" || err != nil {
			return "", absent("no command ran, since it could not be confined: " + tail([]byte(out)))
		}
		return "", fmt.Errorf("the command ran and left nothing: %s", tail([]byte(out)))
	}
	if err != nil || strings.TrimSpace(string(b)) != "from a command" {
		return "", fmt.Errorf("%w: %q", err, b)
	}
	s.confined = true
	certainty, err := s.certainty(ctx, "by-command.txt")
	return "a command wrote a file; who wrote it is " + certainty, err
}

// certainty is what the log says of the newest change of a file.
func (s *stage) certainty(ctx context.Context, name string) (string, error) {
	out, err := s.kerf(ctx, "log", "--json")
	if err != nil {
		return "", err
	}
	var list []struct {
		Certainty string
		Changes   []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return "", err
	}
	for _, e := range list {
		for _, c := range e.Changes {
			if filepath.Base(c.Path) == name {
				return e.Certainty, nil
			}
		}
	}
	return "", fmt.Errorf("kerf log does not know %s", name)
}

func diff(ctx context.Context, s *stage) (string, error) {
	out, err := s.kerf(ctx, "diff")
	want := "by-command.txt"
	if !s.confined {
		want = "made.txt"
	}
	if err == nil && !strings.Contains(out, want) {
		err = fmt.Errorf("the diff of the last turn lacks %s: %s", want, out)
	}
	return "the diff of the last turn has its files", err
}

// anotherHand changes a file that Kerf changed before, as an editor would.
func anotherHand(ctx context.Context, s *stage) (string, error) {
	if err := os.WriteFile(s.path("work", "made.txt"), []byte("one\nTWO\nthree\nmine\n"), 0o600); err != nil {
		return "", err
	}
	out, err := s.turn(ctx, call{"edit_file", map[string]any{"file_path": "made.txt", "old_string": "one",
		"new_string": "ONE"}})
	if err != nil && !strings.Contains(out, "made.txt") {
		return "", err
	}
	if err != nil { // refused until the file is read again: nothing is lost either
		return "an edit of an older version was refused", s.holds("made.txt", "one\nTWO\nthree\nmine\n")
	}
	return "an edit left a line of another hand alone", s.holds("made.txt", "ONE\nTWO\nthree\nmine\n")
}

func undo(ctx context.Context, s *stage) (string, error) {
	if err := os.WriteFile(s.path("work", "mine.txt"), []byte("mine\n"), 0o600); err != nil {
		return "", err
	}
	if _, err := s.turn(ctx, call{"write_file", map[string]any{"file_path": "more.txt", "content": "more\n"}}); err != nil {
		return "", err
	}
	if err := s.holds("more.txt", "more\n"); err != nil {
		return "", err
	}
	if _, err := s.kerf(ctx, "undo"); err != nil {
		return "", err
	}
	if _, err := os.Lstat(s.path("work", "more.txt")); !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("more.txt is still there (%v)", err)
	}
	return "the last turn was taken back, and nothing else", s.holds("mine.txt", "mine\n")
}

func verify(ctx context.Context, s *stage) (string, error) {
	out, err := s.kerf(ctx, "verify")
	if err == nil && out == "" {
		err = errors.New("kerf verify says nothing")
	}
	return "records, ledger and contents are whole", err
}

// inside runs a line of the shell in the sandbox; the exit code is of no concern.
func (s *stage) inside(ctx context.Context, line string) (string, error) {
	out, err := s.kerf(ctx, "sandbox", "-s", "workspace-write", "--", "sh", "-c", line)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 125 {
		return "", absent("no sandbox works here: " + tail([]byte(out)))
	}
	if errors.As(err, &exit) {
		err = nil
	}
	return out, err
}

func confinedFiles(ctx context.Context, s *stage) (string, error) {
	if _, err := s.inside(ctx, "echo in>inside.txt; echo out>"+s.path("beside", "out.txt")); err != nil {
		return "", err
	}
	if _, err := os.Lstat(s.path("beside", "out.txt")); err == nil {
		return "", errors.New("a command wrote outside the workspace")
	}
	return "a command wrote inside the workspace and could not outside", s.holds("inside.txt", "in\n")
}

func confinedHome(ctx context.Context, s *stage) (string, error) {
	out, err := s.inside(ctx, "cat "+s.path("home", "config.toml")+"; echo end")
	switch {
	case err != nil:
		return "", err
	case strings.Contains(out, "scripted"):
		return "", errors.New("a command read Kerf's own files")
	case !strings.Contains(out, "end"):
		return "", fmt.Errorf("the command did not run: %s", out)
	}
	return "a command could not read it", nil
}

func confinedNetwork(ctx context.Context, s *stage) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	came := make(chan struct{}, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			came <- struct{}{}
		}
	}()
	bash, err := exec.LookPath("bash")
	if err != nil {
		return "", absent("bash is not installed, which this step connects with")
	}
	connect := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", l.Addr().(*net.TCPAddr).Port)
	if err := exec.CommandContext(ctx, bash, "-c", connect).Run(); err != nil {
		return "", absent("bash has no /dev/tcp, which this step connects with")
	}
	<-came // so a command that could connect would be seen
	out, err := s.inside(ctx, "bash -c '"+connect+"'; echo end")
	if err == nil && !strings.Contains(out, "end") {
		err = fmt.Errorf("the command did not run: %s", out)
	}
	if err != nil {
		return "", err
	}
	select {
	case <-came:
		return "", errors.New("a command reached a port of this machine")
	case <-time.After(100 * time.Millisecond):
	}
	return "a command could not reach a port of this machine", nil
}

// killed kills Kerf in the middle of a command.
func killed(ctx context.Context, s *stage) (string, error) {
	if !s.confined {
		return "", absent("no command runs here")
	}
	if err := s.script(call{"exec_command", map[string]any{"cmd": "echo x>killed.txt; sleep 20"}}); err != nil {
		return "", err
	}
	cmd := s.command(ctx, "exec", "--skip-git-repo-check", "-s", "workspace-write", "go")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for !exists(s.path("work", "killed.txt")) && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := s.kerf(ctx, "recover"); err != nil {
		return "", err
	}
	certainty, err := s.certainty(ctx, "killed.txt")
	if err != nil {
		return "", err
	}
	if _, err := s.kerf(ctx, "undo"); err != nil && certainty == "proven" {
		return "", err
	}
	if certainty == "proven" && exists(s.path("work", "killed.txt")) {
		return "", errors.New("what the command wrote was not taken back")
	}
	return "what the command had written is known; who wrote it is " + certainty, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
