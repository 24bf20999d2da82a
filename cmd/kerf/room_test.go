package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/modeltest"
)

// smallHome gives the bench a home of a few MB, on a file system of its own.
func smallHome(t *testing.T, b *bench) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux to mount a small file system")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=12m", "none", b.home).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", b.home).Run() })
}

// fill writes to a file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}

// changing is a run that changes f.txt by a tool and by a command.
func changing() []modeltest.Round {
	return []modeltest.Round{
		modeltest.Answer(modeltest.Call("write_file", map[string]any{"file_path": "f.txt", "content": "by a tool\n"})),
		modeltest.Answer(modeltest.Call("exec_command", map[string]any{"cmd": "echo by a command > g.txt"})),
		modeltest.Answer(modeltest.Message("done"))}
}

// kerfIn runs the program in the directory of the bench, and returns what it printed and
// its exit code.
func (b *bench) kerfIn(args ...string) (stdout, stderr string, code int) {
	b.t.Helper()
	cmd := exec.Command(b.kerf, args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "KERF_HOME="+b.home)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// lastLine is the last line of JSON output.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// TestNothingRunsWithoutARecord fills the home, and makes it read-only: a run ends before
// anything is asked or changed, with one line that says what, where and how to mend it.
// What was recorded before can be read, and nothing can be undone.
func TestNothingRunsWithoutARecord(t *testing.T) {
	for _, state := range []string{"full", "read-only"} {
		t.Run(state, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir()) // what other runs leave in the common one is theirs
			b := newBench(t, append(changing(), changing()...)...)
			smallHome(t, b)
			if out, err := b.command("one").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			before := readers(b)
			if err := os.RemoveAll(filepath.Join(b.home, "locks")); err != nil { // as of a home where no command ran
				t.Fatal(err)
			}
			if state == "full" {
				fill(t, filepath.Join(b.home, "filler"))
			} else if out, err := exec.Command("mount", "-o", "remount,ro", b.home).CombinedOutput(); err != nil {
				t.Skipf("cannot remount: %v: %s", err, out)
			}
			cmd := b.command("two")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d, %v\n%s", code, err, out)
			}
			told := stderr.String() + string(out)
			for _, want := range []string{"nothing can be recorded", b.home, "--unrecorded"} {
				if !strings.Contains(told, want) {
					t.Errorf("it says %q, want %q", told, want)
				}
			}
			if strings.Count(strings.TrimSpace(stderr.String()), "\n") > 0 {
				t.Errorf("more than one line: %q", stderr.String())
			}
			if len(b.server.Requests()) != 3 {
				t.Errorf("%d requests, want the 3 of the first run", len(b.server.Requests()))
			}
			for name, now := range readers(b) {
				if now != before[name] {
					t.Errorf("%s, before:\n%s\nnow:\n%s", name, before[name], now)
				}
			}
			for _, args := range [][]string{{"tool", "write_file", `{"file_path":"h.txt","content":"x"}`}} {
				stdout, stderr, code := b.kerfIn(args...)
				if code == 0 || !strings.Contains(stdout+stderr, "nothing can be recorded") {
					t.Errorf("kerf %v: exit %d, %s%s", args, code, stdout, stderr)
				}
			}
			if got := fmt.Sprint(contents(t, b.dir)); got != "map[f.txt:by a tool\n g.txt:by a command\n]" {
				t.Errorf("the files are %v", got)
			}

			if err := errors.Join(os.Remove(filepath.Join(b.dir, "f.txt")), os.Remove(filepath.Join(b.dir, "g.txt"))); err != nil {
				t.Fatal(err)
			}
			cmd = b.command("-s", "workspace-write", "--unrecorded", "three")
			out, err = cmd.Output()
			if err != nil || !strings.Contains(string(out), "not recorded") {
				t.Errorf("with --unrecorded: %v\n%s", err, out)
			}
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "kerf-unrecorded-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if got := fmt.Sprint(contents(t, b.dir)); got != "map[f.txt:by a tool\n g.txt:by a command\n]" {
				t.Errorf("unrecorded, the files are %v\n%s", got, out)
			}
		})
	}
}

// readers runs the commands that only read, and returns what they print.
func readers(b *bench) map[string]string {
	told := map[string]string{}
	for _, args := range [][]string{{"log"}, {"diff"}, {"blame", "f.txt"}, {"undo", "--dry-run"}, {"sessions", "list"}} {
		stdout, stderr, code := b.kerfIn(args...)
		told[strings.Join(args, " ")] = fmt.Sprintf("%s%s(exit %d)", stdout, stderr, code)
	}
	return told
}

// contents are the files in a directory, less git's.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(data)
	}
	return all
}

// TestHomeFullMeanwhile fills the home while a command runs: the run fails and says what
// is not recorded; what the reserve has room for is in the log.
func TestHomeFullMeanwhile(t *testing.T) {
	b := newBench(t)
	smallHome(t, b)
	b.server.Add(slow("echo new > new.txt; head -c 20000000 /dev/zero > "+filepath.Join(b.home, "filler")+"; true"),
		modeltest.Answer(modeltest.Call("exec_command", map[string]any{"cmd": "echo late > late.txt"})),
		modeltest.Answer(modeltest.Message("done")))
	cmd := b.command("one")
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("exit code %d, %v\n%s", cmd.ProcessState.ExitCode(), err, out)
	}
	var last struct {
		Type  string
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(lastLine(out)), &last); err != nil || last.Type != "turn.failed" {
		t.Fatalf("%v: the last line is %s", err, lastLine(out))
	}
	if !strings.Contains(last.Error.Message, "recorded") {
		t.Errorf("it says %q", last.Error.Message)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "late.txt")); err == nil {
		t.Error("a second command ran on a full home")
	}
	if log, _, _ := b.kerfIn("log"); !strings.Contains(log, "new.txt") {
		t.Errorf("the log does not have what the command did:\n%s", log)
	}
}

// TestHomeThatMayNotBeWritten is an ordinary user with a home of mode 0500.
func TestHomeThatMayNotBeWritten(t *testing.T) {
	b := newBench(t, changing()...)
	if runtime.GOOS == "windows" {
		t.Skip("modes do not bind here")
	}
	if os.Geteuid() == 0 {
		if runtime.GOOS != "linux" {
			t.Skip("needs a user whom modes bind")
		}
		for _, dir := range []string{b.home, b.dir, filepath.Dir(b.home)} {
			_ = os.Chmod(dir, 0o755)
			_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error { return os.Lchown(p, 65534, 65534) })
		}
	}
	if err := os.Chmod(b.home, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(b.home, 0o700) })
	cmd := b.command("--skip-git-repo-check", "one")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("cannot become another user here: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "permission denied; make it writable") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if got := contents(t, b.dir); len(got) > 0 {
		t.Errorf("files were made: %v", got)
	}
}
