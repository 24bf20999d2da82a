package boundary_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/mounts"
)

// names are what a list of paths below the place is, sorted, without those elsewhere.
func (p place) names(paths []string) (names []string) {
	for _, path := range paths {
		if rel, err := filepath.Rel(p.dir, path); err == nil && !strings.HasPrefix(rel, "..") {
			names = append(names, rel)
		}
	}
	slices.Sort(names)
	return names
}

// TestWhatIsNotThereYetIsMeantToo: what git would run or read and does not find. Where something can
// stand in its place without a meaning it does; a program is only watched for.
func TestWhatIsNotThereYetIsMeantToo(t *testing.T) {
	for name, c := range map[string]struct {
		config    string
		masks     []string // of which kind
		untouched []string // and whether what comes to be there is moved away
	}{
		"hooks":             {"[core]\n\thooksPath = hk", []string{"dir w/hk"}, nil},
		"hooks far away":    {"[core]\n\thooksPath = deep/er/hk", nil, []string{"w/deep/er/hk true"}},
		"a program":         {"[core]\n\tfsmonitor = sub/watch", nil, []string{"w/sub/watch false"}},
		"a program deeper":  {"[core]\n\tfsmonitor = sub/bin/watch", nil, []string{"w/sub/bin/watch false"}},
		"settings":          {"[include]\n\tpath = ../more", []string{"file w/more"}, nil},
		"settings deeper":   {"[include]\n\tpath = ../deep/more", nil, []string{"w/deep/more true"}},
		"outside":           {"[core]\n\thooksPath = ../o/hk\n[include]\n\tpath = ../../o/more", nil, nil},
		"settings as a dir": {"[include]\n\tpath = ../sub", nil, nil},
	} {
		p := newPlace(t, "w/sub/a = x", "o/hk/pre-commit = x", "o/more = x")
		p.add(git("w/.git", "")...)
		before := p.resolve(p.policy())
		p.add("w/.git/config = " + c.config + "\n")
		after := p.resolve(p.policy())
		var masks, untouched []string
		for _, m := range after.Masks {
			if !slices.Contains(before.Masks, m) {
				masks = append(masks, string(m.Kind)+" "+p.names([]string{m.Path})[0])
			}
		}
		for _, n := range after.Untouched {
			if !slices.Contains(before.Untouched, n) {
				untouched = append(untouched, fmt.Sprint(p.names([]string{n.Path})[0], " ", n.Aside))
			}
		}
		if d := cmp.Diff([2][]string{c.masks, c.untouched}, [2][]string{masks, untouched}); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		for _, m := range append(c.masks, c.untouched...) {
			if _, path, is := strings.Cut(m, " "); is && strings.HasPrefix(path, "w") {
				p.want(&after, boundary.Protected, path)
			}
		}
		p.want(&after, boundary.Readable, "o/hk", "o/hk/pre-commit", "o/more")
		p.want(&after, boundary.Writable, "w/sub/a")
	}
}

// TestManyRepositories: those beyond a number are read-only as a whole, and what they have git run is closed.
func TestManyRepositories(t *testing.T) {
	p := newPlace(t, "w/")
	for i := range 18 {
		p.add(git(fmt.Sprintf("w/lib%02d/.git", i), "[core]\n\tfsmonitor = ./watch\n")...)
		p.add(fmt.Sprintf("w/lib%02d/watch = x", i))
	}
	plan := p.resolve(p.policy())
	open := 0
	for i := range 18 {
		lib := fmt.Sprintf("w/lib%02d/", i)
		if plan.At(p.at(lib+".git/refs/x")).Access == boundary.Writable {
			open++
		}
		p.want(&plan, boundary.Protected, lib+".git/config", lib+"watch")
		p.want(&plan, boundary.Writable, lib+"a")
	}
	if open != 16 {
		t.Errorf("%d of 18 are fit for commits, want 16", open)
	}
}

