package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"kerf/internal/work/sandbox/render"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/seccomp"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSEC_K1_K3_K7_KernelCallsAreRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		self := fmt.Sprint(os.Getpid())
		numbers := map[string]string{"ptrace": "101, 16, 1, 0, 0", "keyctl": "250, 0, -3, 0",
			"add_key": "248, b'user', b'a', b'b', 1, -3", "bpf": "321, 0, 0, 0", "userfaultfd": "323, 0",
			"perf_event_open": "298, 0, 0, -1, -1, 0", "unshare user": "272, 0x10000000",
			"clone user": "56, 0x10000011, 0, 0, 0, 0", "clone3": "435, 0, 0", "mount": "165, 0, 0, 0, 0, 0",
			"personality": "135, 0x0008", "process_vm_readv": "310, " + self + ", 0, 0, 0, 0, 0",
			"tiocsti": "16, 0, 0x5412, b'x'", "tioclinux": "16, 0, 0x541c, b'x'", "high half": "16, 0, 0x100005412, b'x'",
			"open_by_handle_at": "304, -100, 0, 0", "setns": "308, 0, 0"}
		if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
			t.Skip("the numbers of the calls are those of amd64")
		}
		script := families
		for name, args := range numbers {
			script += fmt.Sprintf("refused(%q, %s)\n", name, args)
		}
		script = strings.ReplaceAll(script, `print("OPEN", name)`, "pass")
		if text, code := s.run("python3", "-c", script); text != "" || code != 0 {
			t.Errorf("got %d %s", code, text)
		}
		if text, _ := s.inside("kill -0 " + self + " && echo SEEN; ls /proc/" + self); !strings.Contains(text, "No such") ||
			strings.Contains(text, "SEEN") {
			t.Errorf("processes outside are visible: %s", text)
		}
		if text, code := s.inside("unshare -Ur true"); code == 0 {
			t.Errorf("a nested user namespace: %s", text)
		}
	})
}

func TestSEC_K2_OrdinaryProgramsWork(t *testing.T) {
	one(t, func(t *testing.T) {
		// An empty build cache would make the test take minutes. Asked before HOME
		// is the test's own.
		out, _ := exec.Command("go", "env", "GOCACHE").Output()
		cache := strings.TrimSpace(string(out))
		s := newSite(t)
		s.write(s.work+"/m/go.mod", "module m\n\ngo 1.21\n")
		s.write(s.work+"/m/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"built\") }\n")
		s.write(s.work+"/m/main_test.go", "package main\n\nimport (\n\t\"net\"\n\t\"testing\"\n)\n\nfunc TestListen(t "+
			"*testing.T) {\n\tl, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tgo "+
			"net.Dial(\"tcp\", l.Addr().String())\n\tif _, err := l.Accept(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
		if _, err := os.Stat(cache); err == nil {
			t.Setenv("GOCACHE", cache)
			s.policy.Roots = append(s.policy.Roots, cache)
		} else {
			t.Setenv("GOCACHE", "/tmp/gocache")
		}
		for name, script := range map[string]string{
			"python3 asyncio": `python3 -c 'import asyncio, socket
async def main():
    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0])
    s = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    await asyncio.open_connection(*s.sockets[0].getsockname())
asyncio.run(main())
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
import multiprocessing; print(multiprocessing.get_context("fork").Pool(2).map(abs, [-1, 2]))'`,
			"node": `node -e 'const {spawn, fork} = require("child_process"); const c = spawn("echo", ["x"]); c.on("exit", n => process.exit(n)); require("http").createServer().listen(0, "127.0.0.1").unref()'`,
			"go": "cd m && export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPATH=/tmp/gopath && go build -o /tmp/m . && " +
				"/tmp/m && go test ./...",
			"bash": "set -e; x=$(mktemp); cat <<'E' > $x\nhere\nE\n" +
				"cat $x | grep -q here; head -c 10 /dev/urandom > /dev/null; (sleep 0.01 & wait); diff <(echo a) <(echo a); " +
				"echo x > /dev/null",
			"script": "script -qc 'test -t 0 && echo tty' /dev/null",
			"git":    "git status; true",
			"make -j": "mkdir -p mk && cd mk && printf 'all: a b c\\n%%: ; @sleep 0.01; echo $@ > $@.out\\n' > Makefile " +
				"&& make -s -j4 && cat a.out b.out c.out",
			"javac": "mkdir -p j && cd j && printf 'public class H { public static void main(String[] a) throws " +
				"Exception { try (var s = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress()); var c = " +
				"new java.net.Socket(s.getInetAddress(), s.getLocalPort())) { System.out.println(\"hello\"); } } }' > H.java && " +
				"javac H.java && java H | grep -q hello",
			"npm": "mkdir -p n/dep && cd n && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json && " +
				"echo '{\"name\":\"n\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:dep\"}}' > package.json && " +
				"npm_config_cache=/tmp/npm npm install --offline --no-audit --no-fund --loglevel=error && test -e " +
				"node_modules/dep/package.json",
			"redis-server": "redis-server --port 6399 --save '' --unixsocket '' --daemonize no > /tmp/redis.log & for i in " +
				"$(seq 100); do (echo PING > /dev/tcp/127.0.0.1/6399) 2>/dev/null && exit 0; sleep 0.05; done; exit 1",
			"threads": `python3 -c 'import threading; ts=[threading.Thread(target=print) for _ in range(20)]; [t.start() for t in ts]; [t.join() for t in ts]'`,
		} {
			t.Run(name, func(t *testing.T) {
				s.t = t
				if (name == "javac" || name == "npm") && os.Getenv("KERF_LONG") == "" {
					t.Skip("it takes seconds; KERF_LONG=1 runs it")
				}
				program, _, _ := strings.Cut(strings.TrimPrefix(name, "bash"), " ")
				if program != "" && program != "threads" {
					if _, err := exec.LookPath(program); err != nil {
						t.Skip(err)
					}
				}
				if text, code := s.inside(script); code != 0 {
					t.Errorf("%d: %s", code, text)
				}
			})
		}
	})
}

func TestSEC_K4_NoDescriptorsInside(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, _ := s.inside("ls /proc/self/fd | tr '\\n' ' '")
		if strings.TrimSpace(text) != "0 1 2 3" { // 3 is ls reading the list
			t.Errorf("got %s", text)
		}
		if text, _ := s.inside("ls -l /proc/1/fd 2>&1"); strings.Contains(text, "memfd") || strings.Contains(text, s.work) {
			t.Errorf("process 1 holds %s", text)
		}
	})
}

