package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kerf/internal/testkit/modeltest"
)

// bench is a repository, a home and a model for tests that must signal the
// program.
type bench struct {
	t               *testing.T
	kerf, dir, home string
	server          *modeltest.Server
	stdout          *bufio.Scanner
	cmd             *exec.Cmd
	lines           []string
}

// newBench makes a repository and a home, and starts the model.
func newBench(t *testing.T, rounds ...modeltest.Round) *bench {
	t.Helper()
	b := &bench{t: t, kerf: builtProgram(t), dir: t.TempDir(), home: t.TempDir()}
	if out, err := exec.Command("git", "init", "-q", b.dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	b.server = modeltest.Start(t, rounds...)
	return b
}

func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.kerf, append([]string{"exec", "--json", "-C", b.dir, "-s", "danger-full-access", "-m", "m",
		"-c", "model_provider=\"mock\"", "-c", "model_providers.mock.name=\"mock\"", "-c",
		"model_providers.mock.wire_api=\"responses\"",
		"-c", fmt.Sprintf("model_providers.mock.base_url=%q", b.server.URL)}, args...)...)
	cmd.Env = append(os.Environ(), "KERF_HOME="+b.home)
	return cmd
}

// start runs the program until a line of its output has want in it.
func (b *bench) start(want string, args ...string) {
	b.t.Helper()
	b.cmd = b.command(args...)
	pipe, err := b.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	b.stdout = bufio.NewScanner(pipe)
	for b.stdout.Scan() {
		b.lines = append(b.lines, b.stdout.Text())
		if strings.Contains(b.stdout.Text(), want) {
			return
		}
	}
	b.t.Fatalf("no line has %q:\n%s", want, strings.Join(b.lines, "\n"))
}

// rest reads the output to its end and returns the exit code.
func (b *bench) rest() int {
	for b.stdout.Scan() {
		b.lines = append(b.lines, b.stdout.Text())
	}
	_ = b.cmd.Wait()
	return b.cmd.ProcessState.ExitCode()
}

func (b *bench) rollout() []byte {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.home, "sessions", "*", "rollout.jsonl"))
	if err != nil || len(files) != 1 {
		b.t.Fatalf("rollouts: %v, %v; want one", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

func slow(cmd string) modeltest.Round {
	return modeltest.Answer(modeltest.Call("exec_command", map[string]any{"cmd": cmd, "yield_time_ms": 30000}))
}

func TestKilledRunGoesOn(t *testing.T) {
	b := newBench(t,
		modeltest.Answer(modeltest.Call("write_file", map[string]any{"file_path": "kept.txt", "content": "kept\n"})),
		slow("echo begun > begun.txt; sleep 300"),
		modeltest.Answer(modeltest.Message("went on")))
	b.start(`"type":"command_execution"`, "work")
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(b.dir, "begun.txt")); return err == nil })
	before := b.rollout()
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.rest()
	out, err := b.command("resume", "--last", "go on").CombinedOutput()
	if err != nil {
		t.Fatalf("resume: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("went on")) {
		t.Errorf("the resumed run says\n%s\nwant the next answer", out)
	}
	if after := b.rollout(); !bytes.HasPrefix(after, before) {
		t.Errorf("the rollout no longer begins with what it was before the kill")
	}
	if data, err := os.ReadFile(filepath.Join(b.dir, "kept.txt")); err != nil || string(data) != "kept\n" {
		t.Errorf("kept.txt = %q, %v; want what was written before the kill", data, err)
	}
	if outs := b.server.Request(t, 2).Outputs(); len(outs) != 2 || !strings.Contains(outs[1], "aborted") {
		t.Errorf("the resumed request has the outputs %q, want the second aborted", outs)
	}
	mustExtend(t, b.server.Requests())
}

// mustExtend checks that each request begins with the one before.
func mustExtend(t *testing.T, all []*modeltest.Request) {
	t.Helper()
	var before json.RawMessage
	for i, r := range all {
		var v struct{ Input json.RawMessage }
		if err := json.Unmarshal(r.Body, &v); err != nil {
			t.Fatal(err)
		}
		if len(before) > 0 && !bytes.HasPrefix(v.Input, before[:len(before)-1]) {
			t.Errorf("request %d does not begin with request %d:\n%s\n%s", i+1, i, before, v.Input)
		}
		before = v.Input
	}
}

func TestInterruptEndsCleanly(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			nap := fmt.Sprintf("sleep 42%d", os.Getpid()) // no other run's
			b := newBench(t, slow(nap+"2 & (setsid "+nap+"3 &) ; trap '' TERM; "+nap+"4"))
			b.start(`"type":"command_execution"`, "work")
			time.Sleep(300 * time.Millisecond) // the command is told before it runs
			if err := b.cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := b.rest(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			last := b.lines[len(b.lines)-1]
			if !strings.Contains(last, `"type":"turn.failed"`) || !strings.Contains(last, "interrupted") {
				t.Errorf("the last line is %s, want turn.failed with interrupted", last)
			}
			if open := unclosed(t, b.lines); len(open) > 0 {
				t.Errorf("items %v were started and not completed", open)
			}
			for _, n := range []string{"2", "3", "4"} {
				if out, err := exec.Command("pgrep", "-f", nap+n).Output(); err == nil {
					t.Errorf("%s%s survived: %s", nap, n, out)
				}
			}
		})
	}
}

// unclosed returns the ids of items that were started and never completed.
func unclosed(t *testing.T, lines []string) map[string]bool {
	t.Helper()
	open := map[string]bool{}
	for _, l := range lines {
		var v struct {
			Type string
			Item struct{ ID string }
		}
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Errorf("not JSON: %s", l)
		}
		switch v.Type {
		case "item.started":
			open[v.Item.ID] = true
		case "item.completed":
			delete(open, v.Item.ID)
		}
	}
	return open
}

func TestFullDiskKeepsTheOldContent(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	b := newBench(t,
		modeltest.Answer(modeltest.Call("read_file", map[string]any{"file_path": "small/f.txt"})),
		modeltest.Answer(modeltest.Call("write_file",
			map[string]any{"file_path": "small/f.txt", "content": strings.Repeat("x", 300<<10)})),
		modeltest.Answer(modeltest.Message("it did not fit")))
	small := filepath.Join(b.dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=128k", "none", small).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %v: %s", err, out)
	}
	defer func() { _ = exec.Command("umount", small).Run() }()
	if err := os.WriteFile(filepath.Join(small, "f.txt"), []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := b.command("grow it").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told := b.server.Request(t, 2).Outputs()
	if last := told[len(told)-1]; !strings.Contains(last, "no space left on device") || !strings.Contains(last, "f.txt") {
		t.Errorf("the model was told %q, want the file and the reason", last)
	}
	data, err := os.ReadFile(filepath.Join(small, "f.txt"))
	if err != nil || string(data) != "old\n" {
		t.Errorf("f.txt = %q, %v; want the old content", data, err)
	}
	if names, _ := os.ReadDir(small); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 3000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen within thirty seconds")
}
