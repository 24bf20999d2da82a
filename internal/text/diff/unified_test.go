package diff

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tree maps paths to what is there.
type tree map[string]entry

type entry struct {
	Mode uint32
	Data string
}

// between returns the files that differ, as the caller of Unified would.
func between(a, b tree) []File {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var files []File
	for _, p := range slices.Sorted(maps.Keys(all)) {
		x, y := a[p], b[p]
		files = append(files, File{OldPath: p, NewPath: p, OldMode: x.Mode, NewMode: y.Mode, Old: []byte(x.Data),
			New: []byte(y.Data)})
	}
	return files
}

func (tr tree) write(t testing.TB, dir string) {
	for p, e := range tr {
		p = filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		switch e.Mode {
		case 0120000:
			err = os.Symlink(e.Data, p)
		default:
			if err = os.WriteFile(p, []byte(e.Data), 0o600); err == nil {
				err = os.Chmod(p, os.FileMode(e.Mode&0o777))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func readTree(t testing.TB, dir string) tree {
	tr := tree{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{Mode: 0100644}
		if info.Mode()&0o100 != 0 {
			e.Mode = 0100755
		}
		if info.Mode()&os.ModeSymlink != 0 {
			e.Mode = 0120000
			e.Data, err = os.Readlink(p)
		} else {
			var b []byte
			b, err = os.ReadFile(p)
			e.Data = string(b)
		}
		tr[filepath.ToSlash(rel)] = e
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// git runs git without the user's settings.
func git(t testing.TB, dir string, stdin []byte, args ...string) ([]byte, error) {
	needGit(t)
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "diff.indentHeuristic=true"},
		args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "LC_ALL=C")
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return out, err
}

func needGit(t testing.TB) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there to judge")
	}
}

func needUnixNames(t testing.TB) {
	if runtime.GOOS == "windows" {
		t.Skip("file names and modes of this test are not those of Windows")
	}
}

// judge lets git apply the diff of a and b to a, and back again.
func judge(t testing.TB, a tree, files []File, want tree) {
	needGit(t)
	dir := t.TempDir()
	a.write(t, dir)
	patch := Unified(files)
	if len(patch) == 0 {
		if d := cmp.Diff(want, a); d != "" {
			t.Fatalf("no diff, but trees differ:\n%s", d)
		}
		return
	}
	if out, err := git(t, dir, patch, "apply", "--binary", "--whitespace=nowarn", "-"); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
	}
	if d := cmp.Diff(want, readTree(t, dir)); d != "" {
		t.Fatalf("git made something else: -want +got\n%s\n%s", d, patch)
	}
	for _, f := range files {
		if f.Copy {
			return // a copy cannot be taken back by its reverse alone
		}
	}
	if out, err := git(t, dir, patch, "apply", "-R", "--binary", "--whitespace=nowarn", "-"); err != nil {
		t.Fatalf("git apply -R: %v\n%s\n%s", err, out, patch)
	}
	if d := cmp.Diff(a, readTree(t, dir)); d != "" {
		t.Fatalf("git took back something else: -want +got\n%s\n%s", d, patch)
	}
}

const long = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"

func TestGitAppliesUnified(t *testing.T) {
	needUnixNames(t)
	file := func(data string) entry { return entry{0100644, data} }
	for name, c := range map[string][2]tree{
		"modify":           {{"f": file(long)}, {"f": file(strings.Replace(long, "10\n", "ten\n", 1))}},
		"create":           {{}, {"d/e/f": file("a\nb\n")}},
		"create empty":     {{}, {"f": file("")}},
		"delete":           {{"f": file("a\n")}, {}},
		"delete empty":     {{"f": file("")}, {}},
		"empty a file":     {{"f": file("a\nb\n")}, {"f": file("")}},
		"fill a file":      {{"f": file("")}, {"f": file("a\nb")}},
		"lose newline":     {{"f": file("a\nb\n")}, {"f": file("a\nb")}},
		"gain newline":     {{"f": file("a\nb")}, {"f": file("a\nb\n")}},
		"open end context": {{"f": file("a\nb\nc")}, {"f": file("x\nb\nc")}},
		"crlf":             {{"f": file("a\r\nb\r\n")}, {"f": file("a\r\nb\n")}},
		"binary":           {{"f": file("a\x00b")}, {"f": file("a\x00c" + strings.Repeat("xyz\x00", 999))}},
		"binary create":    {{}, {"f": file("\x00")}},
		"binary delete":    {{"f": file("\x00\x01")}, {}},
		"binary to text":   {{"f": file("\x00\x01")}, {"f": file("text\n")}},
		"binary to empty":  {{"f": file("\x00\x01")}, {"f": file("")}},
		"latin1":           {{"f": file("caf\xe9\n")}, {"f": file("caf\xe8\n")}},
		"chmod":            {{"f": file("a\n")}, {"f": {0100755, "a\n"}}},
		"chmod and modify": {{"f": file("a\n")}, {"f": {0100755, "b\n"}}},
		"chmod empty":      {{"f": file("")}, {"f": {0100755, ""}}},
		"create program":   {{}, {"f": {0100755, "b\n"}}},
		"link":             {{}, {"l": {0120000, "to/where"}}},
		"link retargeted":  {{"l": {0120000, "x"}}, {"l": {0120000, "y"}}},
		"file to link":     {{"f": file("a\n")}, {"f": {0120000, "a"}}},
		"link to file":     {{"f": {0120000, "a"}}, {"f": {0100755, "a\n"}}},
		"spaces":           {{"a b/c d": file("1\n")}, {"a b/c d": file("2\n")}},
		"space at end":     {{"f ": file("1\n")}, {"f ": file("2\n")}},
		"space create":     {{}, {"a b": file("2\n"), "c d": file("")}},
		"odd names":        {{"é\t\"\\\n": file("1\n")}, {"é\t\"\\\n": file("2\n"), "-x": file("y\n"), "\xff b": file("y\n")}},
		"looks like diff":  {{"f": file("-- a/x\n++ b/x\n@@ -1 +1 @@\n")}, {"f": file("-- a/y\n++ b/y\ndiff --git a/x b/x\n")}},
		"file to dir":      {{"d": file("1\n")}, {"d/f": file("2\n")}},
		"dir to file":      {{"d/f": file("1\n")}, {"d": file("2\n")}},
		"nul late":         {{"f": file(strings.Repeat("a\n", 9000) + "\x00")}, {"f": file(strings.Repeat("a\n", 9001) + "\x00")}},
	} {
		t.Run(name, func(t *testing.T) { judge(t, c[0], between(c[0], c[1]), c[1]) })
	}
}

func TestGitAppliesRenames(t *testing.T) {
	needUnixNames(t)
	moved := strings.Replace(long, "10\n", "ten\n", 1)
	file := func(data string) entry { return entry{0100644, data} }
	for name, c := range map[string]struct {
		a, b tree
		f    File
	}{
		"pure":       {tree{"a": file(long)}, tree{"d/b c": file(long)}, File{OldPath: "a", NewPath: "d/b c"}},
		"pure empty": {tree{"a": file("")}, tree{"b": file("")}, File{OldPath: "a", NewPath: "b"}},
		"edited":     {tree{"a b": file(long)}, tree{"é": file(moved)}, File{OldPath: "a b", NewPath: "é"}},
		"mode":       {tree{"a": file(long)}, tree{"b": {0100755, moved}}, File{OldPath: "a", NewPath: "b"}},
		"link":       {tree{"a": {0120000, "x"}}, tree{"b": {0120000, "x"}}, File{OldPath: "a", NewPath: "b"}},
		"binary":     {tree{"a": file("\x00" + long)}, tree{"b": file("\x00" + moved)}, File{OldPath: "a", NewPath: "b"}},
		"unlike":     {tree{"a": file(long)}, tree{"b": file("other\n")}, File{OldPath: "a", NewPath: "b"}},
		"copy":       {tree{"a": file(long)}, tree{"a": file(long), "b": file(moved)}, File{OldPath: "a", NewPath: "b", Copy: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.f
			x, y := c.a[f.OldPath], c.b[f.NewPath]
			f.OldMode, f.NewMode, f.Old, f.New = x.Mode, y.Mode, []byte(x.Data), []byte(y.Data)
			judge(t, c.a, []File{f}, c.b)
		})
	}
}

func TestGitAppliesRandomTrees(t *testing.T) {
	needUnixNames(t)
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.Custom(func(t *rapid.T) string {
			return string(someLines("abc\n\n\n\n\n\r\t ").Draw(t, "text")) +
				rapid.SampledFrom([]string{"", "", "", "\x00", "\xff"}).Draw(t, "tail")
		})
		trees := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b b", "d/c", "d/é", "x\ty"}),
			rapid.Custom(func(t *rapid.T) entry {
				mode := rapid.SampledFrom([]uint32{0100644, 0100755, 0120000}).Draw(t, "mode")
				if mode == 0120000 {
					return entry{mode, rapid.StringMatching("[a-z/.]{1,9}").Draw(t, "target")}
				}
				return entry{mode, data.Draw(t, "data")}
			}), 0, 5)
		a, b := tree(trees.Draw(rt, "a")), tree(trees.Draw(rt, "b"))
		judge(t, a, between(a, b), b)
	})
}

