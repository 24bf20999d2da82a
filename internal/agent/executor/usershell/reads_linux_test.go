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
	"slices"
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
// starts a program of the workspace. KERF_READS says how many lines are tried.
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
		"chmod 600 x.json", "echo x > /dev/tcp/127.0.0.1/9", "ln -s a l", "git status > out", "env PATH=0 eviltool"}
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
	at := place.New(boundary.Policy{Roots: []string{w.dir}}, w.env)
	rules := policy.Rules{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}
	rnd := rand.New(rand.NewPCG(uint64(lines), 7))
	seen := map[string]bool{}
	var auto []string
	tried := 0
	for tries := 0; tried < lines && tries < 50*lines; tries++ {
		line := generate(rnd)
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
	t.Logf("%d lines tried, %d ran unasked, %d findings", tried, len(auto), findings)
}

// scratch is a workspace full of traps.
type scratch struct {
	dir, log string
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
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ` + dir + `\n\tfsmonitor = ` + dir + `/evil\n' > emb/config`
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

// run returns for each line what it did beyond reading, nil if nothing could be run.
func (w *scratch) run(t *testing.T, lines []string) []string {
	t.Helper()
	var script strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&script, ": < /@@%d\ntimeout 5 bash -c %s </dev/null >/dev/null 2>&1\n", i, shell.Quote(l))
	}
	fmt.Fprintf(&script, ": < /@@%d\n", len(lines))
	if err := os.WriteFile(w.log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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

// programs are those that Kerf takes for reading in some use, with options of all kinds.
var programs = map[string]string{
	"cat": "-n -A -b -s", "head": "-n -c -1 -q", "tail": "-n -c -2", "ls": "-l -la -R -Z --color --hyperlink", "wc": "-l -c",
	"sort": "-o -u -k -t -T -S --output=out --compress-program=./evil -r -n -c --files0-from=f --debug", "cut": "-d: -f1 -c1",
	"uniq": "-c -d -f -s -w -- --group -i", "xxd": "-r -p -g -l -s -c -ps -i -b -u -cols -seek -revert", "tr": "a-z A-Z -d",
	"tree": "-o -R -L -a --fromfile -J -H -d", "base64": "-d -o -w -i", "shuf": "-o -n -e --random-source=f -z", "nl": "-ba",
	"iconv": "-f -t -o -c -l utf8", "comm": "-12 -3", "join": "-j -1", "paste": "-d, -s", "fold": "-w -s", "stat": "-c -f -L",
	"od": "-c -x -N", "diff": "-u -r -l -q -y --paginate --label", "cmp": "-l -s", "md5sum": "-c -b", "cksum": "-a", "du": "-s -h",
	"find": "-name -type -delete -fprint -fls -exec -ok -print -printf -newer -maxdepth -o ! -print0 -ls . 1 f '*.txt'",
	"grep": "-r -n -i -l -c -v -o -f -e one two --include=x -P", "rg": "--pre -z -n -i -l --hostname-bin -g --files one -uu --no-config",
	"sed": "-n -i -e -f 1p '$d' 's/a/b/' 's/a/b/w' 'w out' '1e' 's/x/id/e' -s --in-place -E /one/p", "file": "-C -m -z -b -i -f -p",
	"awk":  `'{print}' 'BEGIN{system("id")}' '{print>"out"}' -f -F, -v 'NR==1' '{print|"cat"}'`,
	"date": "+%s -d -s -u -r 2020-01-01 -f", "hostname": "-s -f -i -I -F x", "printf": "'%s' '%n' PATH '%d' -v '\\045n' '%5.*s' '%b' '%(%s)T'",
	"test": "-f -d -v -R a.txt 'a[$(./evil)]' = x", "git": "status log diff show grep -n -O./evil -nO./evil --output=out --ext-diff --textconv " +
		"describe --dirty --always branch -a -d x tag -l remote -v stash list show-ref rev-parse HEAD ls-files -c core.pager=./evil " +
		"blame a.txt --stat -p --oneline -C emb cat-file reflog --format=%GG shortlog one --show-signature --no-pager worktree config",
	"go": "version env GOPATH doc -w GOPROXY=x list -json fmt -http GOGCCFLAGS", "gofmt": "-l -d -w -s -e main.go", "jq": ". .a -r -f",
	"cargo": "--version build", "rustc": "--version", "python3": "--version -c -m", "node": "--version -v -e", "npm": "--version ls",
	"pip": "list show freeze --outdated", "getconf": "-a -v ./evil PATH ARG_MAX", "column": "-t -s,", "strings": "-n -a @f",
	"nm": "-D --plugin=./evil @f", "objdump": "-d -S -h @f", "readelf": "-h -w -a @f", "tar": "tf cf xf -tf -I./evil --to-command=./evil",
	"unzip": "-l -p", "ps": "-e -ef aux e", "cd": "emb bin 0 .. . /", "echo": "x -e", "env": "PATH=0", "xargs": "-n cat", "command": "-v -p ls",
	"type": "ls -a", "which": "ls -a", "seq": "1 3", "expr": "1 + 2", "df": "-h --sync", "id": "-u", "uname": "-a", "zcat": "-f", "zgrep": "-e x",
	"eviltool": "", "ls2": "", "true": "", "basename": "a/b", "realpath": "-e", "tac": "-r", "rev": "", "fmt": "-w", "pr": "-l", "cal": "-3",
	"numfmt": "--to=iec 1000", "fd": "-x -X -l -e txt -H", "make": "--version -n", "bash": "--version -c 'ls -l' 'sort -o out f'", "touch": "", "rm": "-f",
}

// generate makes a line of one to three commands.
func generate(r *rand.Rand) string {
	names := make([]string, 0, len(programs))
	for n := range programs {
		names = append(names, n)
	}
	slices.Sort(names)
	operands := []string{"a.txt", "b.txt", "f", "out", "-", "--", ".", "x.json", "emb", "1", "2", "one", "-o", "out2", "0", "./evil", "-x", "HEAD"}
	var b strings.Builder
	for i := range 1 + r.IntN(8)/6 + r.IntN(8)/7 {
		if i > 0 {
			b.WriteString([]string{" && ", "; ", " | ", " || ", "\n"}[r.IntN(5)])
		}
		name := names[r.IntN(len(names))]
		if r.IntN(5) == 0 {
			name = "git"
		}
		b.WriteString(name)
		options := strings.Fields(programs[name])
		for range r.IntN(4) {
			if len(options) > 0 {
				b.WriteString(" " + options[r.IntN(len(options))])
			}
		}
		for range r.IntN(3) {
			b.WriteString(" " + operands[r.IntN(len(operands))])
		}
	}
	return b.String()
}
