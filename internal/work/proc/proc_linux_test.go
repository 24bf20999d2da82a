package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if line := os.Getenv("PROC_TEST_KERF"); line != "" {
		victim(line)
		return
	}
	os.Exit(m.Run())
}

// victim plays a Kerf that is about to be killed.
func victim(line string) {
	if _, err := Start(context.Background(), Spec{Argv: []string{"sh", "-c", line}, Env: os.Environ()}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	Litter(os.Getenv("PROC_TEST_LITTER"))
	fmt.Println("started")
	select {}
}

// daemons is the shell line of everything that is hard to kill: each writes its
// pid to a file in $1 first.
func daemons(dir string) string {
	loop := `trap "" TERM HUP INT; echo $$ > ` + dir + `/%s.tmp; mv ` + dir + `/%s.tmp ` + dir +
		`/%s.pid; while :; do sleep 1; done`
	one := func(name string) string { return strings.ReplaceAll(loop, "%s", name) }
	return fmt.Sprintf(`
sh -c '%s' &
setsid nohup sh -c '%s' >/dev/null 2>&1 &
(setsid sh -c '(setsid sh -c "exec sh %s/deep.sh" </dev/null >/dev/null 2>&1 &)' &)
`, one("plain"), one("setsid"), dir) +
		fmt.Sprintf("cat > %s/deep.sh.tmp <<'E'\n%s\nE\n"+
			"mv %s/deep.sh.tmp %s/deep.sh; while [ ! -f %s/deep.pid ]; do (setsid sh %s/deep.sh </dev/null >/dev/null 2>&1 "+
			"&); sleep 0.3; done; ",
			dir, one("deep"), dir, dir, dir, dir)
}

func pids(t *testing.T, dir string) map[string]int {
	t.Helper()
	found := make(map[string]int)
	for range 3000 {
		for _, name := range []string{"plain", "setsid", "deep"} {
			if b, err := os.ReadFile(filepath.Join(dir, name+".pid")); err == nil {
				found[name], _ = strconv.Atoi(strings.TrimSpace(string(b)))
			}
		}
		if len(found) == 3 {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("only started: %v", found)
	return nil
}

func alive(pid int) bool {
	e, ok := readEntry(pid)
	return ok && e.state != 'Z'
}

func noneLeft(t *testing.T, found map[string]int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for name, pid := range found {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Errorf("%s survived", name)
				syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func TestSEC_O1_NothingSurvivesTheEndOfACommand(t *testing.T) {
	dir := t.TempDir()
	p := sh(t, daemons(dir)+"while [ ! -f "+dir+"/setsid.pid ] || [ ! -f "+dir+"/plain.pid ]; do sleep 0.02; done")
	found := pids(t, dir)
	if !p.Wait(patience) {
		t.Fatal("still running")
	}
	noneLeft(t, found)
}

func TestSEC_O1_NothingSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	p := sh(t, daemons(dir)+"trap '' TERM; while :; do sleep 1; done")
	found := pids(t, dir)
	for name, pid := range found {
		if !alive(pid) {
			t.Errorf("control: %s is not there", name)
		}
	}
	start := time.Now()
	p.Kill()
	if d := time.Since(start); d > 1500*time.Millisecond {
		t.Errorf("took %s", d)
	}
	noneLeft(t, found)
}

func TestSEC_O1_LingeringProcessesEndWithTheTable(t *testing.T) {
	dir := t.TempDir()
	var table Table
	p, err := table.Start(context.Background(),
		Spec{Argv: []string{"sh", "-c", daemons(dir) + "while [ ! -f " + dir + "/setsid.pid ] || [ ! -f " + dir +
			"/plain.pid ]; do sleep 0.02; done"}, Env: os.Environ(), Linger: true})
	if err != nil {
		t.Fatal(err)
	}
	found := pids(t, dir)
	if !p.Wait(patience) {
		t.Fatal("a background process holds the end of the command")
	}
	for name, pid := range found {
		if !alive(pid) {
			t.Errorf("%s did not linger", name)
		}
	}
	table.CloseAll()
	noneLeft(t, found)
}

func TestSEC_O2_NothingSurvivesAKilledKerf(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSEGV} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			dir := leftBehind(t)
			socket, keep := filepath.Join(dir, "so cket"), filepath.Join(dir, "keep")
			if err := unix.Mknod(socket, unix.S_IFSOCK|0o600, 0); err != nil {
				t.Fatal(err)
			}
			os.WriteFile(keep, []byte("users"), 0o600)
			lists := t.TempDir()
			filled, kept := filepath.Join(dir, "filled"), filepath.Join(dir, "kept") // directories, as git fills them
			for _, sub := range []string{filled, filepath.Join(filled, "of git"), kept, filepath.Join(kept, "entry")} {
				if err := errors.Join(os.Mkdir(sub, 0o755), os.Chmod(sub, os.ModeSticky|0o755)); err != nil {
					t.Fatal(err)
				}
			}
			os.WriteFile(filepath.Join(kept, "entry", "locked"), nil, 0o444)
			os.Chmod(filepath.Join(kept, "entry", "locked"), os.ModeSticky|0o444)
			os.WriteFile(filepath.Join(lists, "a"), []byte(strings.Join([]string{kept + "/entry/locked", kept + "/entry", kept,
				filled, socket, keep}, "\n")+"\n"), 0o600)
			kerf := exec.Command(os.Args[0])
			kerf.Env = append(os.Environ(), "PROC_TEST_KERF="+daemons(dir)+"while :; do sleep 1; done",
				"PROC_TEST_LITTER="+lists)
			out, err := kerf.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := kerf.Start(); err != nil {
				t.Fatal(err)
			}
			bufio.NewReader(out).ReadString('\n')
			found := pids(t, dir)
			kerf.Process.Signal(sig)
			kerf.Wait()
			noneLeft(t, found)
			for range 3000 {
				if _, err := os.Lstat(socket); err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if _, err := os.Lstat(socket); err == nil {
				t.Error("the placeholder is left")
			}
			if b, _ := os.ReadFile(keep); string(b) != "users" {
				t.Error("a file of the user is gone")
			}
			if info, err := os.Lstat(filled); err != nil || info.Mode() != os.ModeDir|0o755 {
				t.Errorf("a directory that was filled: %v, %v", info, err)
			}
			if _, err := os.Lstat(kept); err == nil {
				t.Error("the directory that git would have removed is left")
			}
		})
	}
}

func TestSEC_K4_DescriptorsOfTheCallerAreClosed(t *testing.T) {
	theGuard() // has run by now, so a descriptor made later stands for none of the caller's
	fd, err := unix.Open(t.TempDir(), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	list := func() string {
		p := sh(t, "ls /proc/self/fd | tr '\\n' ' '")
		p.Wait(-1)
		text, _ := p.Output()
		return strings.TrimSpace(string(text))
	}
	if got := list(); !strings.Contains(" "+got+" ", " "+strconv.Itoa(fd)+" ") {
		t.Errorf("control: an open descriptor is not inherited: %s", got)
	}
	closeOnExec()
	if got := list(); got != "0 1 2 3" { // 3 is ls reading the list
		t.Errorf("got descriptors %s", got)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	p := sh(t, "for i in 1 2 3 4 5; do (sleep 0.01 &) ; done; sleep 0.1")
	p.Wait(-1)
	time.Sleep(50 * time.Millisecond)
	theGuard().reap()
	for _, e := range processes() {
		if e.ppid == os.Getpid() && e.state == 'Z' && e.sid == p.leader {
			t.Errorf("zombie %+v", e)
		}
	}
}

func BenchmarkExecTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProcTrue(b *testing.B) {
	for b.Loop() {
		p, err := Start(context.Background(), Spec{Argv: []string{"/bin/true"}, Env: os.Environ()})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait(-1)
	}
}

// leftBehind makes a directory that is removed once those who are being killed write
// nothing into it any more, which may be a moment after they were told to end.
func leftBehind(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "proc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 500 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error(err)
	})
	return dir
}
