package agree

import (
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/search"
	"kerf/internal/work/workspace"
)

// site is a workspace, a neighbour that can be read, and what works there.
type site struct {
	t         *testing.T
	work, out string
	lists     string // in which files of the test itself lie
	policy    boundary.Policy
	ws        *workspace.Workspace
	search    *search.Searcher
	open      map[string]bool // the contents that the plan leaves open under some name
	// What the tree has by now, by kind.
	dirs, files, links []string
}

func newSite(t *testing.T, backend, mode string) *site {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, work: filepath.Join(top, "work"), out: filepath.Join(top, "out"),
		lists: filepath.Join(top, "lists")}
	for _, name := range []string{"work", "out", "home", "tmp", "kerf", "lists"} {
		s.must(os.Mkdir(filepath.Join(top, name), 0o755))
	}
	t.Cleanup(func() { unmount(top) })
	t.Setenv("HOME", filepath.Join(top, "home"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	s.policy = boundary.Policy{Mode: mode, Roots: []string{s.work}, Cwd: s.work, TmpDir: filepath.Join(top, "tmp"),
		LockDir: filepath.Join(top, "locks"), Backend: backend,
		Rules: []boundary.Rule{{Path: s.out, Access: boundary.Read}, {Path: s.lists, Access: boundary.Read}}}
	s.dirs = []string{s.work}
	return s
}

// begin opens the workspace of a tree that is complete.
func (s *site) begin() {
	s.t.Helper()
	session := boundary.NewSession(boundary.Disk{}, s.policy.Mode, func(mode string) boundary.Policy {
		p := s.policy
		p.Mode, p.Session = mode, nil
		return p
	})
	s.policy.Session = session
	ws, err := workspace.Open(workspace.Options{Home: filepath.Join(filepath.Dir(s.work), "kerf"), Roots: []string{s.work},
		Boundary: session, Unrecorded: true})
	s.must(err)
	s.t.Cleanup(func() { ws.Close() })
	s.ws = ws
	s.search = search.New(search.Options{Roots: []string{s.work}, Boundary: session, Ripgrep: "-"})
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// start begins a command in the sandbox; end waits for it, and gives what it printed, or why it did not run.
func (s *site) start(argv ...string) (p *proc.Process, end func() (out string, lost error)) {
	s.t.Helper()
	box, err := sandbox.Prepare(s.t.Context(), s.policy, false, argv)
	s.must(err)
	p, err = proc.Start(s.t.Context(), proc.Spec{Argv: box.Argv, Dir: s.work, Env: os.Environ(), ExtraFiles: box.Files,
		Confined: box.Confined, Cgroup: box.Cgroup, Started: box.Started})
	if err != nil {
		box.Close()
		s.t.Fatal(err)
	}
	return p, func() (string, error) {
		s.t.Helper()
		defer p.Kill()
		if !p.Wait(2 * time.Minute) {
			box.Close()
			s.t.Fatal("the command hangs")
		}
		text, _ := p.Output()
		code, _, _ := p.ExitCode()
		box.Close()
		return string(text), box.Lost(code, string(text))
	}
}

//go:embed testdata/command.py
var program string

// said is what a command found at a path: its content, and whether it could be written.
// Made says so of a name that the command was asked to make.
type said struct {
	text           string
	read, wrote    bool
	made, replaced bool
}

// ask lets a command try paths in one of the ways of the program.
func (s *site) ask(way string, paths []string) map[string]said {
	s.t.Helper()
	list := filepath.Join(s.lists, "list")
	var b strings.Builder
	for _, path := range paths {
		b.WriteString(hex.EncodeToString([]byte(path)) + "\n")
	}
	s.must(os.WriteFile(list, []byte(b.String()), 0o644))
	_, end := s.start("python3", "-c", program, way, list)
	out, lost := end()
	s.must(lost)
	told := make(map[string]said)
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), " ")
		if len(f) != 4 || f[0] != "at" {
			s.t.Logf("the command says %q", line)
			continue
		}
		path, _ := hex.DecodeString(f[1])
		text, _ := hex.DecodeString(f[3])
		told[string(path)] = said{text: string(text), read: strings.Contains(f[2], "r"), wrote: strings.Contains(f[2], "w"),
			made: strings.Contains(f[2], "m"), replaced: strings.Contains(f[2], "x")}
	}
	if len(told) != len(paths) {
		s.t.Fatalf("the command told of %d of %d paths: %.300s", len(told), len(paths), out)
	}
	return told
}

// names are all paths below the work directory, links not followed.
func (s *site) names() (list []string) {
	_ = filepath.WalkDir(s.work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != s.work {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// amongMounts runs the test again in a process with mounts of its own: as the user who runs
// the tests, where that is root, and in a user namespace.
func amongMounts(t *testing.T) {
	ways := map[string]uintptr{"in a user namespace": syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER}
	if os.Geteuid() == 0 {
		ways["as root"] = syscall.CLONE_NEWNS
	}
	for way, flags := range ways {
		t.Run(way, func(t *testing.T) {
			name, _, _ := strings.Cut(t.Name(), "/")
			cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v", "-test.timeout=3h")
			cmd.Env = append(os.Environ(), mountsEnv+"=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
			if flags&syscall.CLONE_NEWUSER != 0 {
				id := func(n int) []syscall.SysProcIDMap {
					return []syscall.SysProcIDMap{{ContainerID: 0, HostID: n, Size: 1}}
				}
				cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = id(os.Geteuid()), id(os.Getegid())
			}
			out, err := cmd.CombinedOutput()
			if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
				t.Skipf("no mounts of our own: %v", err)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			} else if strings.Contains(string(out), "--- SKIP: "+name+" ") {
				t.Skipf("nothing can be mounted: %s", out)
			} else {
				t.Logf("%s", summary(string(out)))
			}
		})
	}
}

// summary are the lines with counts.
func summary(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if strings.Contains(line, "counted:") || strings.Contains(line, "SKIP") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// mountsEnv is set in a process that may mount.
const mountsEnv = "KERF_TEST_AGREE_MOUNTS"

// shown is a path as faults name it.
func (s *site) shown(path string) string {
	return strings.ReplaceAll(fmt.Sprintf("%q", strings.TrimPrefix(path, s.work+"/")), strings.Repeat("long", 5), "L")
}

// unmount takes away what is mounted below top, whatever names it has by now.
func unmount(top string) {
	table := mounts.Table()
	for i := len(table) - 1; i >= 0; i-- {
		if pathname.Inside(top, table[i].Path) {
			_ = unix.Unmount(table[i].Path, unix.MNT_DETACH)
		}
	}
}

func unhex(text string) string {
	b, _ := hex.DecodeString(text)
	return string(b)
}
