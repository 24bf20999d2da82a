package boundary_test

import (
	"os"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
)

// session is one over the place, with a policy that can be changed.
func (p place) session(policy *boundary.Policy) *boundary.Session {
	return boundary.NewSession(boundary.Disk{}, boundary.WorkspaceWrite, func(mode string) boundary.Policy {
		one := *policy
		one.Mode = mode
		return one
	})
}

// TestSessionPlansAnew: file tools are answered by the plan of the last command until the disk
// may have changed, or the mode.
func TestSessionPlansAnew(t *testing.T) {
	p := newPlace(t, "w/")
	policy := p.policy()
	s := p.session(&policy)
	s.Plan()
	plan := s.Plan()
	if s.Plan() != plan {
		t.Error("the plan is worked out twice")
	}
	p.want(s, boundary.Writable, "w/lib/.git/index")
	p.add(git("w/.git", "[core]\n\tfsmonitor = ./watch\n")...)
	p.want(s, boundary.Writable, "w/watch")
	s.Moved()
	p.want(s, boundary.Protected, "w/watch")
	p.want(s, boundary.Readable, "elsewhere")
	plan = s.Plan()
	s.Use(boundary.WorkspaceWrite)
	s.Use(boundary.ReadOnly) // in which the user allowed what file tools write
	if s.Plan() != plan {
		t.Error("the same mode has another plan")
	}
	s.Use(boundary.FullAccess)
	p.want(s, boundary.Writable, "elsewhere", "w/watch")
	if s.HidesBelow(p.dir) || s.Of(p.at("w/watch"), boundary.FileID{}, false).Access != boundary.Writable {
		t.Error("full access is bounded")
	}
	s.Use(boundary.WorkspaceWrite)
	p.want(s, boundary.Readable, "elsewhere")

	// A plan of another mode is not that of the file tools.
	if _, err := s.Policy(boundary.FullAccess).Resolve(); err != nil {
		t.Fatal(err)
	}
	p.want(s, boundary.Readable, "elsewhere")
	// One of theirs is.
	p.add("w/.git/hooks/x = 1")
	policy.Rules = append(policy.Rules, boundary.Rule{Path: p.at("w/free"), Access: boundary.Read})
	p.add("w/free = 1")
	if _, err := s.Policy(boundary.WorkspaceWrite).Resolve(); err != nil {
		t.Fatal(err)
	}
	p.want(s, boundary.Readable, "w/free")
	var none *boundary.Session
	none.Use(boundary.FullAccess)
}

// TestExchangedRootIsRefused: a root that became a link to elsewhere is no root.
func TestExchangedRootIsRefused(t *testing.T) {
	p := newPlace(t, "w/a = x", "o/a = y", "v/")
	policy := p.policy()
	policy.Roots = append(policy.Roots, p.at("v"))
	s := p.session(&policy)
	s.Settle(p.at("w")+"/", p.at("w"))
	p.want(s, boundary.Writable, "w/a", "v/a")
	if err := os.Rename(p.at("w"), p.at("was")); err != nil {
		t.Fatal(err)
	}
	p.add("w -> o")
	s.Moved()
	p.want(s, boundary.Readable, "o/a", "was/a")
	p.want(s, boundary.Writable, "v/a")
	_, err := s.Policy(boundary.WorkspaceWrite).Resolve()
	if err == nil || !strings.Contains(err.Error(), p.at("o")) {
		t.Errorf("the plan of commands: %v", err)
	}
}

