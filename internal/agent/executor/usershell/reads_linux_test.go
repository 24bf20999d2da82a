package usershell

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/executor/place"
	"kerf/internal/agent/policy"
	"kerf/internal/protocol"
	"kerf/internal/text/shell"
	"kerf/internal/work/boundary"
)

// TestWhatOnlyReadsOnlyReads runs generated lines of which Kerf says that they only read,
// under strace and in a sandbox, and fails when one writes, deletes, opens a socket or
// starts a program of the workspace. KERF_READS says how many lines are tried, and
// KERF_READS_SEED which ones.
func TestWhatOnlyReadsOnlyReads(t *testing.T) {
	for _, program := range []string{"bwrap", "strace", "git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s", program)
		}
	}
	w := newScratch(t)
	// Control: lines that do more are seen to.
	bad := []string{"sort -o out a.txt", "uniq -- a.txt out", "xxd a.txt out", "git grep -nO./evil one", "git -c core.fsmonitor=./evil status",
		"touch a.txt", "rm b.txt", "find . -name f -delete", "./evil", "printf '%n' PATH; eviltool", "mkdir d", "mv a.txt c.txt",
		"chmod 600 x.json", "cd sub && git status", "cd lnk && git status", "echo x > /dev/tcp/127.0.0.1/9", "ln -s a l", "git status > out", "env PATH=0 eviltool"}
	found := w.run(t, bad)
	if found == nil {
		t.Skip("strace does not work in the sandbox here")
	}
	for i, line := range bad {
		if found[i] == "" {
			t.Errorf("control: nothing was seen of %q", line)
		}
	}

	lines := 250
	if n, err := strconv.Atoi(os.Getenv("KERF_READS")); err == nil {
		lines = n
	}
	at := place.New(func() boundary.Policy { return boundary.Policy{Roots: []string{w.dir}} }, w.env)
	rules := policy.Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode()}
	seed := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("KERF_READS_SEED"), 10, 64); err == nil {
		seed = n
	}
	rnd := rand.New(rand.NewPCG(seed, 7))
	seen := map[string]bool{}
	var auto []string
	tried := 0
	for tries := 0; tried < lines && tries < 50*lines; tries++ {
		line := ""
		if tries < len(chosen) {
			line = chosen[tries]
		} else {
			line = generate(rnd)
		}
		if seen[line] {
			continue
		}
		seen[line] = true
		tried++
		if rules.Command(policy.Command{Line: line, Dir: w.dir, Place: at}).Verdict == policy.Allow {
			auto = append(auto, line)
		}
	}
	findings := 0
	w.cut = 0 // of the controls
	const batch = 50
	for i := 0; i < len(auto); i += batch {
		part := auto[i:min(i+batch, len(auto))]
		for n, what := range w.run(t, part) {
			if what != "" {
				findings++
				t.Errorf("%q only reads, but: %s", part[n], what)
			}
		}
	}
	if len(auto) < tried/20 {
		t.Errorf("only %d of %d lines ran", len(auto), tried)
	}
	t.Logf("seed %d: %d lines tried, %d ran unasked, %d of these were cut short, %d findings", seed, tried, len(auto), w.cut, findings)
}

// scratch is a workspace full of traps.
type scratch struct {
	dir, log string
	cut      int // lines that were ended before they ended themselves
	env      []string
}

func newScratch(t *testing.T) *scratch {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &scratch{dir: dir, log: filepath.Join(t.TempDir(), "log")}
	evil := "#!/bin/sh\n: > " + dir + "/ran\n"
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "b.txt": "two\nthree\n", "f": "x\n", "evil": evil,
		"0/eviltool": evil, "0/ls": evil, "bin/cat": evil, "x.json": `{"a": 1}`, ".gitattributes": "*.txt diff=d filter=f\n",
		"rust-toolchain.toml": "[toolchain]\npath = \"" + dir + "\"\n", ".npmrc": "script-shell=./evil\n", "conftest.py": "import os\n",
		"go.mod": "module x\n\ngo 1.99\n\ntoolchain go1.99.9\n", "main.go": "package main\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(reading([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat",
		"PAGER=cat", "TERM=dumb"}), "GOFLAGS=-mod=mod")
	script := `git init -q . && git -c user.name=a -c user.email=a@b add a.txt f .gitattributes &&
git -c user.name=a -c user.email=a@b commit -qm one && echo more >> a.txt && git init -q --bare emb &&
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ` + dir + `\n\tfsmonitor = ` + dir + `/evil\n' > emb/config &&
for d in sub/inner elsewhere/m; do git init -q $d && (cd $d && echo x > g && git add g && git -c user.name=a -c user.email=a@b commit -qm one &&
git config core.fsmonitor ` + dir + `/evil && git config diff.external ` + dir + `/evil && git config filter.f.clean ` + dir + `/evil &&
echo '* filter=f' > .gitattributes && echo y > g); done &&
git init -q sub && (cd sub && git add inner 2>/dev/null && git -c user.name=a -c user.email=a@b commit -qm one) &&
git init -q sep && (cd sep && git update-index --add --cacheinfo 160000,$(git -C ../elsewhere/m rev-parse HEAD),m &&
git config core.worktree ` + dir + `/elsewhere) && mkdir lnk && echo 'gitdir: ../sep/.git' > lnk/.git`
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return w
}