// TestPointers: a .git that is a file, at the top and below. Where the git directory says that it is that
// of the tree, it is fit for commits, and else what commands could write of it is guarded.
func TestPointers(t *testing.T) {
	p := newPlace(t, "w/a = x", "w/link/.git = gitdir: ../real\n", "w/mine/.git = gitdir: ../../o/main/.git/worktrees/mine\n",
		"w/theirs/.git = gitdir: ../../o/other\n", "w/gone/.git = gitdir: ../nowhere\n", "w/text/.git = no pointer\n",
		"w/subm/.git = gitdir: ../../o/super/modules/subm\n")
	p.add(git("w/real", "")...)
	p.add(git("o/main/.git", "")...)
	p.add("o/main/.git/index = x", "o/main/.git/worktrees/mine/HEAD = x", "o/main/.git/worktrees/mine/commondir = ../..\n",
		"o/main/.git/worktrees/mine/gitdir = "+p.at("w/mine/.git")+"\n", "o/main/.git/worktrees/mine/sequencer/todo = x")
	p.add(git("o/other", "")...)
	p.add(git("o/super/modules/subm", "[core]\n\tworktree = ../../../../w/subm\n")...)
	p.add("o/super/modules/subm/index = x")
	private := p.policy() // no rule says anything of the place
	private.Rules = nil
	plan := p.resolve(private)
	p.want(&plan, boundary.Protected, "w/link/.git", "w/mine/.git", "w/theirs/.git", "w/gone/.git", "w/text/.git",
		"w/real/config", "w/real/hooks/x", "o/main/.git/config", "o/main/.git/index", "o/main/.git/HEAD",
		"o/main/.git/worktrees/mine/gitdir", "o/main/.git/worktrees/mine/commondir", "o/main/.git/worktrees/mine/sequencer/todo")
	p.want(&plan, boundary.Writable, "w/real/refs/x", "o/main/.git/refs/x", "o/main/.git/worktrees/mine/HEAD",
		"o/main/.git/worktrees/mine/index", "w/mine/a", "w/link/a", "o/super/modules/subm/HEAD", "o/super/modules/subm/index")
	p.want(&plan, boundary.Protected, "o/super/modules/subm/config")
	p.want(&plan, boundary.Hidden, "o/other/refs/x", "o/other/config", "o/main/a")
	want := []string{"o/main/.git", "o/main/.git/worktrees/mine", "o/super/modules/subm", "w/real"}
	if d := cmp.Diff(want, p.names(plan.GitDirs)); d != "" {
		t.Errorf("git directories (-want +got):\n%s", d)
	}

	// What a rule says of a place holds.
	plan = p.resolve(p.policy(boundary.Rule{Path: "o/main", Access: boundary.Read}))
	p.want(&plan, boundary.Readable, "o/main/.git/refs/x", "o/main/.git/worktrees/mine/HEAD")
	plan = p.resolve(p.policy(boundary.Rule{Path: "o/main", Access: boundary.Write}))
	p.want(&plan, boundary.Protected, "o/main/.git/config", "o/main/.git/worktrees/mine/commondir")
	p.want(&plan, boundary.Writable, "o/main/.git/refs/x", "o/main/a")
	at := boundary.Mount{Kind: boundary.MountWrite, Path: p.at("o/main/.git/worktrees/mine")}
	if !slices.Contains(plan.Mounts, at) {
		t.Error("commands cannot commit in the linked worktree")
	}
}

// TestWhatGitRemovesIsKept: directories that git removes when they are empty keep their place, whether
// or not they are there; one in which nothing can be made does not need that.
func TestWhatGitRemovesIsKept(t *testing.T) {
	p := newPlace(t, "w/a = x")
	p.add(git("w/.git", "")...)
	plan := p.resolve(p.policy())
	if d := cmp.Diff([]string{"w/.git/worktrees"}, p.names(plan.Kept)); d != "" {
		t.Errorf("absent (-want +got):\n%s", d)
	}
	p.add("w/.git/worktrees/")
	plan = p.resolve(p.policy())
	if d := cmp.Diff([]string{"w/.git/worktrees"}, p.names(plan.Kept)); d != "" {
		t.Errorf("there (-want +got):\n%s", d)
	}
	p.remove("w/.git/worktrees")
	p.add("w/.git/worktrees = x")
	if plan = p.resolve(p.policy()); len(plan.Kept) > 0 {
		t.Errorf("a file is kept: %v", plan.Kept)
	}
	p.want(&plan, boundary.Protected, "w/.git/worktrees")
}

