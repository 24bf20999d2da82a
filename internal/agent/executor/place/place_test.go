package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/agent/policy"
	"kerf/internal/work/boundary"
)

func TestPlaces(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{"w/sub", "w/bin", "other/deep", "sys", "granted"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"w/bin/own", "sys/tool", "w/bin/shadow", "sys/shadow", "granted/g", "w/target"} {
		if err := os.WriteFile(at(f), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"w/link": "../other/deep", "sys/linked": "../w/target", "alias": "w"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	pol := boundary.Policy{Roots: []string{at("alias")}, Rules: []boundary.Rule{{Path: at("granted"), Access: boundary.Write},
		{Path: at("sys"), Access: boundary.Read}}}
	p := New(is(pol), []string{"PATH=" + at("w/bin") + ":" + at("sys") + ":" + at("granted")})
	for _, tt := range []struct{ from, to, want string }{
		{"w", "sub", "w/sub"}, {"w", at("other"), "other"}, {"w", ".", "w"}, {"w", "..", "."}, {"w/sub", "../..", "."},
		{"w", "link", "w/link"}, {"w", "link/..", ""}, {"w/link", "..", ""}, {"w", "missing", ""}, {"w", "target", "w/target"}} {
		got, ok := p.Cd(at(tt.from), tt.to)
		if (tt.want != "") != ok || ok && got != at(tt.want) {
			t.Errorf("cd %s in %s: %q, %v", tt.to, tt.from, got, ok)
		}
	}
	if real, ok := p.Real(at("w/link")); !ok || real != at("other/deep") {
		t.Errorf("a link is %q, %v", real, ok)
	}
	for name, want := range map[string]struct {
		path       string
		changeable bool
	}{"tool": {"sys/tool", false}, "own": {"w/bin/own", true}, "shadow": {"w/bin/shadow", true}, "linked": {"w/target", true},
		"g": {"granted/g", true}} {
		if path, changeable := p.Program(name); path != at(want.path) || changeable != want.changeable {
			t.Errorf("%s is %q, changeable %v", name, path, changeable)
		}
	}
	if path, changeable := p.Program("none"); path != "" || changeable {
		t.Errorf("a missing program: %q, %v", path, changeable)
	}
	for _, path := range []string{".:/bin", "/bin:", ":/bin", "bin:/bin"} {
		if _, changeable := New(is(pol), []string{"PATH=" + path}).Program("sh"); !changeable {
			t.Errorf("PATH=%s depends on the directory", path)
		}
	}
	cd := New(is(pol), []string{"PATH=/bin", "CDPATH=/elsewhere"})
	if _, ok := cd.Cd(at("w"), "sub"); ok {
		t.Error("CDPATH decides where cd goes")
	}
	if _, ok := cd.Cd(at("w"), "./sub"); !ok {
		t.Error("CDPATH does not decide about ./sub")
	}
}

// TestQuestionsNameNothingHidden: what a deletion would reach is told, but for names in a hidden
// place, since the model reads the answer.
func TestQuestionsNameNothingHidden(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open/one", "keys/two"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	session := boundary.NewSession(boundary.Disk{}, boundary.WorkspaceWrite, func(mode string) boundary.Policy {
		return boundary.Policy{Mode: mode, Roots: []string{base}, Cwd: base, SharedTmp: true,
			Rules: []boundary.Rule{{Path: filepath.Join(base, "keys"), Access: boundary.None}}}
	})
	p := New(is(session.Policy(boundary.WorkspaceWrite)), nil)
	for pattern, want := range map[string]string{"open/*": "open/one", "keys/*": "keys/*", "*/*": "*/*", "keys/two": "keys/two"} {
		word := policy.Word{Text: pattern, Known: true, Glob: strings.Contains(pattern, "*")}
		if got := p.Targets(base, []policy.Word{word}); got != filepath.Join(base, want) {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}

// is is a policy that is known already.
func is(pol boundary.Policy) func() boundary.Policy { return func() boundary.Policy { return pol } }
