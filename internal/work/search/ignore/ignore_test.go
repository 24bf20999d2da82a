package ignore

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		rules, path string
		dir         bool
		want        Verdict
	}{
		{"*.log", "a/b.log", false, Exclude},
		{"*.log\n!keep.log", "keep.log", false, Keep},
		{"/a", "b/a", false, Silent},
		{"a/b", "x/a/b", false, Silent},
		{"build/", "build", false, Silent},
		{"build/", "x/build", true, Exclude},
		{"**/c", "a/b/c", false, Exclude},
		{"a/**/c", "a/c", false, Exclude},
		{"a/**", "a", true, Silent},
		{"a/**", "a/b", false, Exclude},
		{"a*/c", "ab/d/c", false, Silent},
		{`\#x`, "#x", false, Exclude},
		{"#x", "#x", false, Silent},
		{`a\ `, "a ", false, Exclude},
		{"a  ", "a", false, Exclude},
		{"x\r\ny\r\n", "x", false, Exclude},
		{"\xef\xbb\xbfx", "x", false, Exclude},
		{"[a-c]x", "bx", false, Exclude},
		{"[!a-c]x", "bx", false, Silent},
		{"[[:digit:]]", "5", false, Exclude},
		{"[a", "a", false, Silent},
		{`a\`, "a", false, Silent},
		{"/", "a", true, Silent},
		{"!", "a", false, Silent},
	} {
		if got := Parse([]byte(c.rules)).Match(c.path, c.dir); got != c.want {
			t.Errorf("%q on %q (dir %t): got %d, want %d", c.rules, c.path, c.dir, got, c.want)
		}
	}
}

func TestHostileGlobEnds(t *testing.T) {
	start := time.Now()
	glob := strings.Repeat("*a", 200) + "b"
	if Wild(glob, strings.Repeat("a", 2000), false) {
		t.Error("matched")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestGitAgrees lets git judge random rules over a random tree.
func TestGitAgrees(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "c", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[a-c]", `\a`,
		"x.c", "*.c", "[[:alpha:]]"})
	line := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
		s = rapid.SampledFrom([]string{"", "", "", "!", "/"}).Draw(t, "head") + s
		return s + rapid.SampledFrom([]string{"", "", "", "/", " ", "\r"}).Draw(t, "tail")
	})
	file := rapid.Map(rapid.SliceOfN(line, 0, 5), func(l []string) string { return strings.Join(l, "\n") })
	dir := t.TempDir()
	run(t, git, dir, "", "init", "-q")
	rapid.Check(t, func(r *rapid.T) {
		dirs := []string{"", "a", "ab", "a/b", "a/c", "b", "b/a"}
		for _, d := range dirs {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		sets := map[string]string{}
		for _, d := range []string{"", "a", "a/b", "b"} {
			sets[d] = file.Draw(r, "rules of "+d)
			write(t, filepath.Join(dir, d, ".gitignore"), sets[d])
		}
		info := file.Draw(r, "info")
		write(t, filepath.Join(dir, ".git/info/exclude"), info)

		var paths []string
		want := map[string]bool{}
		got := map[string]bool{}
		var walk func(rel string, l *Level, out bool)
		walk = func(rel string, l *Level, out bool) {
			f := Files{Git: Parse([]byte(sets[rel]))}
			if rel == "" {
				f.Info, f.Repo = Parse([]byte(info)), true
			}
			l = l.Enter(rel, f)
			for _, name := range []string{"a", "b", "ab", "c", "x.c", "abc"} {
				p := path.Join(rel, name)
				isDir := strings.Contains(" "+strings.Join(dirs, " ")+" ", " "+p+" ")
				paths = append(paths, p)
				got[p] = out || l.Excluded(p, isDir)
				if isDir {
					walk(p, l, got[p])
				}
			}
		}
		walk("", nil, false)
		cmd := exec.Command(git, "check-ignore", "--no-index", "-z", "--stdin")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
		out, _ := cmd.Output() // exit code 1 means none is ignored
		for _, p := range paths {
			want[p] = false
		}
		for _, p := range bytes.Split(out, []byte{0}) {
			if len(p) > 0 {
				want[string(p)] = true
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			r.Fatalf("git differs (-git +ours):\n%s\nrules %q\ninfo %q", d, sets, info)
		}
	})
}

func run(t *testing.T, name, dir, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("%s %q: %w\n%s", name, args, err, out))
	}
	return string(out)
}

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}