// TestWhatIsNoRepository: some of its names do not make one, at the top or in .git.
func TestWhatIsNoRepository(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  boundary.Reach // of the settings at the top
	}{
		"bare":       {[]string{"w/HEAD = x", "w/objects/info/", "w/refs/"}, boundary.Protected},
		"no refs":    {[]string{"w/HEAD = x", "w/objects/info/"}, boundary.Writable},
		"no objects": {[]string{"w/HEAD = x", "w/refs/"}, boundary.Writable},
		"no head":    {[]string{"w/objects/info/", "w/refs/"}, boundary.Writable},
		"a file":     {[]string{"w/HEAD = x", "w/objects/info/", "w/refs = x"}, boundary.Writable},
	} {
		p := newPlace(t, append(c.lines, "w/config = x", "w/.git/some = y")...)
		plan := p.resolve(p.policy())
		p.want(&plan, boundary.Protected, "w/.git/some", "w/.git/config", "w/.git/refs/x")
		p.remove("w/.git")
		plan = p.resolve(p.policy())
		p.want(&plan, c.want, "w/config", "w/config.worktree", "w/hooks/x", "w/objects/info/alternates")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestLinksInAGitDirectory: it is closed as a whole, and so is what the links lead to, where commands
// could write that.
func TestLinksInAGitDirectory(t *testing.T) {
	p := newPlace(t, "w/hk/pre-commit = x", "o/objects/info/", "w/a = x")
	p.add(git("w/.git", "")...)
	p.remove("w/.git/hooks", "w/.git/objects")
	p.add("w/.git/hooks -> ../hk", "w/.git/objects -> ../../o/objects")
	plan := p.resolve(p.policy())
	p.want(&plan, boundary.Protected, "w/.git/refs/x", "w/.git/HEAD", "w/hk", "w/hk/pre-commit")
	p.want(&plan, boundary.Readable, "o/objects", "o/objects/x")
	p.want(&plan, boundary.Writable, "w/a")
}

// TestHome: the working tree that a git directory says it belongs to.
func TestHome(t *testing.T) {
	p := newPlace(t, "w/a = x", "tree/.git = gitdir: x", "git/gitdir = TREE", "relative/gitdir = ../tree/.git\n", "lost/gitdir = /no/such/.git\n",
		"plain/HEAD = x", "set/config = [core]\n\tworktree = ../tree\n")
	p.add("git/gitdir = " + p.at("tree/.git") + "\n")
	for dir, want := range map[string]string{"git": "tree", "relative": "tree", "lost": "", "plain": "", "set": "tree"} {
		if want != "" {
			want = p.at(want)
		}
		if got := (boundary.Disk{}).Home(p.at(dir)); got != want {
			t.Errorf("%s is of %q, not %q", dir, got, want)
		}
	}
	p.add("large/gitdir = " + p.at("tree/.git") + strings.Repeat("\n", 1<<20))
	p.remove("git/gitdir")
	p.add("git/gitdir -> ../relative/gitdir")
	for _, dir := range []string{"large", "git"} {
		if got := (boundary.Disk{}).Home(p.at(dir)); got != "" {
			t.Errorf("%s is of %q", dir, got)
		}
	}
}

// altered is a paper disk that is another one in some ways.
type altered struct {
	paper
	gone   string // of which Lstat fails
	mounts []mounts.Point
}

func (a altered) Lstat(name string) (fs.FileInfo, error) {
	if name == a.gone {
		return nil, fs.ErrPermission
	}
	return a.paper.Lstat(name)
}

func (a altered) Mounts() []mounts.Point { return a.mounts }

// TestOtherNamesByMounts: what is closed is closed at each place where it is mounted, unless the policy
// names that place itself.
func TestOtherNamesByMounts(t *testing.T) {
	onUnix(t)
	disk := altered{paper: newPaper("/keys/id", "/w/sub/", "/w/too/id", "/w/root/id", "/w/ruled/id", "/w/file"), mounts: []mounts.Point{
		{Path: "/", Device: "1", Root: "/"}, {Path: "/w/too", Device: "1", Root: "/keys"}, {Path: "/w/root", Device: "1", Root: "/keys"},
		{Path: "/w/ruled", Device: "1", Root: "/keys"}, {Path: "/w/file", Device: "1", Root: "/keys/id"}}}
	plan, err := boundary.Resolve(boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{"/w", "/w/root"}, Cwd: "/w",
		Rules: []boundary.Rule{{Path: "/keys", Access: boundary.None}, {Path: "/w/ruled", Access: boundary.Read}}}, disk)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]boundary.Reach{"/keys/id": boundary.Hidden, "/w/too/id": boundary.Hidden, "/w/file": boundary.Hidden,
		"/w/root/id": boundary.Writable, "/w/ruled/id": boundary.Readable, "/w/sub": boundary.Writable} {
		if got := plan.At(path); got.Access != want {
			t.Errorf("%s is %s (%s), not %s", path, got.Access, got.Why, want)
		}
	}
}

// TestARootThatCannotBeLookedAt is named, and nothing runs.
func TestARootThatCannotBeLookedAt(t *testing.T) {
	onUnix(t)
	disk := altered{paper: newPaper("/w/a", "/v/a"), gone: "/v"}
	_, err := boundary.Resolve(boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{"/w", "/v"}, Cwd: "/w"}, disk)
	if err == nil || !strings.Contains(err.Error(), "permission") {
		t.Errorf("got %v", err)
	}
}