func TestSEC_K5_NoPrivileges(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, _ := s.inside("for p in self 1; do grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/$p/status; done")
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[name]
			if want == "" {
				want = "0000000000000000"
			}
			if value != want {
				t.Errorf("%s is %s", name, value)
			}
		}
		if strings.Count(text, "\n") != 14 {
			t.Errorf("got %s", text)
		}
	})
}

func TestSEC_K8_ProgramsAreNotTakenFromWritableDirectories(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		more := filepath.Join(filepath.Dir(s.work), "more")
		for _, dir := range []string{s.work, more} {
			for _, name := range []string{"bwrap", "git", "rg", "sh", "flock", "setsid", "true"} {
				s.write(dir+"/"+name, "#!/bin/bash\ntouch "+s.out+"/ran-"+name+"\n")
			}
		}
		s.policy.Roots = append(s.policy.Roots, more)
		t.Setenv("PATH", s.work+":"+more+":"+os.Getenv("PATH"))
		for range 2 {
			if text, code := s.inside("echo ok"); code != 0 || text != "ok\n" {
				t.Errorf("got %d %s", code, text)
			}
		}
		s.run("true")
		if names, _ := filepath.Glob(s.out + "/ran-*"); len(names) != 0 {
			t.Errorf("outside ran %v", names)
		}
		s.outside("true; command -p true; $(type -P true)")
		if names, _ := filepath.Glob(s.out + "/ran-*"); len(names) == 0 {
			t.Error("control: planted programs do nothing outside either")
		}
	})
}

