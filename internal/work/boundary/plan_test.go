package boundary_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox/render"
)

var update = flag.Bool("update", false, "write golden files anew")

// paper is a disk made of a list of names: "d/" is a directory, "l -> t" a link,
// "f = text" a pointer file, "p!" a placeholder.
type paper map[string]string

func newPaper(lines ...string) paper {
	p := paper{"/": "dir", "/tmp": "dir"}
	for _, line := range lines {
		name, value := line, "file"
		switch {
		case strings.HasSuffix(line, "/"):
			name, value = strings.TrimSuffix(line, "/"), "dir"
		case strings.HasSuffix(line, "!"):
			name, value = strings.TrimSuffix(line, "!"), "placeholder"
		case strings.Contains(line, " -> "):
			name, value, _ = strings.Cut(line, " -> ")
			value = "link " + value
		case strings.Contains(line, " = "):
			name, value, _ = strings.Cut(line, " = ")
			value = "pointer " + value
		}
		p[name] = value
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if p[dir] == "" {
				p[dir] = "dir"
			}
		}
	}
	return p
}

type paperInfo struct {
	name string
	mode fs.FileMode
}

func (i paperInfo) Name() string       { return i.name }
func (i paperInfo) Size() int64        { return 0 }
func (i paperInfo) Mode() fs.FileMode  { return i.mode }
func (i paperInfo) ModTime() time.Time { return time.Time{} }
func (i paperInfo) IsDir() bool        { return i.mode.IsDir() }
func (i paperInfo) Sys() any           { return nil }

func (p paper) Lstat(name string) (fs.FileInfo, error) {
	kind, _, _ := strings.Cut(p[name], " ")
	switch kind {
	case "":
		return nil, fs.ErrNotExist
	case "dir":
		return paperInfo{name, fs.ModeDir | 0o755}, nil
	case "link":
		return paperInfo{name, fs.ModeSymlink}, nil
	case "placeholder":
		return paperInfo{name, fs.ModeSocket}, nil
	}
	return paperInfo{name, 0o644}, nil
}

