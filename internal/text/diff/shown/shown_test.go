package shown

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/diff"
)

// TestStatsEqualGit holds counts and names against git's own, on random files.
func TestStatsEqualGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	quotePath := "true"
	git := func(dir string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "core.quotepath=" + quotePath}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	names := []string{"a", "b c", "ü", `q"r`, `ü"x`, "d/very/long/path/to/some/file/with/a/name", "long-name-in-no-directory-at-all-that-goes-on"}
	rows := []string{"a\n", "b\n", "c\td\n", "-e\n", "+f\n"}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(17, seed))
		dir := t.TempDir()
		git(dir, "init", "-q")
		for round := range 2 {
			for _, i := range random.Perm(len(names))[:1+random.IntN(len(names)-1)] {
				var text strings.Builder
				for range random.IntN(60) {
					text.WriteString(rows[random.IntN(len(rows))])
				}
				path := filepath.Join(dir, names[i])
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if round == 0 {
				git(dir, "add", "-A")
			}
		}
		git(dir, "add", "-N", ".")
		d := git(dir, "diff", "--no-ext-diff")
		for _, quoting := range []Quoting{Octal, Letters} {
			quotePath = strconv.FormatBool(quoting == Octal)
			if got, want := Names(d, quoting), git(dir, "diff", "--name-only"); got != want {
				t.Errorf("%d: names: got %q, want %q", seed, got, want)
			}
			for _, columns := range []int{40, 60, 80, 120} {
				got, want := Stats(d, columns, false, quoting), git(dir, "diff", "--stat="+strconv.Itoa(columns))
				if got != want {
					t.Errorf("%d, %d columns:\n%swant\n%s", seed, columns, got, want)
				}
			}
		}
	}
}

// TestWordsKeepTheText: without the marks, a diff by words has the old text and the new one.
func TestWordsKeepTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab _.\t\n")))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		got := words(a, b, true)
		strip := func(open, end, other string) string {
			s := got
			for {
				i := strings.Index(s, other)
				if i < 0 {
					break
				}
				j := strings.Index(s[i:], plain)
				s = s[:i] + s[i+j+len(plain):]
			}
			return strings.ReplaceAll(strings.ReplaceAll(s, open, ""), end+plain, "")
		}
		if old := strip(red+"[-", "-]", green); strings.ReplaceAll(old, "\n", "") != strings.ReplaceAll(a, "\n", "") {
			t.Fatalf("old: got %q, want %q from %q", old, a, got)
		}
		if new := strip(green+"{+", "+}", red); strings.ReplaceAll(new, "\n", "") != strings.ReplaceAll(b, "\n", "") {
			t.Fatalf("new: got %q, want %q from %q", new, b, got)
		}
	})
}

func TestTerminal(t *testing.T) {
	d := diff.Unified([]diff.File{{OldPath: "a", NewPath: "a", OldMode: 0o100644, NewMode: 0o100644, Old: []byte("x\ty\n"), New: []byte("x\tz\x1b[2J\n")}})
	got := Terminal(string(d), true)
	for _, want := range []string{red + "-x\ty" + plain, green + "+x\tz<U+001B>[2J" + plain, cyan + "@@ -1 +1 @@" + plain, bold + "diff --git a/a b/a" + plain} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got, want := Words(string(d), false), "x\t[-y-]{+z<U+001B>[2J+}\n"; !strings.HasSuffix(got, want) {
		t.Errorf("words: got %q, want the end %q", got, want)
	}
	for path, want := range map[string]string{"ü.txt": "ü.txt", "a b": "a b", "a\tb": `"a\tb"`, `a"b`: `"a\"b"`, "a\x1b": `"a\033"`, "ü\"\u202e": `"ü\"\342\200\256"`} {
		if got := Name(path, Letters); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}

// TestSections: the sections of the files are the diff, in its order, whatever the files
// hold; one with a million lines takes no longer than its length.
func TestSections(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) []byte {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "diff --git a/x b/x", "@@ -1 +1 @@", "--- a/x", "+++ b/x", "", "\x00"}), 0, 12).Draw(t, "lines")
		s := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "ended") {
			s += "\n"
		}
		return []byte(s)
	})
	check := func(t interface{ Fatalf(string, ...any) }, files []diff.File) {
		all := string(diff.Unified(files))
		var joined strings.Builder
		for _, f := range Files(all) {
			if !strings.HasPrefix(f.Section, "diff --git ") {
				t.Fatalf("a section begins with %q", f.Section[:min(40, len(f.Section))])
			}
			joined.WriteString(f.Section)
		}
		if joined.String() != all {
			t.Fatalf("%d bytes of sections for a diff of %d", joined.Len(), len(all))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var files []diff.File
		for i := range rapid.IntRange(0, 4).Draw(t, "files") {
			name := "f" + strconv.Itoa(i)
			files = append(files, diff.File{OldPath: name, NewPath: name, OldMode: 0o100644, NewMode: 0o100644,
				Old: text.Draw(t, "old"), New: text.Draw(t, "new")})
		}
		check(t, files)
	})
	check(t, []diff.File{{OldPath: "f", NewPath: "f", NewMode: 0o100644, New: []byte(strings.Repeat("x\n", 1_000_000))}})
	if got := Files("diff --git a/x b/x\nnew file mode 100644"); len(got) != 1 || got[0].Section != "diff --git a/x b/x\nnew file mode 100644\n" {
		t.Errorf("a diff without its last line feed: %+v", got)
	}
}