func TestSEC_K10_NoSandboxNoRun(t *testing.T) {
	linux := func() string { return "Linux version 6.1.0" }
	broken := func(context.Context, way) error {
		return &render.UnavailableError{Reason: "namespaces cannot be made: EPERM"}
	}
	absent := func(string, []string) (string, error) { return "", proc.ErrNotFound }
	there := func(string, []string) (string, error) { return "/usr/bin/bwrap", nil }
	only := func(name string) func(context.Context, way) error {
		return func(ctx context.Context, w way) error {
			if w.name == name {
				return nil
			}
			return broken(ctx, w)
		}
	}
	workspace := boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/w",
		Mounts: []boundary.Mount{{Kind: boundary.MountWrite, Path: "/w"}}, Masks: []boundary.Mask{{Kind: boundary.MaskSocket, Path: "/w/.kerf"}}}
	reading := boundary.Plan{Mode: boundary.ReadOnly, Cwd: "/w"}
	for _, c := range []struct {
		name string
		m    machine
		plan boundary.Plan
		want string // empty: nothing runs
	}{
		{"all work", machine{version: linux, try: only(boundary.OwnLauncher), program: there}, workspace, boundary.OwnLauncher},
		{"namespaces only for bubblewrap", machine{version: linux, try: only(boundary.Bubblewrap), program: there}, workspace, boundary.Bubblewrap},
		{"no namespaces, no bubblewrap", machine{version: linux, try: broken, program: absent}, workspace, ""},
		{"no namespaces, broken bubblewrap", machine{version: linux, try: broken, program: there}, workspace, ""},
		{"only Landlock, and more is asked for", machine{version: linux, try: only(boundary.Landlock), program: absent}, workspace, ""},
		{"only Landlock, and it is enough", machine{version: linux, try: only(boundary.Landlock), program: absent}, reading, boundary.Landlock},
		{"old kernel without all of it", machine{version: linux, try: broken, program: absent}, reading, ""},
		{"WSL1", machine{version: func() string { return "Linux version 4.4.0-19041-Microsoft (x)" }, try: only(boundary.OwnLauncher), program: there}, workspace, ""},
		{"a backend that is not there was asked for", machine{version: linux, try: only(boundary.OwnLauncher), program: absent}, boundary.Plan{Mode: boundary.WorkspaceWrite, Backend: boundary.Bubblewrap}, ""},
	} {
		got, err := c.m.choose(t.Context(), c.plan, nil)
		var unavailable *render.UnavailableError
		switch {
		case c.want == "" && (!errors.As(err, &unavailable) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		case c.want != "" && (err != nil || got.name != c.want):
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
	if isWSL1("Linux version 5.15.0-microsoft-standard-WSL2") {
		t.Error("WSL1 is not told from WSL2")
	}
}

// A launcher that cannot do one of its calls does not run the command, says
// which, and exits with 125.
func TestSEC_K10_ACallThatFailsStopsTheLauncher(t *testing.T) {
	s := newSite(t)
	pl, err := boundary.Resolve(s.policy, boundary.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	whole := compile(pl, []string{"touch", "ran"}).Len()
	if whole < 50 {
		t.Fatalf("only %d calls", whole)
	}
	for _, call := range []func(*compiler){
		func(c *compiler) { c.Call("a mount", unix.SYS_MOUNT, "none", "/proc/nowhere", "tmpfs", 0, nil) },
		func(c *compiler) { c.Call("seccomp is not available", unix.SYS_SECCOMP, 99, 0, nil) },
	} {
		c := &compiler{plan: pl}
		c.Clone, c.Argv = namespaces, []string{"touch", "ran"}
		c.who()
		call(c)
		file, err := programFile(&c.Program)
		if err != nil {
			t.Fatal(err)
		}
		text, code := s.start(&Box{Argv: []string{"/proc/self/exe", launch.Flag}, Files: []*os.File{file}, Confined: true})
		file.Close()
		if code != 125 || strings.Count(text, "\n") != 1 || !strings.Contains(text, "was not run") {
			t.Errorf("got %d %q", code, text)
		}
	}
	if _, err := os.Lstat(s.work + "/ran"); err == nil {
		t.Error("the command ran")
	}
}

func TestSEC_O1_NothingSurvivesTheSandbox(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		name := fmt.Sprintf("kerf-survivor-%d", os.Getpid())
		text, _ := s.inside("(setsid nohup sh -c 'trap \"\" TERM HUP; exec -a " + name + " sleep 300' >/dev/null 2>&1 " +
			"&); (setsid bash -c 'exec -a " + name + " sleep 300' >/dev/null 2>&1 &); sleep 0.2; echo end")
		if text != "end\n" {
			t.Errorf("got %q", text)
		}
		deadline := time.Now().Add(30 * time.Second)
		for {
			if sleepers(t, name) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("survivors")
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestSignalsReachTheCommandNotTheLauncher(t *testing.T) {
	// A shell has its background jobs ignore SIGINT, and what they start inherits that, unless
	// they listen to it, as Kerf does.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt)
	defer signal.Stop(heard)
	each(t, func(t *testing.T) {
		s := newSite(t)
		for _, tty := range []bool{false, true} {
			pl, err := boundary.Resolve(s.policy, boundary.Disk{})
			if err != nil {
				t.Fatal(err)
			}
			pl.TTY = tty
			box, err := Wrap(t.Context(), pl, []string{"bash", "-c",
				"trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.02; done"})
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			p, err := proc.Start(t.Context(), proc.Spec{Argv: box.Argv, Dir: s.work, Env: os.Environ(), ExtraFiles: box.Files,
				Confined: true, TTY: tty, Started: box.Started})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			for text := []byte{}; !bytes.Contains(text, []byte("ready")); text, _ = p.Output() {
				if p.Wait(10 * time.Millisecond) {
					all, _ := p.Output()
					t.Fatalf("tty %v: ended: %s", tty, all)
				}
			}
			if tty {
				p.Write("\x03")
			} else {
				p.Interrupt()
			}
			if !p.Wait(time.Minute) {
				t.Fatalf("tty %v: still running", tty)
			}
			if code, _, _ := p.ExitCode(); code != 3 {
				all, _ := p.Output()
				t.Errorf("tty %v: exit %d: %s", tty, code, all)
			}
		}
	})
}
