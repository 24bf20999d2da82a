package boundary_test

import (
	"strings"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/mounts"
)

// boundDisk is a disk on which directories are mounted at other places, too.
type boundDisk struct {
	paper
	table []mounts.Point
}

func (m boundDisk) Mounts() []mounts.Point { return m.table }

// bound is a disk with the directory from mounted at each of the places, which show what is in it.
func bound(from string, places []string, lines ...string) boundDisk {
	all := lines
	m := boundDisk{table: []mounts.Point{{Path: "/", Device: "8:1", Root: "/"}}}
	for _, to := range places {
		m.table = append(m.table, mounts.Point{Path: to, Device: "8:1", Root: from})
		for _, line := range lines {
			if rest, in := strings.CutPrefix(line, from+"/"); in {
				all = append(all, to+"/"+rest)
			}
		}
	}
	m.paper = newPaper(all...)
	return m
}

// What a rule closes is closed wherever else it is mounted, with all that is in it: a repository in it, which
// would be kept fit for commits, and what Kerf itself protects.
func TestWhatIsClosedIsClosedWhereverItIsMounted(t *testing.T) {
	onUnix(t)
	places := []string{"/w/m", "/w/sub/n", "/z"}
	lines := append(repository("/w/closed/.git", "/modules/a/HEAD"), repository("/w/closed/deep/repo/.git")...)
	lines = append(lines, repository("/w/closed/bare")...)
	lines = append(lines, "/w/closed/f", "/w/closed/.kerf/config.toml", "/w/closed/tree/.git = /w/closed/deep/repo/.git", "/w/sub/", "/z/")
	for _, from := range []string{"/w/closed", "/w/closed/deep", "/w/closed/deep/repo", "/w/closed/deep/repo/.git"} {
		disk := bound(from, places, lines...)
		for _, access := range []boundary.Access{boundary.None, boundary.Read} {
			for _, mode := range []string{boundary.WorkspaceWrite, boundary.ReadOnly} {
				plan, err := boundary.Resolve(boundary.Policy{Mode: mode, Roots: []string{"/w"}, Cwd: "/w/sub", TmpDir: "/k/tmp",
					Rules: []boundary.Rule{{Path: "/w/closed", Access: access}}}, disk)
				if err != nil {
					t.Fatal(err)
				}
				for path := range disk.paper {
					at := path
					for _, to := range places {
						if rest, in := strings.CutPrefix(path, to); in {
							at = from + rest
						}
					}
					if at != "/w/closed" && !strings.HasPrefix(at, "/w/closed/") {
						continue
					}
					if v := plan.At(path); access == boundary.None && v.Access != boundary.Hidden || v.Access == boundary.Writable {
						t.Errorf("%s, %s = %s mounted from %s: %s is %s: %s", mode, "/w/closed", access, from, path, v.Access, v.Why)
					}
				}
				for _, m := range plan.Masks {
					if strings.HasPrefix(m.Path, "/w/m/") || strings.HasPrefix(m.Path, "/w/sub/n/") {
						t.Errorf("%s, %s, from %s: a placeholder would be made: %s", mode, access, from, m.Path)
					}
				}
			}
		}
	}
}

// What a rule hides is hidden where it is mounted also where a rule about a directory above it says something else,
// and so are Kerf's own keys; and what is not there yet is closed there, too.
func TestWhatIsMountedElsewhereHasWhatIsStrictest(t *testing.T) {
	onUnix(t)
	rule := func(path string, a boundary.Access) boundary.Rule { return boundary.Rule{Path: path, Access: a} }
	for _, c := range []struct {
		name   string
		disk   boundDisk
		policy boundary.Policy
		want   boundary.Reach
		paths  []string
	}{
		{"below what is read", bound("/w/a/secret", []string{"/w/m", "/z"}, "/w/a/secret/deep/f", "/w/a/g", "/z/"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a", boundary.Read), rule("/w/a/secret", boundary.None)}},
			boundary.Hidden, []string{"/w/m", "/w/m/deep/f", "/z", "/z/deep/f"}},
		{"a part", bound("/w/a/secret/deep", []string{"/w/m"}, "/w/a/secret/deep/f", "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a", boundary.Read), rule("/w/a/secret", boundary.None)}},
			boundary.Hidden, []string{"/w/m", "/w/m/f"}},
		{"keys", bound("/h/keys", []string{"/h/ro/m", "/w/m"}, "/h/keys/k", "/h/ro/", "/w/f"),
			boundary.Policy{Rules: []boundary.Rule{rule("/h", boundary.Read)}, DenyRead: []string{"/h/keys"}},
			boundary.Hidden, []string{"/h/keys/k", "/h/ro/m/k", "/w/m/k"}},
		{"not there yet, hidden", bound("/w/a", []string{"/w/m"}, "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a/later", boundary.None)}}, boundary.Hidden, []string{"/w/a/later", "/w/m/later"}},
		{"not there yet, read", bound("/w/a", []string{"/w/m"}, "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a/later", boundary.Read)}}, boundary.Readable, []string{"/w/m/later"}},
		{"not there yet, hidden, then read", bound("/w/a", []string{"/w/m", "/w/n"}, "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a/later", boundary.None), rule("/w/m/later", boundary.Read)}},
			boundary.Hidden, []string{"/w/a/later", "/w/m/later", "/w/n/later"}},
		{"not there yet, read, then hidden", bound("/w/a", []string{"/w/m", "/w/n"}, "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/m/later", boundary.Read), rule("/w/a/later", boundary.None)}},
			boundary.Hidden, []string{"/w/a/later", "/w/m/later", "/w/n/later"}},
		{"not there yet, below what is hidden", bound("/w/a", []string{"/w/m"}, "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/m", boundary.None), rule("/w/a/later", boundary.Read)}},
			boundary.Hidden, []string{"/w/m/later", "/w/m/other", "/w/a/other"}},
		{"not there yet, two rules for one path", bound("/w/a", []string{"/w/m"}, "/w/a/g"), // control: the later one holds
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a/later", boundary.None), rule("/w/a/later", boundary.Read)}},
			boundary.Readable, []string{"/w/a/later", "/w/m/later"}},
		{"a pattern, not there yet", bound("/w/a", []string{"/w/m"}, "/w/a/g"),
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a/*.key", boundary.None)}}, boundary.Hidden, []string{"/w/a/x.key", "/w/m/x.key"}},
		{"named itself", bound("/w/a/secret", []string{"/w/m"}, "/w/a/secret/f"), // control: this is what the user wants
			boundary.Policy{Rules: []boundary.Rule{rule("/w/a/secret", boundary.None), rule("/w/m", boundary.Read)}},
			boundary.Readable, []string{"/w/m/f"}},
	} {
		p := c.policy
		p.Mode, p.Roots, p.Cwd, p.TmpDir = boundary.WorkspaceWrite, []string{"/w"}, "/w", "/k/tmp"
		plan, err := boundary.Resolve(p, c.disk)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range c.paths {
			if v := plan.At(path); v.Access != c.want {
				t.Errorf("%s: %s is %s, not %s: %s", c.name, path, v.Access, c.want, v.Why)
			}
		}
	}
}