// TestWhatHidesAFileWins: of several rules for the names of one file, whatever their order.
func TestWhatHidesAFileWins(t *testing.T) {
	p := newPlace(t, "w/a = x", "w/b == w/a", "w/c == w/a", "w/ro/d == w/a", "w/ro/e = y")
	for _, hidden := range []string{"w/a", "w/b", "w/c"} {
		rules := []boundary.Rule{{Path: "w/ro", Access: boundary.Read}, {Path: hidden, Access: boundary.None}}
		for _, other := range []string{"w/a", "w/b", "w/c"} {
			if other != hidden {
				rules = append(rules, boundary.Rule{Path: other, Access: boundary.Read})
			}
		}
		plan := p.resolve(p.policy(rules...))
		p.want(&plan, boundary.Hidden, hidden, "w/a", "w/b", "w/c", "w/ro/d")
		p.want(&plan, boundary.Readable, "w/ro/e")
	}
}

// TestTheWorkingDirectoryInTmp: it can be read although /tmp is the session's own, unless a rule hides it.
func TestTheWorkingDirectoryInTmp(t *testing.T) {
	onUnix(t)
	disk := newPaper("/tmp/x/a", "/tmp/y/a", "/keys/a")
	for name, c := range map[string]struct {
		rule boundary.Rule
		want boundary.Reach
	}{
		"no rule for it": {boundary.Rule{Path: "/keys", Access: boundary.None}, boundary.Readable},
		"hidden":         {boundary.Rule{Path: "/tmp/x", Access: boundary.None}, boundary.Hidden},
	} {
		plan, err := boundary.Resolve(boundary.Policy{Mode: boundary.WorkspaceWrite, Cwd: "/tmp/x", Rules: []boundary.Rule{c.rule}}, disk)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.At("/tmp/x/a"); got.Access != c.want {
			t.Errorf("%s: %s (%s), not %s", name, got.Access, got.Why, c.want)
		}
		if got := plan.At("/tmp/y/a"); got.Access != boundary.Hidden {
			t.Errorf("%s: beside it %s (%s)", name, got.Access, got.Why)
		}
	}
}

// TestAnotherSpelling: on a file system that minds no case a closed directory has many names. A link
// stands for that here.
func TestAnotherSpelling(t *testing.T) {
	p := newPlace(t, "w/Secret/deep/key = k", "w/other/a = x")
	p.add("w/secret -> Secret", "w/Other/b = y")
	if _, err := os.Lstat(p.at("w/SECRET")); err == nil {
		p.t.Skip("SKIP this file system minds no case")
	}
	plan := p.resolve(p.policy(boundary.Rule{Path: "w/Secret", Access: boundary.None}, boundary.Rule{Path: "w/other", Access: boundary.Read}))
	p.want(&plan, boundary.Hidden, "w/secret", "w/secret/deep/key", "w/secret/new", "w/Secret/new")
	p.want(&plan, boundary.Writable, "w/SECRET/deep/key", "w/secrets/a", "w/Other/b")
	p.want(&plan, boundary.Readable, "w/other/a")
}

// TestWhatIsAboveAHiddenFile: it stays as it is.
func TestWhatIsAboveAHiddenFile(t *testing.T) {
	p := newPlace(t, "w/ro/deep/key = k", "w/ro/deep/x = x", "w/rw/deep/key = k")
	plan := p.resolve(p.policy(boundary.Rule{Path: "w/ro", Access: boundary.Read}, boundary.Rule{Path: "w/ro/deep/key", Access: boundary.None},
		boundary.Rule{Path: "w/rw/deep/key", Access: boundary.None}))
	p.want(&plan, boundary.Readable, "w/ro/deep/x", "w/ro/deep/new", "w/ro/new")
	p.want(&plan, boundary.Writable, "w/rw/deep/new")
	p.want(&plan, boundary.Hidden, "w/ro/deep/key", "w/rw/deep/key")
}

// TestSweepWhereARootIsGone: what is left is looked at.
func TestSweepWhereARootIsGone(t *testing.T) {
	p := newPlace(t, "w/", "v/")
	policy := p.policy()
	policy.Roots = append(policy.Roots, p.at("v"))
	plan := p.resolve(policy)
	p.remove("w")
	p.add(git("v/lib/.git", "")...)
	found := boundary.Sweep(plan, func(string) (string, bool) { return "", false })
	if len(found) != 1 || found[0].Path != p.at("v/lib/.git") {
		t.Errorf("%+v", found)
	}
	if found := boundary.Sweep(boundary.Plan{}, nil); len(found) > 0 {
		t.Errorf("without a plan: %+v", found)
	}
}