// traced are the calls that tell of a write, a removal, a socket or a start.
const traced = "openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat," +
	"chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,utimensat,utime,utimes,futimesat,mknod,mknodat," +
	"setxattr,lsetxattr,fsetxattr,removexattr,socket,connect,execve,execveat"

// lineLimit is how long a line may run, in seconds. A busy machine needs many for one, and a
// line that was cut short has shown little: it is counted.
const lineLimit = 60

// run returns for each line what it did beyond reading, nil if nothing could be run.
func (w *scratch) run(t *testing.T, lines []string) []string {
	t.Helper()
	var script strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&script, ": < /@@%d\ntimeout %d bash -c %s </dev/null >/dev/null 2>&1; [ $? != 124 ] || : < /@@cut\n", i, lineLimit, shell.Quote(l))
	}
	fmt.Fprintf(&script, ": < /@@%d\n", len(lines))
	if err := os.WriteFile(w.log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bwrap", "--unshare-net", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev",
		"--proc", "/proc", "--bind", w.dir, w.dir, "--bind", filepath.Dir(w.log), filepath.Dir(w.log), "--chdir", w.dir,
		"strace", "-f", "-qq", "-s", "300", "-o", w.log, "-e", "trace="+traced, "-e", "signal=none", "bash", "-c", script.String())
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	data, _ := os.ReadFile(w.log)
	if !bytes.Contains(data, []byte(`"/@@0"`)) {
		t.Logf("%v: %.300s", err, out)
		return nil
	}
	found := make([]string, len(lines))
	at := -1
	last := false
	for call := range strings.Lines(string(data)) {
		if strings.Contains(call, `"/@@cut"`) {
			w.cut++
			continue
		}
		if m := marker.FindStringSubmatch(call); m != nil {
			at, _ = strconv.Atoi(m[1])
			last = at == len(lines)
			continue
		}
		if at < 0 || at >= len(lines) || found[at] != "" {
			continue
		}
		if w.harms(call) {
			found[at] = strings.TrimSpace(call)
		}
	}
	if !last {
		t.Errorf("not all lines ran: %v: %.300s", err, out)
	}
	return found
}

var (
	marker = regexp.MustCompile(`"/@@(\d+)"`)
	called = regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
	quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// harms reports whether a call does more than to read.
func (w *scratch) harms(call string) bool {
	m := called.FindStringSubmatch(call)
	if m == nil {
		return false
	}
	name, args := m[1], m[2]
	path := ""
	if q := quoted.FindStringSubmatch(args); q != nil {
		path = q[1]
	}
	switch name {
	case "open", "openat":
		writes := strings.Contains(args, "O_WRONLY") || strings.Contains(args, "O_RDWR") || strings.Contains(args, "O_CREAT")
		// go counts its own calls in the user's settings, whatever it is asked.
		return writes && path != "/dev/null" && path != "/dev/tty" && !strings.Contains(path, "go/telemetry")
	case "mkdir", "mkdirat":
		return !strings.Contains(path, "go/telemetry") && !strings.HasSuffix(path, "/.config") && !strings.HasSuffix(path, "/.config/go")
	case "socket":
		return !strings.HasPrefix(args, "AF_UNIX")
	case "connect":
		return !strings.Contains(args, "nscd") && !strings.Contains(args, "userdb")
	case "execve", "execveat":
		return path != "" && (!strings.HasPrefix(path, "/") || strings.HasPrefix(path, w.dir+"/"))
	}
	return true
}