// TestRulesMeanWhatTheyMeant: a rule that closes something by a link closes it after the link
// is another one, or is gone.
func TestRulesMeanWhatTheyMeant(t *testing.T) {
	for name, rule := range map[string]boundary.Rule{
		"a name":    {Path: "cfg", Access: boundary.None},
		"a pattern": {Path: "w/*.key", Access: boundary.None},
	} {
		p := newPlace(t, "w/", "o/one/x = 1", "o/two/x = 2")
		link := strings.Replace(rule.Path, "*", "my", 1)
		target := strings.Repeat("../", strings.Count(link, "/")) + "o/"
		p.add(link + " -> " + target + "one")
		policy := p.policy(rule)
		policy.Roots = append(policy.Roots, p.at("o"))
		s := p.session(&policy)
		p.want(s, boundary.Hidden, "o/one/x")
		p.want(s, boundary.Writable, "o/two/x")
		p.remove(link)
		p.add(link + " -> " + target + "two")
		s.Moved()
		p.want(s, boundary.Hidden, "o/one/x", "o/two/x")
		p.remove(link)
		s.Moved()
		p.want(s, boundary.Hidden, "o/one/x", "o/two/x")
		p.want(s, boundary.Writable, "w/a", "o/three")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestWhatACommandBeginsItMayFinish: a rebase that was under way when the session began is the
// user's, one that began later is not.
func TestWhatACommandBeginsItMayFinish(t *testing.T) {
	p := newPlace(t, "w/")
	p.add(git("w/.git", "")...)
	p.add("w/.git/sequencer/todo = pick", "w/.git/BISECT_START = x")
	policy := p.policy()
	s := p.session(&policy)
	mounted := func(name string) bool {
		plan, err := s.Policy(boundary.WorkspaceWrite).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range plan.Mounts {
			if m.Path == p.at(name) {
				return m.Kind == boundary.MountRead
			}
		}
		return false
	}
	if !mounted("w/.git/sequencer") || !mounted("w/.git/BISECT_START") || mounted("w/.git/rebase-merge") {
		t.Error("what the user began is open to commands, or what is not there is closed")
	}
	p.add("w/.git/rebase-merge/git-rebase-todo = exec x")
	if mounted("w/.git/rebase-merge") || !mounted("w/.git/sequencer") {
		t.Error("what began in the session is closed to commands")
	}
	p.want(s, boundary.Protected, "w/.git/rebase-merge/git-rebase-todo") // to file tools it always is
}

// TestRepositoriesAreRemembered: one that was found stays closed; one that went is forgotten.
func TestRepositoriesAreRemembered(t *testing.T) {
	p := newPlace(t, "w/")
	p.add(git("w/lib/bare.git", "")...)
	policy := p.policy()
	s := p.session(&policy)
	p.want(s, boundary.Protected, "w/lib/bare.git/config", "w/lib/bare.git/hooks/x")
	p.want(s, boundary.Writable, "w/lib/other.git/config", "w/lib/bare.git/refs/x")
	if err := os.Rename(p.at("w/lib/bare.git"), p.at("w/lib/other.git")); err != nil {
		t.Fatal(err)
	}
	s.Moved()
	p.want(s, boundary.Protected, "w/lib/other.git/config")
	p.want(s, boundary.Writable, "w/lib/bare.git/config")
}

// TestASessionKeepsToWhatItWasGiven: its view, and where commands start.
func TestASessionKeepsToWhatItWasGiven(t *testing.T) {
	p := newPlace(t, "w/sub/")
	policy := p.policy()
	policy.Cwd = p.at("w/sub")
	s := p.session(&policy)
	for cwd, want := range map[string]string{p.at("w/sub"): p.at("w/sub"), "": p.at("w")} {
		policy.Cwd = cwd
		plan, err := s.Policy(boundary.WorkspaceWrite).Resolve()
		if err != nil || plan.Cwd != want {
			t.Errorf("commands start in %q, not %q; %v", plan.Cwd, want, err)
		}
	}
	policy.Cwd, policy.Roots = "", nil
	_, _ = s.Policy(boundary.WorkspaceWrite).Resolve() // there is no first root
	paper := boundary.NewSession(newPaper("/nowhere/w/a"), boundary.WorkspaceWrite, func(mode string) boundary.Policy {
		return boundary.Policy{Mode: mode, Roots: []string{"/nowhere/w"}, Cwd: "/nowhere/w"}
	})
	if got := paper.At("/nowhere/w/a"); got.Access != boundary.Writable {
		t.Errorf("a file of another view is %s: %s", got.Access, got.Why)
	}
}

// TestManyLooksForgetNoMeaning: what a link led to stays closed however often the rule was met before.
func TestManyLooksForgetNoMeaning(t *testing.T) {
	p := newPlace(t, "w/", "o/one/x = 1", "o/two/x = 2", "o/three/x = 3", "cfg -> o/one")
	policy := p.policy(boundary.Rule{Path: "cfg", Access: boundary.None})
	policy.Roots = append(policy.Roots, p.at("o"))
	s := p.session(&policy)
	for range 20 {
		s.Moved()
		p.want(s, boundary.Hidden, "o/one/x")
	}
	for _, next := range []string{"o/two", "o/three"} {
		p.remove("cfg")
		p.add("cfg -> " + next)
		s.Moved()
		p.want(s, boundary.Hidden, next+"/x")
	}
	p.want(s, boundary.Hidden, "o/one/x", "o/two/x")

	// What a rule says of the place itself holds.
	policy.Rules = append(policy.Rules, boundary.Rule{Path: p.at("o/one"), Access: boundary.Read})
	policy.Rules[1], policy.Rules[2] = policy.Rules[2], policy.Rules[1]
	s.Moved()
	p.want(s, boundary.Readable, "o/one/x")
	p.want(s, boundary.Hidden, "o/two/x", "o/three/x")
}