// TestUnifiedIsGits compares every byte with git's own diff where there is only
// one good answer.
func TestUnifiedIsGits(t *testing.T) {
	needUnixNames(t)
	a := tree{
		"mod.go":  {0100644, "package x\n\nfunc One() {\n\ta\n\tb\n\tc\n\td\n\te\n\tf\n}\n\nfunc Two() {\n\tg\n}\n"},
		"gone":    {0100644, "1\n2\n"},
		"mode":    {0100644, "1\n"},
		"é \"q\"": {0100644, "1"},
		"two":     {0100644, long},
		"empty":   {0100644, ""},
	}
	b := tree{
		"mod.go":  {0100644, "package x\n\nfunc One() {\n\ta\n\tb\n\tc\n\td\n\te\n\tF\n}\n\nfunc Two() {\n\tg\n\th\n}\n"},
		"new":     {0100755, "x\n"},
		"new too": {0100644, ""},
		"mode":    {0100755, "2\n"},
		"é \"q\"": {0100644, "1\n"},
		"two":     {0100644, strings.Replace(strings.Replace(long, "2\n", "two\n", 1), "19\n", "", 1)},
		"link":    {0120000, "mod.go"},
	}
	dir := t.TempDir()
	run := func(args ...string) []byte {
		out, err := git(t, dir, nil, args...)
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("init", "-q")
	a.write(t, dir)
	run("add", "-A")
	base := strings.TrimSpace(string(run("write-tree")))
	for p := range a {
		os.Remove(filepath.Join(dir, p))
	}
	b.write(t, dir)
	run("add", "-A")
	want := run("diff", "--cached", base, "--binary", "--full-index", "--no-renames", "--no-color")
	got := Unified(between(a, b))
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("-git +ours\n%s", d)
	}
}

func TestUnifiedLeavesOutWhatDidNotChange(t *testing.T) {
	got := Unified([]File{
		{},
		{OldPath: "a", NewPath: "a", OldMode: 0100644, NewMode: 0100644, Old: []byte("x"), New: []byte("x")},
	})
	if len(got) != 0 {
		t.Errorf("got %s", got)
	}
}

func TestUnifiedOpaque(t *testing.T) {
	got := Unified([]File{{OldPath: "a", NewPath: "b", OldMode: 0100644, NewMode: 0100644, Opaque: true}})
	want := "diff --git a/a b/b\nrename from a\nrename to b\nBinary files a/a and b/b differ\n"
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestManyHunks(t *testing.T) {
	var a, b bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&a, "line %d\n", i)
		if i%17 == 0 {
			fmt.Fprintf(&b, "new %d\n", i)
		}
		if i%13 != 0 {
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	x, y := tree{"f": {0100644, a.String()}}, tree{"f": {0100644, b.String()}}
	judge(t, x, between(x, y), y)
}
