package agree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
)

// A repository can hold any links: rules of the user for names in it open nothing that is
// closed when such a name is a link, neither to commands nor to file tools.
func TestSEC_F11_LinksOfARepositoryOpenNothing(t *testing.T) {
	for _, backend := range []string{boundary.OwnLauncher, boundary.Bubblewrap} {
		t.Run(backend, func(t *testing.T) {
			if why := missing(t, backend); why != "" {
				t.Skip(why)
			}
			s := newSite(t, backend, boundary.WorkspaceWrite)
			keys, private := filepath.Join(s.out, "keys"), filepath.Join(s.work, "private")
			for _, dir := range []string{keys, private, filepath.Join(s.work, "docs")} {
				s.must(os.Mkdir(dir, 0o755))
				s.must(os.WriteFile(dir+"/id", []byte("SECRET\n"), 0o644))
			}
			for name, to := range map[string]string{"a.md": keys + "/id", "b.md": "private/id", "c.md": keys, "d.md": "/proc/self/fd",
				"e.md": ".", "data": keys, "own": "private", "plain.md": "docs/id", "gone": keys + "/new"} {
				s.must(os.Symlink(to, filepath.Join(s.work, name)))
			}
			rule := func(path string, a boundary.Access) boundary.Rule { return boundary.Rule{Path: path, Access: a} }
			s.policy.Rules = append(s.policy.Rules, rule(keys, boundary.None), rule(private, boundary.None),
				rule(s.work+"/**/*.md", boundary.Read), rule(s.work+"/data", boundary.Read), rule(s.work+"/own/id", boundary.Read))
			s.begin()
			plan := s.plan()
			closed := []string{keys + "/id", private + "/id"}
			told := s.ask("look", append(closed, s.work+"/docs/id"))
			for _, path := range closed {
				if _, v := plan.Named(s.work, path); v.Access != boundary.Hidden || told[path].text != "" {
					t.Errorf("%s: the plan says %s, a command reads %q", s.shown(path), v.Access, told[path].text)
				}
			}
			for _, name := range []string{"a.md", "b.md", "c.md/id", "data/id", "own/id"} {
				if img, err := s.ws.Tree.Read(filepath.Join(s.work, name), 0); err == nil && img != nil {
					t.Errorf("the tools read %s", name)
				}
			}
			if c := told[s.work+"/docs/id"]; c.text == "" || c.wrote {
				t.Errorf("control: a link still closes what was writable: %+v", c)
			}
			s.policy.Rules = append(s.policy.Rules, rule(s.work+"/data", boundary.Write))
			if _, err := sandbox.Prepare(t.Context(), s.policy, false, []string{"true"}); err == nil ||
				!strings.Contains(err.Error(), "by a link in the workspace") {
				t.Errorf("write access by a link: %v", err)
			}
		})
	}
}

// What a pattern hid by way of a link stays hidden when a command removes the link.
func TestSEC_F11_ALinkThatIsRemovedOpensNothing(t *testing.T) {
	s := newSite(t, "", boundary.WorkspaceWrite)
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	s.must(os.WriteFile(s.work+"/real", []byte("SECRET\n"), 0o644))
	s.must(os.Symlink("real", s.work+"/x.env"))
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/*.env", Access: boundary.None})
	s.begin()
	_, end := s.start("rm", "-f", s.work+"/x.env")
	_, err := end()
	s.must(err)
	if _, err := os.Lstat(s.work + "/x.env"); err == nil {
		t.Fatal("control: the link is still there")
	}
	if told := s.ask("look", []string{s.work + "/real"}); told[s.work+"/real"].text != "" {
		t.Error("a command reads it")
	}
	if _, err := s.ws.Tree.Read(s.work+"/real", 0); err == nil {
		t.Error("the tools read it")
	}
}