func (p paper) Real(name string) (string, error) {
	if target, ok := strings.CutPrefix(p[name], "link "); ok {
		return p.Real(target)
	}
	if p[name] == "" {
		return "", &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	return name, nil
}

func (p paper) Pointer(name string) (string, error) {
	target, ok := strings.CutPrefix(p[name], "pointer ")
	if !ok {
		return "", errors.New("not a pointer")
	}
	return target, nil
}

func (p paper) Placeholder(name string) bool { return p[name] == "placeholder" }
func (p paper) Links(dir string) []string    { return nil }

// Makes knows a directory of somebody else, and one that is read-only, by their names.
func (p paper) Makes(dir string) (now, ever bool) {
	return !strings.HasPrefix(dir, "/tmp/stranger") && !strings.Contains(dir, "/locked/"),
		!strings.HasPrefix(dir, "/tmp/stranger")
}

// Home is what the file "home" of a git directory points to.
func (p paper) Home(dir string) string {
	target, _ := p.Pointer(dir + "/home")
	return target
}

func (p paper) Nested(root string, _ bool) []string {
	var found []string
	for name := range p {
		dir := path.Dir(name)
		bare := path.Base(name) == "HEAD" && path.Base(dir) != ".git" && !strings.Contains(dir, "/.git/") ||
			strings.HasPrefix(dir, root+"/") && strings.Contains(root, "/modules")
		switch {
		case path.Base(name) == ".git" && strings.HasPrefix(dir, root+"/"):
			found = append(found, name)
		case path.Base(name) == "HEAD" && bare && strings.HasPrefix(dir, root+"/"):
			found = append(found, dir)
		}
	}
	slices.Sort(found)
	return found
}

func (p paper) Match(pattern string) ([]string, error) {
	var found []string
	for name := range p {
		if ok, err := doublestar.Match(pattern, name); err != nil {
			return nil, err
		} else if ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found, nil
}

func (p paper) Follows(string, string, string) []repo.Target                          { return nil }
func (p paper) Mounts() []mounts.Point                                                { return nil }
func (p paper) Identity(string) (boundary.FileID, bool)                               { return boundary.FileID{}, false }
func (p paper) Multiples(string, int) []boundary.Multiple                             { return nil }
func (p paper) Names(map[boundary.FileID]bool, []string) map[boundary.FileID][]string { return nil }

// onUnix skips a test whose paths are those of Unix elsewhere.
func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
}

func repository(dir string, more ...string) []string {
	lines := []string{dir + "/HEAD", dir + "/config", dir + "/hooks/", dir + "/info/exclude", dir + "/objects/info/",
		dir + "/refs/"}
	for _, m := range more {
		lines = append(lines, dir+m)
	}
	return lines
}

func plans() map[string]struct {
	policy boundary.Policy
	disk   paper
} {
	type c = struct {
		policy boundary.Policy
		disk   paper
	}
	workspace := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{"/w"}, Cwd: "/w/sub", TmpDir: "/k/tmp"}
	with := func(change func(*boundary.Policy)) boundary.Policy { p := workspace; change(&p); return p }
	return map[string]c{
		"empty":        {workspace, newPaper("/w/sub/")},
		"placeholders": {workspace, newPaper("/w/sub/", "/w/.kerf!", "/w/.git!")},
		"repository":   {workspace, newPaper(append(repository("/w/.git", "/objects/info/alternates", "/modules/", "/commondir!"), "/w/sub/", "/w/.kerf/config.toml")...)},
		"stranger": {with(func(p *boundary.Policy) { p.SharedTmp = true }),
			newPaper(append(append(repository("/tmp/stranger/.git"), repository("/w/locked/.git")...),
				"/w/sub/", "/w/locked/", "/tmp/stranger/")...)},
		"half-repository": {workspace, newPaper("/w/sub/", "/w/.git/config")},
		"linked-hooks":    {workspace, newPaper("/w/sub/", "/w/hk/", "/w/.git/HEAD", "/w/.git/config", "/w/.git/hooks -> /w/hk", "/w/.git/objects/", "/w/.git/refs/")},
		"pointer-inside":  {workspace, newPaper(append(repository("/w/real"), "/w/sub/", "/w/.git = /w/real")...)},
		"pointer-outside": {workspace, newPaper(append(repository("/other/.git"), "/w/sub/", "/w/.git = /other/.git")...)},
		"rules": {with(func(p *boundary.Policy) {
			p.Rules = []boundary.Rule{{Path: "/w/a", Access: boundary.None}, {Path: "/w/a/b", Access: boundary.Write}, {Path: "/w/later", Access: boundary.None}, {Path: "/w/file", Access: boundary.None}, {Path: "/other", Access: boundary.Write}}
			p.DenyRead = []string{"/home/k/auth.json", "/home/k/sessions", "/home/k/nothing"}
			p.Network = true
		}), newPaper("/w/sub/", "/w/a/b/", "/w/file", "/other/", "/home/k/auth.json", "/home/k/sessions/")},
		"worktree":  {workspace, newPaper(append(repository("/main/.git", "/index", "/worktrees/w/gitdir", "/worktrees/w/commondir", "/worktrees/w/home = /w"), "/w/sub/", "/w/.git = /main/.git/worktrees/w")...)},
		"submodule": {workspace, newPaper(append(append(repository("/w/.git", "/modules/lib/home = /w/lib"), repository("/w/.git/modules/lib")...), "/w/sub/", "/w/lib/.git = /w/.git/modules/lib")...)},
		"nested":    {workspace, newPaper(append(repository("/w/vendor/x/.git"), "/w/sub/")...)},
		"globs": {with(func(p *boundary.Policy) {
			p.Rules = []boundary.Rule{{Path: "/w/**/*.env", Access: boundary.None}, {Path: "/w/sub/open.env", Access: boundary.Read}}
		}),
			newPaper("/w/sub/", "/w/a.env", "/w/sub/deep/b.env", "/w/sub/open.env", "/w/c.txt")},
		"read-only": {with(func(p *boundary.Policy) {
			p.Mode = boundary.ReadOnly
			p.Rules = []boundary.Rule{{Path: "/w", Access: boundary.Write}}
		}), newPaper("/w/sub/")},
		"below-tmp":  {boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{"/tmp/x/w"}, Cwd: "/tmp/y"}, newPaper("/tmp/x/w/", "/tmp/y/")},
		"shared-tmp": {with(func(p *boundary.Policy) { p.SharedTmp = true }), newPaper("/w/sub/")},
	}
}