// TestAPointerToSettingsOfOthers: what they have git run in the tree of the pointer is closed there, whatever
// tree they say they belong to, and whether or not commands could write them.
func TestAPointerToSettingsOfOthers(t *testing.T) {
	const config = "[core]\n\thooksPath = hk\n\tfsmonitor = ./watch\n"
	for name, c := range map[string]struct{ git, tree string }{
		"outside, at the top": {"o/other", "w"}, "outside, below": {"o/other", "w/sub"}, "inside": {"w/real", "w/sub"},
		"of another tree": {"o/theirs", "w/sub"}, "a worktree": {"o/main/.git/worktrees/mine", "w/sub"},
	} {
		p := newPlace(t, c.tree+"/hk/pre-commit = x", c.tree+"/watch = x", "w/a = x")
		p.add(c.tree + "/.git = gitdir: " + p.at(c.git) + "\n")
		for _, dir := range []string{"o/other", "w/real", "o/theirs", "o/main/.git"} {
			p.add(git(dir, config)...)
		}
		p.add("o/theirs/gitdir = "+p.at("o/tree/.git")+"\n", "o/tree/.git = x", "o/main/.git/worktrees/mine/commondir = ../..\n",
			"o/main/.git/worktrees/mine/gitdir = "+p.at(c.tree+"/.git")+"\n", "o/main/.git/worktrees/mine/HEAD = x")
		plan := p.resolve(p.policy())
		p.want(&plan, boundary.Protected, c.tree+"/hk", c.tree+"/hk/pre-commit", c.tree+"/hk/new", c.tree+"/watch")
		p.want(&plan, boundary.Writable, c.tree+"/a", "w/a")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestRulesInAGitDirectory: what commits need is opened, but for what a rule closes, or lies in that.
func TestRulesInAGitDirectory(t *testing.T) {
	p := newPlace(t, "w/main/a = x", "w/wt/.git = gitdir: ../main/.git/worktrees/wt\n")
	for _, dir := range []string{"", "/modules/lib", "/modules/group/lib", "/modules/lib/modules/deep"} {
		p.add(git("w/main/.git"+dir, "")...)
	}
	p.add("w/main/.git/worktrees/wt/commondir = ../..\n",
		"w/main/.git/worktrees/wt/gitdir = "+p.at("w/wt/.git")+"\n", "w/main/.git/worktrees/wt/HEAD = x")
	parts := []string{"objects", "objects/info", "objects/new", "modules/lib/HEAD", "modules/lib/objects/new", "modules/group/lib/HEAD",
		"modules/lib/modules/deep/HEAD", "modules/lib/modules/deep/objects/info/new", "worktrees/wt/HEAD", "worktrees/wt/index"}
	for rule, closed := range map[string][]string{
		"none": nil, "objects": parts[:3], "objects/info": parts[1:2], "modules": parts[3:8],
		"modules/lib": {parts[3], parts[4], parts[6], parts[7]}, "modules/group": parts[5:6], "modules/lib/modules": parts[6:8],
		"modules/lib/objects": parts[4:5], "worktrees": parts[8:], "worktrees/wt": parts[8:], "worktrees/wt/HEAD": parts[8:9],
	} {
		for access, want := range map[boundary.Access]boundary.MountKind{boundary.Read: boundary.MountRead, boundary.None: "hide"} {
			plan := p.resolve(p.policy(boundary.Rule{Path: "w/main/.git/" + rule, Access: access}))
			for _, part := range parts {
				kind := boundary.MountWrite
				if slices.Contains(closed, part) {
					kind = want
				}
				if got := mounted(plan, p.at("w/main/.git/"+part)); !strings.HasPrefix(string(got), string(kind)) {
					t.Errorf("%s %s: to commands %s is %s, not %s", rule, access, part, got, kind)
				}
			}
		}
	}
}

// TestWhatIsHiddenHoldsNothingOpen: parts of a git directory that lie in what a rule hides are hidden, too.
func TestWhatIsHiddenHoldsNothingOpen(t *testing.T) {
	for _, there := range []bool{true, false} {
		p := newPlace(t, "w/a = x")
		p.add(git("w/.git", "")...)
		if there {
			p.add("w/.git/objects/info/alternates = /keys/objects\n")
		}
		for rule, want := range map[string]boundary.Reach{"w/.git/objects": boundary.Hidden, "w/.git/objects/info": boundary.Hidden,
			"w/.git/refs": boundary.Protected} {
			plan := p.resolve(p.policy(boundary.Rule{Path: rule, Access: boundary.None}))
			p.want(&plan, want, "w/.git/objects/info/alternates")
			for _, m := range plan.Mounts {
				if want == boundary.Hidden && strings.HasPrefix(m.Path, p.at(rule)+"/") {
					t.Errorf("%s is hidden, and %s is mounted", rule, m.Path)
				}
			}
		}
	}
}

// TestManyModules: those beyond a number are read-only as a whole.
func TestManyModules(t *testing.T) {
	p := newPlace(t, "w/a = x")
	p.add(git("w/.git", "")...)
	for i := range 18 {
		p.add(git(fmt.Sprintf("w/.git/modules/m%02d", i), "")...)
	}
	plan, open := p.resolve(p.policy()), 0
	for i := range 18 {
		if mounted(plan, p.at(fmt.Sprintf("w/.git/modules/m%02d/HEAD", i))) == boundary.MountWrite {
			open++
		}
	}
	if open != 16 {
		t.Errorf("%d of 18 are fit for commits, want 16", open)
	}
}

// TestModulesThatStayClosed: a link that passes for one, and what others have git run.
func TestModulesThatStayClosed(t *testing.T) {
	p := newPlace(t, "w/main/a = x", "w/main/.git/modules/away/.git -> ../../../../../o/repo")
	p.add(git("o/repo", "")...)
	p.add(git("w/main/.git", "")...)
	p.add(git("w/main/.git/modules/lib", "")...)
	p.add(git("w/first/.git", "[core]\n\thooksPath = ../main/.git/modules/lib\n")...)
	plan := p.resolve(p.policy())
	for _, name := range []string{"away/.git", "away/.git/objects", "lib", "lib/objects"} {
		if got := mounted(plan, p.at("w/main/.git/modules/"+name)); got != boundary.MountRead {
			t.Errorf("to commands %s is %s", name, got)
		}
	}
}

// TestWhatStaysInItsPlaceIsGuardedEvenSo: what the settings of one repository name may lie in another one, or
// among the start files of a home. The directories above it stay in their place, which opens nothing.
func TestWhatStaysInItsPlaceIsGuardedEvenSo(t *testing.T) {
	for _, name := range []string{"main/.git", "main/bare.git", "v/.git/modules/lib", "zoo/.git/modules/lib"} {
		p := newPlace(t, "w/a = x", "u/a = x", "u/v/a = x")
		for _, dir := range []string{"u/main/.git", "u/main/bare.git", "u/v/.git", "u/v/.git/modules/lib", "u/zoo/.git",
			"u/zoo/.git/modules/lib"} {
			p.add(git(dir, "")...)
		}
		p.add("u/" + name + "/refs/deep/hk/x = 1")
		p.add(git("u/first/.git", "[core]\n\thooksPath = ../../u/"+name+"/refs/deep/hk\n")...)
		policy := p.policy()
		policy.Roots = append(policy.Roots, p.at("u"), p.at("u/v"))
		plan := p.resolve(policy)
		for _, part := range []string{"config", "hooks", "hooks/x", "info/attributes", "refs/deep/hk", "objects/info/alternates"} {
			p.want(&plan, boundary.Protected, "u/"+name+"/"+part)
			if got := mounted(plan, p.at("u/"+name+"/"+part)); got != boundary.MountRead {
				t.Errorf("to commands %s of %s is %s", part, name, got)
			}
		}
		for _, part := range []string{"HEAD", "refs/new", "objects/ab", "refs/deep/new"} {
			if got := mounted(plan, p.at("u/"+name+"/"+part)); got != boundary.MountWrite {
				t.Errorf("to commands %s of %s is %s", part, name, got)
			}
		}
	}
	p := newPlace(t, "w/.config/fish/functions/hk/x = 1")
	p.add(git("w/first/.git", "[core]\n\thooksPath = ../.config/fish/functions/hk\n")...)
	policy := p.policy()
	policy.Home = p.at("w")
	plan := p.resolve(policy)
	p.want(&plan, boundary.Protected, "w/.config/fish/config.fish", "w/.config/fish/functions/new", "w/.config/fish/functions/hk/x")
	p.want(&plan, boundary.Writable, "w/.config/new")

	p = newPlace(t, "w/a = x") // what would be a place for commits otherwise
	p.add(git("w/.config/fish", "")...)
	policy = p.policy()
	policy.Home = p.at("w")
	plan = p.resolve(policy)
	p.want(&plan, boundary.Protected, "w/.config/fish/config.fish", "w/.config/fish/config", "w/.config/fish/refs/new")
}

// TestAFileThatMayBeWritten has nothing below it that would be protected.
func TestAFileThatMayBeWritten(t *testing.T) {
	p := newPlace(t, "w/a = x", "o/file = x")
	before := p.resolve(p.policy())
	plan := p.resolve(p.policy(boundary.Rule{Path: "o/file", Access: boundary.Write}))
	p.want(&plan, boundary.Writable, "o/file")
	if d := cmp.Diff([]any{before.Masks, before.Untouched}, []any{plan.Masks, plan.Untouched}); d != "" {
		t.Errorf("(-without +with):\n%s", d)
	}
}

// TestWhatIsGoneHasNoOtherNames: a directory may go while it is looked through.
func TestWhatIsGoneHasNoOtherNames(t *testing.T) {
	p := newPlace(t, "w/a = x", "w/b == w/a")
	id, _ := boundary.Disk{}.Identity(p.at("w/a"))
	names := boundary.Disk{}.Names(map[boundary.FileID]bool{id: true}, []string{p.at("gone"), p.at("w")})
	if d := cmp.Diff([]string{"w/a", "w/b"}, p.names(names[id])); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if found := (boundary.Disk{}).Multiples(p.at("gone"), 10); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestTheSharedTmp is writable where that mode says so and no rule says anything else of it.
func TestTheSharedTmp(t *testing.T) {
	onUnix(t)
	for name, c := range map[string]struct {
		mode  string
		rules []boundary.Rule
		want  boundary.Reach
	}{
		"no rule":           {boundary.WorkspaceWrite, nil, boundary.Writable},
		"read-only":         {boundary.ReadOnly, nil, boundary.Readable},
		"closed":            {boundary.WorkspaceWrite, []boundary.Rule{{Path: "/tmp", Access: boundary.Read}}, boundary.Readable},
		"hidden":            {boundary.WorkspaceWrite, []boundary.Rule{{Path: "/tmp", Access: boundary.None}}, boundary.Hidden},
		"read-only, hidden": {boundary.ReadOnly, []boundary.Rule{{Path: "/tmp", Access: boundary.None}}, boundary.Hidden},
		"read-only, opened": {boundary.ReadOnly, []boundary.Rule{{Path: "/tmp", Access: boundary.Write}}, boundary.Readable},
	} {
		plan, err := boundary.Resolve(boundary.Policy{Mode: c.mode, Roots: []string{"/w"}, Cwd: "/w", SharedTmp: true, Rules: c.rules},
			newPaper("/w/a", "/tmp/a"))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.At("/tmp/a"); got.Access != c.want {
			t.Errorf("%s: %s (%s), not %s", name, got.Access, got.Why, c.want)
		}
	}
}

// mounted is how a path appears to commands.
func mounted(plan boundary.Plan, path string) (kind boundary.MountKind) {
	for _, m := range plan.Mounts { // the most specific is last
		if m.Path == path || strings.HasPrefix(path, strings.TrimSuffix(m.Path, "/")+"/") {
			kind = m.Kind
		}
	}
	return kind
}

// TestARuleForWhatIsNotThereYet holds when others made it meanwhile, in what commands may write and elsewhere.
func TestARuleForWhatIsNotThereYet(t *testing.T) {
	for access, want := range map[boundary.Access]boundary.Reach{boundary.Read: boundary.Readable, boundary.None: boundary.Hidden} {
		p := newPlace(t, "w/a = x", "o/a = x", "o/real/a = x", "o/link -> real")
		missing := []string{"w/later", "o/later", "o/new/later", "o/link/later", "w/new/later"}
		var rules []boundary.Rule
		for _, name := range missing {
			rules = append(rules, boundary.Rule{Path: name, Access: access})
		}
		policy := p.policy(rules...)
		policy.Rules[1].Path += "/" // of w/later
		plan := p.resolve(policy)
		p.want(&plan, want, "w/later", "o/later", "o/new/later", "w/new/later")
		p.want(&plan, want, "w/later/in", "o/later/in", "o/real/later/in")
		p.want(&plan, boundary.Writable, "w/latest", "w/new/latest")
		p.want(&plan, boundary.Readable, "o/latest")
		if got := plan.HidesBelow(p.at("o")); got != (access == boundary.None) {
			t.Errorf("something below is hidden: %v", got)
		}
		for _, m := range plan.Mounts {
			if strings.HasPrefix(m.Path, p.at("o")) || strings.HasPrefix(m.Path, p.at("w/new")) || m.Path == p.at("w/later") && m.Kind != boundary.MountRead {
				t.Errorf("what is not there is mounted: %+v", m)
			}
		}
	}
}

// TestStartFilesThatAreNotThere: something stands in their place where their directory is there, and else they
// are watched for. One that is a link has what it leads to closed, for the same reason.
func TestStartFilesThatAreNotThere(t *testing.T) {
	p := newPlace(t, "w/a = x", "w/.zshrc -> a")
	policy := p.policy()
	policy.Home = p.at("w")
	plan := p.resolve(policy)
	masked := func(name string) bool {
		return slices.ContainsFunc(plan.Masks, func(m boundary.Mask) bool { return m.Path == p.at(name) })
	}
	if !masked("w/.bashrc") || masked("w/.config/fish") {
		t.Errorf("placeholders: %v", plan.Masks)
	}
	fish, bashrc := boundary.Name{Path: p.at("w/.config/fish"), Aside: true}, boundary.Name{Path: p.at("w/.bashrc"), Aside: true}
	if !slices.Contains(plan.Untouched, fish) || slices.Contains(plan.Untouched, bashrc) {
		t.Errorf("watched for: %v", plan.Untouched)
	}
	for _, name := range []string{"w/.zshrc", "w/a", "w/.bashrc", "w/.config/fish"} {
		if v := plan.At(p.at(name)); v.Access != boundary.Protected || !strings.Contains(v.Why, "log in") {
			t.Errorf("%s is %s: %s", name, v.Access, v.Why)
		}
	}
}

// TestKerfBelow: commands cannot write a directory of Kerf that lies deeper, or what passes for one.
func TestKerfBelow(t *testing.T) {
	p := newPlace(t, "w/sub/.kerf/config.toml = x", "w/more/.KERF/config.toml = x")
	plan := p.resolve(p.policy())
	for _, name := range []string{"w/sub/.kerf", "w/sub/.kerf/new", "w/more/.KERF/config.toml"} {
		p.want(&plan, boundary.Protected, name)
		if got := mounted(plan, p.at(name)); got != boundary.MountRead {
			t.Errorf("to commands %s is %s", name, got)
		}
	}
}

// TestNamesOfWhatCanBeRead: a directory that a rule makes read-only closes no other names of its files; one that
// only the user changes does.
func TestNamesOfWhatCanBeRead(t *testing.T) {
	p := newPlace(t, "w/ro/x = 1", "w/x == w/ro/x", "w/sub/.kerf/y = 2", "w/y == w/sub/.kerf/y", "o/ro/z = 3", "w/z == o/ro/z")
	plan := p.resolve(p.policy(boundary.Rule{Path: "w/ro", Access: boundary.Read}, boundary.Rule{Path: "o/ro", Access: boundary.Read}))
	p.want(&plan, boundary.Writable, "w/x", "w/z")
	p.want(&plan, boundary.Readable, "w/ro/x", "o/ro/z")
	p.want(&plan, boundary.Protected, "w/y")
}

// TestWorkingTreesInAGitDirectory: some keep all working trees of a repository there. Commands cannot
// lead git elsewhere from them.
func TestWorkingTreesInAGitDirectory(t *testing.T) {
	p := newPlace(t)
	for _, git := range []string{"w/.git", "w/bare"} {
		for name, text := range map[string]string{"HEAD": "ref: refs/heads/main", "objects/new": "", "refs/heads/new": "", "config": "[core]",
			"tree/.git": "gitdir: ../worktrees/tree", "worktrees/tree/HEAD": "x", "worktrees/tree/gitdir": p.at(git + "/tree/.git")} {
			p.add(git + "/" + name + " = " + text)
		}
	}
	plan := p.resolve(p.policy())
	for _, tree := range []string{"w/.git/tree", "w/bare/tree"} {
		p.want(&plan, boundary.Protected, tree+"/.git")
		if got := mounted(plan, p.at(tree+"/.git")); got != boundary.MountRead {
			t.Errorf("to commands %s/.git is %s", tree, got)
		}
		if got := mounted(plan, p.at(tree)); got != boundary.MountWrite {
			t.Errorf("to commands %s is %s", tree, got)
		}
	}
}

// TestAWritableFileIsGone: a command may have moved what a rule makes writable. The next one runs if
// the rule grants nothing that it has not got anyway.
func TestAWritableFileIsGone(t *testing.T) {
	p := newPlace(t, "w/ro/a = x", "o/b = x")
	for name, fault := range map[string]bool{"w/gone": false, "w/gone/deep": false, "o/gone": true, "w/ro/gone": true} {
		policy := p.policy(boundary.Rule{Path: "w/ro", Access: boundary.Read}, boundary.Rule{Path: name, Access: boundary.Write})
		if _, err := boundary.Resolve(policy, boundary.Disk{}); (err != nil) != fault || fault && !strings.Contains(err.Error(), p.at(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
