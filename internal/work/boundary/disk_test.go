package boundary_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/boundary"
)

// place is a directory on the real disk with what the lines say: "d/" is a directory, "l -> t"
// a link, "f = text" a file with that text, "f == g" another name of g. Names are relative.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T, lines ...string) place {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links and several names of files are those of Unix")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t, dir}
	p.add(lines...)
	return p
}

func (p place) add(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		var err error
		name, text, isFile := strings.Cut(line, " = ")
		linkName, target, isLink := strings.Cut(line, " -> ")
		other, same, isName := strings.Cut(line, " == ")
		for _, n := range []string{name, linkName, other} {
			if err := os.MkdirAll(filepath.Dir(p.at(strings.TrimSuffix(n, "/"))), 0o755); err != nil && n != line {
				p.t.Fatal(err)
			}
		}
		switch {
		case isName:
			err = os.Link(p.at(same), p.at(other))
		case isLink:
			err = os.Symlink(target, p.at(linkName))
		case isFile:
			err = os.WriteFile(p.at(name), []byte(text), 0o644)
		default:
			err = os.MkdirAll(p.at(line), 0o755)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p place) at(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p place) remove(names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(p.at(name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// policy is workspace-write with the directory w as root. The system's temporary directory, in
// which the place may be, can be read.
func (p place) policy(rules ...boundary.Rule) boundary.Policy {
	for i := range rules {
		rules[i].Path = p.at(rules[i].Path)
	}
	rules = append([]boundary.Rule{{Path: "/tmp", Access: boundary.Read}}, rules...)
	return boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{p.at("w")}, Cwd: p.at("w"), Rules: rules}
}

func (p place) resolve(policy boundary.Policy) boundary.Plan {
	p.t.Helper()
	plan, err := boundary.Resolve(policy, boundary.Disk{})
	if err != nil {
		p.t.Fatal(err)
	}
	return plan
}

// want fails unless each of names has the access.
func (p place) want(v interface{ At(string) boundary.Verdict }, access boundary.Reach, names ...string) {
	p.t.Helper()
	for _, name := range names {
		if got := v.At(p.at(name)); got.Access != access {
			p.t.Errorf("%s is %s (%s), not %s", name, got.Access, got.Why, access)
		} else if got.Why == "" {
			p.t.Errorf("%s is %s for no reason", name, got.Access)
		}
	}
}

// git is a repository of git's own form.
func git(dir string, config string) []string {
	return []string{dir + "/HEAD = ref: refs/heads/main\n", dir + "/config = " + config, dir + "/objects/info/", dir + "/refs/",
		dir + "/hooks/"}
}

func TestMatch(t *testing.T) {
	p := newPlace(t, "w/a.env = 1", "w/sub/b.env = 2", "w/d.env/inner.env = 3", "w/other = 4", "w/c.env -> a.env",
		"w/gone.env -> nowhere", "w/two == w/sub/b.env", "o/a.env = 5")
	for pattern, want := range map[string][]string{
		"w/**/*.env":  {"w/a.env", "w/c.env", "w/d.env", "w/sub/b.env", "w/two"}, // with all names of a file, and no more below a directory
		"w/*.env":     {"w/a.env", "w/c.env", "w/d.env"},
		"w/{two,x}":   {"w/sub/b.env", "w/two"},
		"w/?ther":     {"w/other"},
		"none/**":     nil,
		"w/**/*.none": nil,
	} {
		got, err := boundary.Disk{}.Match(p.at(pattern))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for i, name := range got {
			got[i], _ = filepath.Rel(p.dir, name)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, d)
		}
	}
	if _, err := (boundary.Disk{}).Match(p.at("w/[")); err == nil {
		t.Error("a broken pattern matches")
	}
}

// TestOneFileHasOneVerdict: a file that is closed under one name is closed under all, for who
// opens it by another name, and for who only asks about that.
func TestOneFileHasOneVerdict(t *testing.T) {
	p := newPlace(t, "w/plain = x", "keys/id = k", "keys/in/deep = k", "w/mine == keys/id", "w/deep == keys/in/deep",
		"keys/open/pub = p", "w/pub == keys/open/pub", "keys/objects/blob = b", "w/blob == keys/objects/blob", "w/one = 1", "w/two == w/one", "elsewhere = y", "w/away == elsewhere")
	p.add(git("w/.git", "")...)
	p.add("w/config == w/.git/config", "w/ro/config == w/.git/config")
	plan := p.resolve(p.policy(boundary.Rule{Path: "keys", Access: boundary.None}, boundary.Rule{Path: "w/ro", Access: boundary.Read},
		boundary.Rule{Path: "keys/open", Access: boundary.Read}))
	for name, want := range map[string]boundary.Reach{
		"w/plain": boundary.Writable, "w/mine": boundary.Hidden, "w/deep": boundary.Hidden, "w/pub": boundary.Writable,
		"w/one": boundary.Writable, "w/away": boundary.Writable, "w/config": boundary.Protected,
		"w/ro/config": boundary.Readable, "w/blob": boundary.Writable, // what is kept by its content has many names
		"w/.git/config": boundary.Protected, "keys/open/pub": boundary.Readable, "keys/id": boundary.Hidden,
	} {
		id, several := boundary.Disk{}.Identity(p.at(name))
		if several == (name == "w/plain") {
			t.Errorf("%s has several names: %v", name, several)
		}
		if got := plan.Of(p.at(name), id, several); got.Access != want {
			t.Errorf("%s is %s (%s), not %s", name, got.Access, got.Why, want)
		}
		if got := plan.At(p.at(name)); got.Access != want {
			t.Errorf("the name %s is %s (%s), not %s", name, got.Access, got.Why, want)
		}
	}
	// A name that came later is known by the file only.
	p.add("w/later == keys/id", "w/settings == w/.git/config")
	for name, want := range map[string]boundary.Reach{"w/later": boundary.Hidden, "w/settings": boundary.Protected} {
		id, several := boundary.Disk{}.Identity(p.at(name))
		if got := plan.Of(p.at(name), id, several); got.Access != want {
			t.Errorf("%s is %s (%s), not %s", name, got.Access, got.Why, want)
		}
		if got := plan.Of(p.at(name), id, false); got.Access != boundary.Writable {
			t.Errorf("%s, said to have one name, is %s", name, got.Access)
		}
		if got := plan.Of(p.at(name), boundary.FileID{}, several); got.Access != boundary.Writable {
			t.Errorf("%s without an identity is %s", name, got.Access)
		}
	}
	if id, several := (boundary.Disk{}).Identity(p.at("w")); several || id != (boundary.FileID{}) {
		t.Error("a directory has several names")
	}
}

// TestRulesOverRepositories: what a rule says of a directory holds for the repositories and
// settings that lie in it.
func TestRulesOverRepositories(t *testing.T) {
	p := newPlace(t, "w/sub/.kerf/x = 1", "w/more/.kerf/x = 1")
	for _, dir := range []string{"w/ro/lib/.git", "w/keys/lib/.git", "w/lib/.git"} {
		p.add(git(dir, "")...)
	}
	plan := p.resolve(p.policy(boundary.Rule{Path: "w/sub/.kerf", Access: boundary.Write},
		boundary.Rule{Path: "w/ro", Access: boundary.Read}, boundary.Rule{Path: "w/keys", Access: boundary.None}))
	p.want(&plan, boundary.Writable, "w/sub/.kerf/x", "w/lib/.git/refs/x", "w/lib/a", "w/more/a")
	p.want(&plan, boundary.Protected, "w/more/.kerf/x", "w/lib/.git/config")
	p.want(&plan, boundary.Readable, "w/ro/lib/.git/refs/x", "w/ro/lib/.git/config")
	p.want(&plan, boundary.Hidden, "w/keys/lib/.git/refs/x", "w/keys/lib/.git/config", "w/keys/lib/a")
}

// TestTheNearestRuleHolds: also where the file system may mind no case.
func TestTheNearestRuleHolds(t *testing.T) {
	p := newPlace(t, "w/ro/open/x = 1", "w/keys/pub/x = 1", "w/keys/pub/key = 2", "w/a/b/")
	plan := p.resolve(p.policy(boundary.Rule{Path: "w/ro", Access: boundary.Read},
		boundary.Rule{Path: "w/ro/open", Access: boundary.Write}, boundary.Rule{Path: "w/keys", Access: boundary.None},
		boundary.Rule{Path: "w/keys/pub", Access: boundary.Read}, boundary.Rule{Path: "w/keys/pub/key", Access: boundary.None},
		boundary.Rule{Path: "w/a/later", Access: boundary.None}))
	p.want(&plan, boundary.Writable, "w/ro/open/x", "w/ro/open/new", "w/a/b")
	p.want(&plan, boundary.Readable, "w/ro/x", "w/ro/opened", "w/keys/pub/x")
	p.want(&plan, boundary.Hidden, "w/keys/x", "w/keys/pub/key")
	if v := plan.At(p.at("w/a/later")); v.Access == boundary.Writable || !strings.Contains(v.Why, "the rule") {
		t.Errorf("what is not there yet is %s: %s", v.Access, v.Why)
	}
}

// TestRulesForNamesOfOneFile: a rule that opens a name opens no other one, and one that closes a
// name closes the others in the workspace.
func TestRulesForNamesOfOneFile(t *testing.T) {
	p := newPlace(t, "o/pub = 1", "w/closed == o/pub", "w/ro = 2", "w/rw == w/ro", "w/free = 3", "keys/id = k", "w/can/id == keys/id")
	plan := p.resolve(p.policy(boundary.Rule{Path: "o/pub", Access: boundary.Write}, boundary.Rule{Path: "keys", Access: boundary.None},
		boundary.Rule{Path: "w/can", Access: boundary.Read},
		boundary.Rule{Path: "w/closed", Access: boundary.Read}, boundary.Rule{Path: "w/ro", Access: boundary.Read}))
	p.want(&plan, boundary.Hidden, "w/can/id")
	p.want(&plan, boundary.Readable, "w/can/other")
	p.want(&plan, boundary.Readable, "w/closed", "w/ro", "w/rw")
	p.want(&plan, boundary.Writable, "o/pub", "w/free")
}

// TestLinkedSettings: settings that are a link are refused, and what they lead to is closed,
// unless that is a directory of the workspace itself.
func TestLinkedSettings(t *testing.T) {
	p := newPlace(t, "w/conf/x = 1", "w/.kerf -> conf", "v/a = 1", "v/.kerf -> ../v", "u/.kerf -> ../o", "o/x = 1")
	policy := p.policy()
	policy.Roots = append(policy.Roots, p.at("v"), p.at("u"))
	plan, err := boundary.Resolve(policy, boundary.Disk{})
	if !errors.Is(err, boundary.ErrSymlink) {
		t.Errorf("a link in the place of settings: %v", err)
	}
	p.want(&plan, boundary.Protected, "w/conf/x", "w/.kerf")
	p.want(&plan, boundary.Writable, "v/a", "w/a")
	p.want(&plan, boundary.Readable, "o/x")
}

// TestNamed: what a user names is judged by what it leads to, and by the name itself where
// that is hidden.
func TestNamed(t *testing.T) {
	p := newPlace(t, "w/a = x", "w/in -> a", "w/out -> ../o/f", "o/f = y", "o/key = k", "w/key -> ../o/key", "w/open -> a",
		"w/dir -> ../o", "w/mine == o/key", "w/by -> out")
	plan := p.resolve(p.policy(boundary.Rule{Path: "o/key", Access: boundary.None}))
	for name, want := range map[string]struct {
		real   string
		access boundary.Reach
	}{
		"a": {"w/a", boundary.Writable}, "in": {"w/a", boundary.Writable}, "out": {"o/f", boundary.Readable},
		"key": {"o/key", boundary.Hidden}, "dir/new/one": {"o/new/one", boundary.Readable}, "new/one": {"w/new/one", boundary.Writable},
		"mine": {"w/mine", boundary.Hidden}, "../w/./a": {"w/a", boundary.Writable}, "": {"w", boundary.Writable},
	} {
		for _, named := range []string{name, p.at("w/" + name)} {
			real, v := plan.Named(p.at("w"), named)
			if real != p.at(want.real) || v.Access != want.access {
				t.Errorf("%q is %s, %s (%s), not %s, %s", named, real, v.Access, v.Why, want.real, want.access)
			}
		}
	}
	hidden := p.resolve(p.policy(boundary.Rule{Path: "w/*pen", Access: boundary.None}))
	if _, v := hidden.Named(p.at("w"), "open"); v.Access != boundary.Hidden {
		t.Errorf("a link whose name is hidden is %s", v.Access)
	}
	passed := p.resolve(p.policy(boundary.Rule{Path: "w/out", Access: boundary.None}))
	for name, want := range map[string]boundary.Reach{"by": boundary.Hidden, "by/x": boundary.Hidden, "in": boundary.Writable} {
		if _, v := passed.Named(p.at("w"), name); v.Access != want {
			t.Errorf("%s, which may pass a hidden link, is %s", name, v.Access)
		}
	}
}

func TestHost(t *testing.T) {
	p := newPlace(t, "w/")
	only := func(host string, port int) (bool, string) {
		return host == "a.example" && port == 443, "it is not named"
	}
	for name, c := range map[string]struct {
		change func(*boundary.Policy)
		reach  string // of a.example, other.example
	}{
		"none": {func(*boundary.Policy) {}, "hidden hidden"},
		"open": {func(p *boundary.Policy) { p.Network = true }, "readable readable"},
		"full": {func(p *boundary.Policy) { p.Mode = boundary.FullAccess }, "readable readable"},
		"named": {func(p *boundary.Policy) {
			p.Network, p.Domains, p.Allows = true, map[string]string{"a.example": "allow"}, only
		}, "readable hidden"},
		"limited":   {func(p *boundary.Policy) { p.Network, p.Limited, p.Allows = true, true, only }, "readable hidden"},
		"no filter": {func(p *boundary.Policy) { p.Network, p.Limited = true, true }, "hidden hidden"},
		"off":       {func(p *boundary.Policy) { p.Limited, p.Allows = true, only }, "hidden hidden"},
	} {
		policy := p.policy()
		c.change(&policy)
		plan := p.resolve(policy)
		a, b := plan.Host("a.example", 443), plan.Host("other.example", 443)
		if got := string(a.Access) + " " + string(b.Access); got != c.reach || a.Why == "" || b.Why == "" {
			t.Errorf("%s: %s (%s; %s), not %s", name, got, a.Why, b.Why, c.reach)
		}
		if plan.Network && plan.Proxy != nil {
			t.Errorf("%s: the network is open beside its filter", name)
		}
	}
}

func TestRefusedError(t *testing.T) {
	for access, want := range map[boundary.Reach]string{
		boundary.Readable: "/a can only be read: it is so", boundary.Hidden: "/a is hidden: it is so",
		boundary.Protected: "/a is protected: it is so",
	} {
		err := &boundary.RefusedError{Path: "/a", Verdict: boundary.Verdict{Access: access, Why: "it is so"}}
		if err.Error() != want {
			t.Errorf("%q, not %q", err, want)
		}
	}
}

// TestTemporaryDirectory: which /tmp commands have, and what file tools may do there.
func TestTemporaryDirectory(t *testing.T) {
	tmp, err := filepath.EvalSymlinks("/tmp")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no /tmp")
	}
	p := newPlace(t, "w/", "own/")
	find := func(plan boundary.Plan) (m boundary.Mount) {
		for _, m := range plan.Mounts {
			if m.Path == tmp {
				return m
			}
		}
		return m
	}
	type c struct {
		mount boundary.Mount
		reach boundary.Reach
		dirs  []string // of WritableRoots, beside the working directory and the root
	}
	own := p.at("own")
	for name, want := range map[string]struct {
		change func(*boundary.Policy)
		c
	}{
		"own":     {func(p *boundary.Policy) { p.TmpDir = own }, c{boundary.Mount{Kind: boundary.MountTmp, Path: tmp, Source: own}, boundary.Hidden, []string{own, tmp}}},
		"new":     {func(*boundary.Policy) {}, c{boundary.Mount{Kind: boundary.MountTmp, Path: tmp}, boundary.Hidden, []string{tmp}}},
		"none":    {func(p *boundary.Policy) { p.NoTmp, p.TmpDir = true, own }, c{boundary.Mount{Kind: boundary.MountHideDir, Path: tmp, Pass: true}, boundary.Hidden, nil}},
		"shared":  {func(p *boundary.Policy) { p.SharedTmp = true }, c{boundary.Mount{Kind: boundary.MountWrite, Path: tmp}, boundary.Writable, []string{tmp}}},
		"neither": {func(p *boundary.Policy) { p.SharedTmp, p.NoTmp = true, true }, c{boundary.Mount{Kind: boundary.MountHideDir, Path: tmp, Pass: true}, boundary.Hidden, nil}},
		"to read": {func(p *boundary.Policy) { p.Mode, p.TmpDir = boundary.ReadOnly, own }, c{boundary.Mount{Kind: boundary.MountHideDir, Path: tmp, Pass: true}, boundary.Hidden, nil}},
		"ruled":   {func(p *boundary.Policy) { p.Rules = []boundary.Rule{{Path: tmp, Access: boundary.Read}} }, c{boundary.Mount{Kind: boundary.MountRead, Path: tmp}, boundary.Readable, nil}},
	} {
		policy := p.policy()
		policy.Rules = nil
		want.change(&policy)
		plan := p.resolve(policy)
		if got := find(plan); got != want.mount {
			t.Errorf("%s: %+v, not %+v", name, got, want.mount)
		}
		if got := plan.At(filepath.Join(tmp, "no-such-name")); got.Access != want.reach {
			t.Errorf("%s: /tmp is %s (%s), not %s", name, got.Access, got.Why, want.reach)
		}
		if got := plan.TempDir(); got != want.mount.Source {
			t.Errorf("%s: the session's own is %q", name, got)
		}
		if plan.NoTmpdir != policy.NoTmp {
			t.Errorf("%s: TMPDIR stays as it is: %v", name, plan.NoTmpdir)
		}
		dirs := append([]string{p.at("w")}, want.dirs...)
		if policy.Mode == boundary.WorkspaceWrite {
			dirs = append(dirs, p.at("w"))
		}
		got := plan.WritableRoots()
		got = slices.DeleteFunc(got, func(dir string) bool { // repositories of others in /tmp
			return !slices.Contains(dirs, dir) && strings.HasPrefix(dir, tmp+"/")
		})
		slices.Sort(dirs)
		slices.Sort(got)
		if d := cmp.Diff(dirs, got); d != "" {
			t.Errorf("%s: writable (-want +got):\n%s", name, d)
		}
	}
}

// TestWhatGitRunsIsClosed: what the settings of a repository have git run is closed like its hooks.
func TestWhatGitRunsIsClosed(t *testing.T) {
	config := "[core]\n\thooksPath = my/hooks\n\tfsmonitor = ./watch.sh\n\tsshCommand = tool/ssh -v\n[include]\n\tpath = ../more.cfg\n"
	p := newPlace(t, "w/my/hooks/pre-commit = #!/bin/sh", "w/watch.sh = x", "w/more.cfg = [a]\n\tb = c\n", "w/free = x", "w/tool/")
	p.add(git("w/.git", config)...)
	plan := p.resolve(p.policy())
	p.want(&plan, boundary.Protected, "w/my/hooks", "w/my/hooks/pre-commit", "w/my/hooks/new", "w/watch.sh", "w/more.cfg",
		"w/tool/ssh", "w/.git/config", "w/.git/hooks/x")
	p.want(&plan, boundary.Writable, "w/free", "w/my/other", "w/tool/other", "w/.git/index")
	// The directories above stay where they are.
	pinned := map[string]bool{}
	for _, m := range plan.Mounts {
		pinned[m.Path] = m.Kind == boundary.MountWrite
	}
	for _, dir := range []string{"w/my", "w/tool"} {
		if !pinned[p.at(dir)] {
			t.Errorf("%s can be renamed", dir)
		}
	}
	if v := plan.At(p.at("w/watch.sh")); !strings.Contains(v.Why, "core.fsmonitor") {
		t.Errorf("the reason is %q", v.Why)
	}

	// A directory of hooks that holds a root stays open, but for the hooks.
	p = newPlace(t, "w/a = x")
	p.add(git("w/.git", "[core]\n\thooksPath = .\n")...)
	plan = p.resolve(p.policy())
	p.want(&plan, boundary.Protected, "w/pre-commit", "w/post-checkout")
	p.want(&plan, boundary.Writable, "w/a", "w/pre-commits")

	// By a link: the link and what it leads to.
	p = newPlace(t, "w/real/pre-commit = x", "w/hooks -> real", "w/a = x")
	p.add(git("w/.git", "[core]\n\thooksPath = hooks\n")...)
	plan = p.resolve(p.policy())
	p.want(&plan, boundary.Protected, "w/real", "w/real/pre-commit", "w/hooks")
	p.want(&plan, boundary.Writable, "w/a")
}

// TestSweep tells what a command left that somebody would follow.
func TestSweep(t *testing.T) {
	p := newPlace(t, "w/sub/", "w/lib/", "w/old/.kerf/config.toml = x", "o/")
	p.add(git("w/.git", "[core]\n\tfsmonitor = bin/watch\n")...)
	p.add("w/.git/refs/was -> HEAD")
	policy := p.policy()
	plan := p.resolve(policy)
	nobody := func(path string) (string, bool) { t.Errorf("%s is moved away", path); return "", false }
	if found := boundary.Sweep(plan, nobody); len(found) > 0 {
		t.Errorf("before anything happened: %+v", found)
	}
	p.add("w/.git/refs/planted -> ../../../o", "w/.git/objects/ab/deep -> x", "w/.kerf/config.toml = y", "w/sub/.kerf/x = 1")
	p.add(git("w/lib/.git", "")...)
	tell := func() map[string]bool {
		told := map[string]bool{}
		for _, f := range boundary.Sweep(plan, nobody) {
			name, err := filepath.Rel(p.dir, f.Path)
			if err != nil || f.What == "" {
				t.Errorf("%+v: %v", f, err)
			}
			told[name] = f.Removed
		}
		return told
	}
	want := map[string]bool{"w/.git/refs/planted": true, "w/.kerf": false, "w/sub/.kerf": false, "w/lib/.git": false}
	if d := cmp.Diff(want, tell()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	delete(want, "w/.git/refs/planted") // it is gone, which the next one sees
	if d := cmp.Diff(want, tell()); d != "" {
		t.Errorf("the second time (-want +got):\n%s", d)
	}
	if _, err := os.Lstat(p.at("w/.git/refs/was")); err != nil {
		t.Errorf("a link that was there before: %v", err)
	}
	all, err := boundary.Resolve(boundary.Policy{Mode: boundary.FullAccess}, boundary.Disk{})
	if found := boundary.Sweep(all, nobody); err != nil || len(found) > 0 {
		t.Errorf("with full access: %+v, %v", found, err)
	}
}

// TestSweepOfALot: what is told stays short, and says that there is more.
func TestSweepOfALot(t *testing.T) {
	p := newPlace(t, "w/")
	plan := p.resolve(p.policy())
	for i := range 8 {
		p.add(git(fmt.Sprintf("w/lib%d/.git", i), "")...)
	}
	if found := boundary.Sweep(plan, nil); len(found) != 8 || strings.Contains(found[7].What, "more") {
		t.Errorf("%d are told: %+v", len(found), found)
	}
	p.add(git("w/lib8/.git", "")...)
	if found := boundary.Sweep(plan, nil); len(found) != 8 || !strings.Contains(found[7].What, "1 more such names") {
		t.Errorf("%d are told: %+v", len(found), found)
	}
}

// TestWhatIsMadeWhereNothingCanStand: a start file that bash would pass over .profile for is
// moved away when a command made it, and told when it was changed only.
func TestWhatIsMadeWhereNothingCanStand(t *testing.T) {
	p := newPlace(t, "w/a = x", "w/.zshrc -> a")
	policy := p.policy()
	policy.Home = p.at("w")
	plan := p.resolve(policy)
	p.want(&plan, boundary.Protected, "w/.bash_profile", "w/.bash_login", "w/.zshrc", "w/.bashrc", "w/a")
	p.add("w/.bash_profile = evil")
	p.remove("w/.zshrc")
	p.add("w/.zshrc -> .bash_profile")
	aside := map[string]bool{}
	found := boundary.Sweep(plan, func(path string) (string, bool) {
		aside[path] = true
		return "elsewhere", true
	})
	if d := cmp.Diff(map[string]bool{p.at("w/.bash_profile"): true}, aside); d != "" {
		t.Errorf("moved away (-want +got):\n%s", d)
	}
	var told []string
	for _, f := range found {
		told = append(told, fmt.Sprint(filepath.Base(f.Path), " ", f.Removed))
		if strings.Contains(f.What, "\x00") {
			t.Errorf("%q is told", f.What)
		}
	}
	if d := cmp.Diff([]string{".bash_profile true", ".zshrc false"}, told); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// What cannot be moved is told.
	found = boundary.Sweep(plan, func(string) (string, bool) { return "", false })
	if len(found) != 2 || found[0].Removed || found[1].Removed {
		t.Errorf("%+v", found)
	}
}

func TestPlaceholdersAreKnown(t *testing.T) {
	p := newPlace(t, "dir/", "full/x = 1", "file = \n", "two = .\n", "large = abc", "plain = ", "plaindir/", "link -> file")
	for _, name := range []string{"dir", "full", "file", "two", "large"} {
		info, err := os.Stat(p.at(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p.at(name), info.Mode()|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
		if info, _ = os.Stat(p.at(name)); info.Mode()&os.ModeSticky == 0 {
			t.Skip("no sticky bit here")
		}
	}
	l, err := net.Listen("unix", p.at("socket"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	for name, want := range map[string]bool{"dir": true, "full": false, "file": true, "two": true, "large": false, "plain": false,
		"plaindir": false, "link": false, "socket": true, "none": false} {
		if got := (boundary.Disk{}).Placeholder(p.at(name)); got != want {
			t.Errorf("%s is a placeholder: %v", name, got)
		}
	}
}