func TestRenderedPlans(t *testing.T) {
	onUnix(t)
	for name, c := range plans() {
		t.Run(name, func(t *testing.T) {
			plan, err := boundary.Resolve(c.policy, c.disk)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			b.WriteString("-- bwrap --\n")
			for _, arg := range render.Bwrap(plan, []string{"echo", "a b"}) {
				sep := " "
				if strings.HasPrefix(arg, "--") {
					sep = "\n"
				}
				b.WriteString(sep + arg)
			}
			b.WriteString("\n-- masks --\n")
			for _, m := range plan.Masks {
				b.WriteString(string(m.Kind) + " " + m.Path + "\n")
			}
			profile, params := render.Seatbelt(plan)
			b.WriteString("-- seatbelt --\n" + ownPart(profile))
			for _, p := range params {
				b.WriteString(p.Name + "=" + p.Value + "\n")
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				os.MkdirAll("testdata", 0o755)
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// ownPart is a profile without what all of them begin with.
func ownPart(profile string) string {
	_, own, _ := strings.Cut(profile, `"com.apple.cfprefsd.agent"))`+"\n")
	return own
}

func TestResolveRefuses(t *testing.T) {
	disk := newPaper("/w/.kerf -> /x", "/x/", "/v/.git -> /x", "/u/.git = /u/gone", "/proc/sys/")
	for name, p := range map[string]boundary.Policy{
		"mode":          {Mode: "full", Cwd: "/x"},
		"root /":        {Mode: boundary.WorkspaceWrite, Roots: []string{"/"}, Cwd: "/x"},
		"proc":          {Mode: boundary.WorkspaceWrite, Roots: []string{"/proc/sys"}, Cwd: "/x"},
		"missing root":  {Mode: boundary.WorkspaceWrite, Roots: []string{"/none"}, Cwd: "/x"},
		"relative":      {Mode: boundary.WorkspaceWrite, Roots: []string{"x"}, Cwd: "/x"},
		"access":        {Mode: boundary.WorkspaceWrite, Cwd: "/x", Rules: []boundary.Rule{{Path: "/x", Access: "execute"}}},
		"relative rule": {Mode: boundary.WorkspaceWrite, Cwd: "/x", Rules: []boundary.Rule{{Path: "x", Access: boundary.Read}}},
		"missing cwd":   {Mode: boundary.ReadOnly, Cwd: "/none"},
		"linked .kerf":  {Mode: boundary.WorkspaceWrite, Roots: []string{"/w"}, Cwd: "/w"},
		"linked .git":   {Mode: boundary.WorkspaceWrite, Roots: []string{"/v"}, Cwd: "/v"},
		"dangling .git": {Mode: boundary.WorkspaceWrite, Roots: []string{"/u"}, Cwd: "/u"},
	} {
		if plan, err := boundary.Resolve(p, disk); err == nil {
			t.Errorf("%s: got %+v", name, plan)
		}
	}
}

// TestRefusalsNameWhatIsMeant, and a policy needs no session.
func TestRefusalsNameWhatIsMeant(t *testing.T) {
	onUnix(t)
	if _, err := (boundary.Policy{Mode: boundary.ReadOnly, Cwd: "/no/such/directory"}).Resolve(); err == nil ||
		!strings.Contains(err.Error(), "working directory: ") || !strings.Contains(err.Error(), "/no") {
		t.Errorf("%v", err)
	}
	plan, err := boundary.Resolve(boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{"/w"}, Cwd: "/w",
		Rules: []boundary.Rule{{Path: "/w/later/**/*.env", Access: boundary.None}}}, newPaper("/w/a"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]boundary.Reach{"/w/later/x.env": boundary.Hidden, "/w/later/d/x.env": boundary.Hidden,
		"/w/later/x": boundary.Writable, "/w/x.env": boundary.Writable} {
		if got := plan.At(path); got.Access != want {
			t.Errorf("%s is %s (%s), not %s", path, got.Access, got.Why, want)
		}
	}
}

// TestWithoutAPlanNothingIsOpen: a plan that could not be made grants nothing.
func TestWithoutAPlanNothingIsOpen(t *testing.T) {
	p, err := boundary.Resolve(boundary.Policy{Mode: "no such mode", Cwd: "/"}, boundary.Disk{})
	if err == nil {
		t.Error("an unknown mode has a plan")
	}
	if v := p.At("/etc/passwd"); v.Access != boundary.Hidden {
		t.Errorf("without a plan a file is %s", v.Access)
	}
	if !p.HidesBelow("/etc") {
		t.Error("without a plan nothing is hidden")
	}
}
