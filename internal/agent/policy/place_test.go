package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// drawn is a place on paper: /w/gone cannot be gone to, /l is a link to /w, and each directory below
// /w is in the repository /w, that is also called /l.
type drawn struct{ words }

func (drawn) Real(dir string) (string, bool) {
	if rest, ok := strings.CutPrefix(dir, "/l"); ok {
		dir = "/w" + rest
	}
	return dir, !strings.Contains(dir, "gone")
}

func (d drawn) Cd(dir, to string) (string, bool) {
	if strings.Contains(to, "gone") {
		return "", false
	}
	return d.words.Cd(dir, to)
}

func (drawn) Repo(dir string) string {
	if strings.HasPrefix(dir, "/w") {
		return "/l"
	}
	return ""
}

// TestDirs: in which directories each command of a line may run; ? is anywhere.
func TestDirs(t *testing.T) {
	for line, want := range map[string]string{
		"ls":                      "/w",
		"ls; cat x":               "/w /w",
		"cd a && ls":              "/w /w/a",
		"cd a; ls":                "/w /w/a,/w",
		"cd a || ls":              "/w /w",
		"cd a || cd b && ls":      "/w /w /w/a,/w/b",
		"cd a && cd .. && ls":     "/w /w/a /w",
		"cd /x && ls":             "/w /x",
		"cd a | ls; cat x":        "/w /w /w",
		"cd gone && ls":           "/w ?",
		"cd gone; ls":             "/w ?",
		"cd gone || ls":           "/w /w",
		"cd a && cd gone; ls":     "/w /w/a ?",
		"cd - && ls":              "/w ?",
		"cd && ls":                "/w ?",
		"cd a b && ls":            "/w ?",
		"cd '' && ls":             "/w ?",
		"pushd a && ls":           "/w ?",
		"popd; ls":                "/w ?",
		"ls && cd a":              "/w /w",
		"ls || cd a; cat x":       "/w /w /w,/w/a",
		"cd a && ls || cat x":     "/w /w/a /w,/w/a",
		"sudo ls":                 "/w ?",
		"env ls":                  "/w /w",
		"env -C a ls":             "/w ?",
		"env -Ca ls":              "/w ?",
		"env --chdir=a ls":        "/w ?",
		"find . -execdir ls {} ;": "/w ?",
		"find . -exec ls x ;":     "/w /w",
		"cd a && env ls":          "? ? ?",
		"cd a && $X":              "? ?",
	} {
		p := Parse(line)
		var got []string
		for _, dirs := range p.Dirs(Command{Line: line, Dir: "/w", Place: drawn{}}) {
			if dirs == nil {
				dirs = []string{"?"}
			}
			got = append(got, strings.Join(dirs, ","))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s runs in %s, not %s", line, s, want)
		}
	}
	if got := union(nil, []string{"/w"}); got != nil {
		t.Errorf("anywhere and /w is %v", got)
	}
	if got := union([]string{"/w"}, nil); got != nil {
		t.Errorf("/w and anywhere is %v", got)
	}
	var many []string
	for i := range maxDirs {
		many = append(many, fmt.Sprint("/", i))
	}
	if got := union(many, many[:1]); !slices.Equal(got, many) {
		t.Errorf("%d directories are anywhere", maxDirs)
	}
	if got := union(many, []string{"/more"}); got != nil {
		t.Errorf("more than %d directories are %d", maxDirs, len(got))
	}
}

// TestRulesHoldInTheirPlace: a rule with a place holds there, by whatever name, and may hold where a
// command is in one of several places.
func TestRulesHoldInTheirPlace(t *testing.T) {
	for _, c := range []struct {
		in, repo string
		dirs     []string
		want     holds
	}{
		{"", "", nil, yes}, {"/w", "", nil, maybe}, {"/w", "", []string{"/w"}, yes}, {"/w", "", []string{"/w/a"}, yes},
		{"/w", "", []string{"/x"}, no}, {"/w", "", []string{"/w", "/x"}, maybe}, {"/l", "", []string{"/w/a"}, yes},
		{"/w", "", []string{"/l/a"}, yes}, {"/w", "", []string{"/w/gone"}, no}, {"/wx", "", []string{"/w"}, no},
		{"", "/w", []string{"/w/a"}, yes}, {"", "/l", []string{"/w/a"}, yes}, {"", "/l", []string{"/l"}, yes}, {"", "/x", []string{"/w"}, no},
		{"", "/w", []string{"/x"}, no}, {"/w/a", "/w", []string{"/w"}, no}, {"/w/a", "/w", []string{"/w/a/b"}, yes},
		{"/x/gone", "", []string{"/x"}, no}, {"", "/x/gone", []string{"/x"}, no},
	} {
		got := Rule{In: c.in, Repo: c.repo}.within(Command{Dir: "/w", Place: drawn{}}, c.dirs)
		if got != c.want {
			t.Errorf("in %q of %q, run in %v: %v, not %v", c.in, c.repo, c.dirs, got, c.want)
		}
	}
	by := Command{Dir: "/w", Repo: "/w"} // by its words alone
	if got := (Rule{Repo: "/w"}).within(by, []string{filepath.Clean("/w")}); got != yes {
		t.Errorf("in its own repository: %v", got)
	}
}

// TestPrefix: which rule may be offered for a command, and for which there is none.
func TestPrefix(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./...": "go test", "cargo build": "cargo build", "go run .": "", "go": "", "go -C x build": "", "go tool x": "", "cargo install x": "",
		"go env": "", "frob a b": "frob a b !", "frob": "frob !", "./frob a": "", "bin/frob": "", `a\b`: "", "-x": "", "rm x": "", "git status": "",
		"frob 1 2 3 4 5 6 7": "frob 1 2 3 4 5 6 7 !", "frob 1 2 3 4 5 6 7 8": "", "python3 x": "", "bash x": "", "env x": "", "": "",
		"pytest -q": "pytest -q !", "dotnet build": "dotnet build",
	} {
		prefix, whole := Prefix(strings.Fields(line))
		got := strings.Join(prefix, " ")
		if whole {
			got += " !"
		}
		if got != want {
			t.Errorf("%q: %q, not %q", line, got, want)
		}
	}
}

// TestAStartedProgramThatNobodyKnowsIsOdd: what stands for further words may be the program.
func TestAStartedProgramThatNobodyKnowsIsOdd(t *testing.T) {
	for line, want := range map[string]bool{"find . -exec {} x ;": false, "xargs -I % % x": false, "xargs ls": true, "env ls": true} {
		if got := Parse(line).Plain(); got != want {
			t.Errorf("%s is plain: %v", line, got)
		}
	}
}
