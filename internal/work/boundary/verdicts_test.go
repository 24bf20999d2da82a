package boundary_test

import (
	"testing"

	"kerf/internal/work/boundary"
)

// TestVerdicts: what a plan says of a path, for each rule that makes it.
func TestVerdicts(t *testing.T) {
	onUnix(t)
	disk := newPaper("/home/u/.bashrc", "/home/u/.profile -> /home/u/dot/profile", "/home/u/dot/profile", "/home/u/.zprofile -> /p/a", "/p/a", "/home/u/.zlogin -> /gone", "/home/u/w/a",
		"/home/u/w/.git/HEAD", "/home/u/w/.git/config", "/home/u/w/sub/.env", "/o/a", "/o/keys/id", "/n/a")
	const home, work, out = "/home/u", "/home/u/w", "/o"
	in := func(roots []string, rules ...boundary.Rule) boundary.Policy {
		return boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: roots, Cwd: work, Home: home, Rules: rules}
	}
	const hidden, readable, protected, writable = boundary.Hidden, boundary.Readable, boundary.Protected, boundary.Writable
	type reach map[boundary.Reach][]string
	for name, c := range map[string]struct {
		policy boundary.Policy
		want   reach
	}{
		"a home that is a root": {in([]string{home}), reach{writable: {home + "/x", work + "/a"},
			protected: {home + "/.bashrc", home + "/.profile", home + "/dot/profile", home + "/.zshrc", home + "/.zprofile", home + "/.zlogin"}, readable: {"/p/a", "/gone"}}},
		"a root in a home": {in([]string{work}), reach{writable: {work + "/a", work + "/.bashrc"},
			readable: {home + "/x", home + "/.bashrc", "/o/a"}, protected: {work + "/.git/config"}}},
		"no home is known": {boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{home}, Cwd: work},
			reach{writable: {home + "/x", home + "/.bashrc"}}},
		"a rule opens a start file": {in([]string{home}, boundary.Rule{Path: home + "/.bashrc", Access: boundary.Write}),
			reach{writable: {home + "/.bashrc"}, protected: {home + "/.zshrc"}}},
		"more may be written": {in([]string{work}, boundary.Rule{Path: out, Access: boundary.Write}),
			reach{writable: {"/o/a", work + "/a"}, readable: {"/n/a"}, protected: {"/o/.git/config", "/o/.kerf"}}},
		"less may be written": {in([]string{home, out}, boundary.Rule{Path: "/o/keys", Access: boundary.Read}),
			reach{writable: {"/o/a"}, readable: {"/o/keys/id", "/o/keys/new"}}},
		"hidden": {in([]string{out}, boundary.Rule{Path: "/o/keys", Access: boundary.None}),
			reach{writable: {"/o/a"}, hidden: {"/o/keys", "/o/keys/id", "/o/keys/new"}}},
		"hidden by a pattern": {in([]string{work}, boundary.Rule{Path: work + "/**/.env", Access: boundary.None}),
			reach{writable: {work + "/a"}, hidden: {work + "/sub/.env", work + "/new/.env", work + "/.env"}}},
	} {
		plan, err := boundary.Resolve(c.policy, disk)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for want, paths := range c.want {
			for _, path := range paths {
				if got := plan.At(path); got.Access != want {
					t.Errorf("%s: %s is %s (%s), not %s", name, path, got.Access, got.Why, want)
				}
			}
		}
	}
}
