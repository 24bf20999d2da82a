package patch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
)

func file(s string) *delta.Image { return delta.NewFile([]byte(s), 0o644) }

func envelope(body string) string { return "*** Begin Patch\n" + body + "*** End Patch\n" }

// contents is a tree by content; links begin with "-> ".
func (tr tree) contents() map[string]string {
	out := map[string]string{}
	for p, i := range tr {
		out[p] = string(i.Data)
		if i.Kind == delta.Symlink {
			out[p] = "-> " + string(i.Data)
		}
	}
	return out
}

func TestPlan(t *testing.T) {
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	tests := []struct {
		name  string
		tree  tree
		patch string
		opt   patch.PlanOptions
		want  map[string]string
	}{
		{"move onto itself keeps the file", tree{"a": file("x\n")},
			envelope("*** Update File: a\n*** Move to: ./a\n@@\n-x\n+y\n"), patch.PlanOptions{}, map[string]string{"a": "y\n"}},
		{"move of a move", tree{"a": file("x\n")},
			envelope("*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** Update File: b\n*** Move to: c\n@@\n-y\n+z\n"),
			patch.PlanOptions{}, map[string]string{"c": "z\n"}},
		{"later operations see earlier ones", tree{},
			envelope("*** Add File: a\n+1\n*** Update File: a\n@@\n-1\n+2\n"), patch.PlanOptions{},
			map[string]string{"a": "2\n"}},
		{"update through a link changes the target", tree{"d/l": delta.NewSymlink("../t"), "t": file("x\n")},
			envelope("*** Update File: d/l\n@@\n-x\n+y\n"), patch.PlanOptions{},
			map[string]string{"d/l": "-> ../t", "t": "y\n"}},
		{"move of a link takes the link away", tree{"l": delta.NewSymlink("t"), "t": file("x\n")},
			envelope("*** Update File: l\n*** Move to: n\n@@\n-x\n+y\n"), patch.PlanOptions{},
			map[string]string{"t": "x\n", "n": "y\n"}},
		{"stacked contexts", tree{"f": file("class A:\n def f\n  x\nclass B:\n def f\n  x\n")},
			envelope("*** Update File: f\n@@ class B:\n@@  def f\n-  x\n+  y\n"), patch.PlanOptions{},
			map[string]string{"f": "class A:\n def f\n  x\nclass B:\n def f\n  y\n"}},
		{"a fence around it", tree{},
			"Here it is:\n```\n" + envelope("*** Add File: a\n+x\n") + "```\n", patch.PlanOptions{},
			map[string]string{"a": "x\n"}},
		{"environment line and byte order mark", tree{},
			"\ufeff*** Begin Patch\n*** Environment ID: e1\n*** Add File: a\n+x\n*** End Patch", patch.PlanOptions{},
			map[string]string{"a": "x\n"}},
		{"a here document of a command", tree{},
			"apply_patch <<'PATCH'\n" + envelope("*** Add File: a\n+x\n") + "PATCH\n", patch.PlanOptions{},
			map[string]string{"a": "x\n"}},
		{"the mark of a file stays first", tree{"f": file("\ufeffa\nb\n")},
			envelope("*** Update File: f\n@@\n+new\n a\n"), patch.PlanOptions{}, map[string]string{"f": "\ufeffnew\na\nb\n"}},
		{"loose context keeps the file's text", tree{"f": file("\tif x  {\n\t\told()\n\t}\n")},
			envelope("*** Update File: f\n@@\n if x  {\n-  old()\n+\t\tnew()\n }\n"), patch.PlanOptions{},
			map[string]string{"f": "\tif x  {\n\t\tnew()\n\t}\n"}},
		{"mixed line ends stay", tree{"f": file("a\r\nb\nc\r\nd")},
			envelope("*** Update File: f\n@@\n b\n-c\n+C\n"), patch.PlanOptions{}, map[string]string{"f": "a\r\nb\nC\r\nd\r\n"}},
		{"a trailing blank line is forgiven", tree{"f": file("a\nb")},
			envelope("*** Update File: f\n@@\n-b\n+B\n\n"), patch.PlanOptions{}, map[string]string{"f": "a\nB\n"}},
		{"a name that begins with a space, if there is such a file", tree{" f": file("a\n"), "f": file("a\n")},
			envelope("*** Update File:  f\n@@\n-a\n+b\n*** Delete File: f\n"), patch.PlanOptions{},
			map[string]string{" f": "b\n"}},
		{"a space too many before a name", tree{"f": file("a\n")},
			envelope("*** Update File:  f\n@@\n-a\n+b\n"), patch.PlanOptions{}, map[string]string{"f": "b\n"}},
		{"two carriage returns at a line's end", tree{"f": file("a\r\r\nb\r\r\n")},
			envelope("*** Update File: f\n@@\n-b\r\r\n+B\r\r\n*** Add File: n\n+x\r\r\n"), patch.PlanOptions{},
			map[string]string{"f": "a\r\r\nB\r\r\n", "n": "x\r\r\n"}},
		{"two carriage returns in a patch that has one", tree{},
			strings.ReplaceAll(envelope("*** Add File: n\n+x\r\n"), "\n", "\r\n"), patch.PlanOptions{},
			map[string]string{"n": "x\r\n"}},
		{"talk behind the end", tree{}, envelope("*** Add File: a\n+x\n") + "That is all.\n*** done ***\n",
			patch.PlanOptions{}, map[string]string{"a": "x\n"}},
		{"all lines removed", tree{"f": file("a\n")},
			envelope("*** Update File: f\n@@\n-a\n"), patch.PlanOptions{}, map[string]string{"f": ""}},

		{"two files change places", tree{"a": file("A\n"), "b": file("B\n")},
			"diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/a\nrename from b\nrename to a\n",
			patch.PlanOptions{}, map[string]string{"a": "B\n", "b": "A\n"}},
		{"a file becomes a link", tree{"a": file("A\n")},
			"diff --git a/a b/a\ndeleted file mode 100644\nindex 1..0\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-A\n" +
				"diff --git a/a b/a\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+t\n" +
				"\\ No newline at end of file\n",
			patch.PlanOptions{}, map[string]string{"a": "-> t"}},
		{"names without prefix", tree{"d/f": file("x\n")},
			"--- d/f\n+++ d/f\n@@ -1 +1 @@\n-x\n+y\n", patch.PlanOptions{}, map[string]string{"d/f": "y\n"}},
		{"a new file without prefix", tree{},
			"--- /dev/null\n+++ src/f\n@@ -0,0 +1 @@\n+y\n", patch.PlanOptions{}, map[string]string{"src/f": "y\n"}},
		{"a git diff without prefix", tree{},
			"diff --git src/f src/f\nnew file mode 100644\n--- /dev/null\n+++ src/f\n@@ -0,0 +1 @@\n+y\n", patch.PlanOptions{},
			map[string]string{"src/f": "y\n"}},
		{"two components stripped", tree{"f": file("x\n")},
			"--- a/b/f\n+++ a/b/f\n@@ -1 +1 @@\n-x\n+y\n", patch.PlanOptions{Strip: 2}, map[string]string{"f": "y\n"}},
		{"none stripped", tree{"a/f": file("x\n")},
			"--- a/f\n+++ a/f\n@@ -1 +1 @@\n-x\n+y\n", patch.PlanOptions{Strip: -1}, map[string]string{"a/f": "y\n"}},
		{"a backup as the old name", tree{"f": file("x\n")},
			"--- f.orig\t2026-01-01 00:00:00\n+++ f\t2026-01-01 00:00:00\n@@ -1 +1 @@\n-x\n+y\n", patch.PlanOptions{},
			map[string]string{"f": "y\n"}},
		{"a file without prefix and with a time", tree{"with space": file("x\n")},
			"--- with space 2026-01-01 00:00:00.1 +0000\n+++ with space 2026-01-01 00:00:00.1 +0000\n@@ -1 +1 @@\n-x\n+y\n",
			patch.PlanOptions{}, map[string]string{"with space": "y\n"}},
		{"terminal colours", tree{"f": file("x\n")},
			"\x1b[1mdiff --git a/f b/f\x1b[m\n\x1b[1m--- a/f\x1b[m\n\x1b[1m+++ b/f\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n" +
				"\x1b[31m-x\x1b[m\n\x1b[32m+\x1b[m\x1b[32my\x1b[m\n", patch.PlanOptions{}, map[string]string{"f": "y\n"}},
		{"a miscounted hunk before another", tree{"f": file(numbers)},
			"--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-1\n+one\n 2\n 3\n@@ -7,3 +7,9 @@\n 7\n 8\n-9\n+nine\n", patch.PlanOptions{},
			map[string]string{"f": "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"}},
		{"more lines than counted", tree{"f": file(numbers)},
			"--- a/f\n+++ b/f\n@@ -4,2 +4,2 @@\n 4\n-5\n+five\n 6\n+more\n 7\n```\n", patch.PlanOptions{},
			map[string]string{"f": "1\n2\n3\n4\nfive\n6\nmore\n7\n8\n9\n"}},
		{"no last line feed in the patch", tree{"f": file("x\n")},
			"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y", patch.PlanOptions{}, map[string]string{"f": "y\n"}},
		{"fuzz", tree{"f": file("0\n1\n2\nX\n4\n5\n6\n7\n")},
			"--- a/f\n+++ b/f\n@@ -3,4 +3,4 @@\n 3\n-4\n+four\n 5\n 6\n", patch.PlanOptions{Fuzz: 2},
			map[string]string{"f": "0\n1\n2\nX\nfour\n5\n6\n7\n"}},
		{"in reverse", tree{"g": file("y\n"), "n": file("n\n")},
			"diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/n b/n\n" +
				"new file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n",
			patch.PlanOptions{Reverse: true}, map[string]string{"f": "x\n"}},
		{"a whole patch with CRLF", tree{"f": file("x\nz\n")},
			"--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n-x\r\n+y\r\n z\r\n", patch.PlanOptions{},
			map[string]string{"f": "y\nz\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.tree.plan(t, []byte(tt.patch), nil, tt.opt)
			if d := cmp.Diff(tt.want, got.contents()); d != "" || err != nil {
				t.Errorf("error %v\n%s\n%s", err, tt.patch, d)
			}
		})
	}
}

// TestRefusals holds what a refusal says, and that it comes with its place.
func TestRefusals(t *testing.T) {
	py := "import os\n\ndef first():\n    return one\n\ndef second():\n    return two\n"
	tests := []struct {
		name  string
		tree  tree
		patch string
		opt   patch.PlanOptions
		want  patch.Error
	}{
		{"lines that are not there", tree{"f.py": file(py)},
			envelope("*** Update File: f.py\n@@\n-import os\n+import re\n@@\n def second(x):\n-    return 2\n+    return 3\n"),
			patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 2, Line: 6,
				Message: "the lines are not in the file:\n  def second(x):\n      return 2\nthe nearest text is at lines 6-7:\n" +
					"     6| def second():\n     7|     return two\ncopy the lines of the hunk from it as they are"}},
		{"hunks in the wrong order", tree{"f.py": file(py)},
			envelope("*** Update File: f.py\n@@\n-    return two\n+    return 2\n@@\n-import os\n+import re\n"),
			patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 2, Line: 6,
				Message: "the lines stand at line 1, before the previous hunk ends (line 7); put the hunks in the order of the " +
					"file"}},
		{"a hunk that is done already", tree{"f.py": file(py)},
			envelope("*** Update File: f.py\n@@ def first():\n-    return 1\n+    return one\n"), patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 1, Line: 3,
				Message: "the lines are not in the file, but the new ones are already at lines 4-4; leave out the hunk if " +
					"nothing else is missing"}},
		{"not at the end", tree{"f.py": file(py)},
			envelope("*** Update File: f.py\n@@\n-import os\n+import re\n*** End of File\n"), patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 1, Line: 3,
				Message: "the lines stand at line 1, not at the end of the file (7 lines); leave out '*** End of File'"}},
		{"line numbers in an envelope", tree{"f.py": file(py)},
			envelope("*** Update File: f.py\n@@ -1,1 +1,1 @@\n-import os\n+import re\n"), patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 1, Line: 3,
				Message: "this format has no line numbers: instead of '@@ -1,1 +1,1 @@' write @@ alone, or @@ and a line of the " +
					"file"}},
		{"no such file", tree{},
			envelope("*** Update File: nope\n@@\n-a\n+b\n"), patch.PlanOptions{},
			patch.Error{Path: "nope", Line: 2, Message: "there is no such file to update; check the path, or create the file " +
				"with '*** Add File: nope'"}},
		{"a file that is not UTF-8", tree{"f": file("caf\xe9\n")},
			envelope("*** Update File: f\n@@\n+b\n"), patch.PlanOptions{},
			patch.Error{Path: "f", Line: 2, Message: "the file is not UTF-8 text; hunks of this format apply to UTF-8 only, " +
				"so change it with another tool"}},
		{"a file where a directory must be", tree{"a": file("x\n")},
			envelope("*** Add File: a/b\n+x\n"), patch.PlanOptions{},
			patch.Error{Path: "a/b", Message: "a is a file, not a directory; choose another path or remove it first"}},
		{"an operation behind the end", tree{},
			envelope("*** Add File: a\n+x\n") + "*** Add File: b\n+y\n", patch.PlanOptions{},
			patch.Error{Line: 5, Message: "'*** Add File: b' stands after '*** End Patch' and would be left out; move " +
				"'*** End Patch' behind the last operation"}},
		{"two patches", tree{},
			envelope("*** Add File: a\n+x\n") + envelope("*** Add File: b\n+y\n"), patch.PlanOptions{},
			patch.Error{Line: 4, Message: "the patch ends here, but more follows; write one '*** End Patch', behind the last " +
				"operation"}},
		{"a here document for another directory", tree{},
			"cd sub && apply_patch <<'EOF'\n" + envelope("*** Add File: a\n+x\n") + "EOF\n", patch.PlanOptions{},
			patch.Error{Line: 1, Message: "the patch is for another directory: 'cd sub && apply_patch'; leave the command out " +
				"and write the paths from this one"}},
		{"a directory in place of a file", tree{},
			"--- a/d\n+++ b/d\n@@ -1 +1 @@\n-a\n+b\n", patch.PlanOptions{IsDir: func(p string) bool { return p == "d" }},
			patch.Error{Path: "d", Line: 1, Message: "this is a directory, and there is no file of this name; check the path " +
				"and how many components are stripped"}},
		{"a cut here document", tree{},
			"apply_patch <<'EOF'\n" + envelope("*** Add File: a\n+x\n"), patch.PlanOptions{},
			patch.Error{Line: 1, Message: "the here document does not end with EOF"}},
		{"a line without prefix", tree{},
			envelope("*** Update File: f\n@@\nx\n"), patch.PlanOptions{},
			patch.Error{Path: "f", Hunk: 1, Line: 4, Message: "a hunk's lines begin with a space, - or +, got 'x'"}},
		{"no patch at all", tree{}, "hello\n", patch.PlanOptions{},
			patch.Error{Message: "there is no patch in the input; a patch begins with '*** Begin Patch', 'diff --git' or --- " +
				"and +++ lines"}},

		{"old lines that are not there", tree{"f.py": file(py)},
			"--- a/f.py\n+++ b/f.py\n@@ -6,2 +6,2 @@\n def second(x):\n-    return 2\n+    return 3\n", patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 1, Line: 3,
				Message: "the old lines are not in the file:\n  def second(x):\n      return 2\n" +
					"the nearest text is at lines 6-7:\n     6| def second():\n     7|     return two\nmake the hunk from it"}},
		{"no context", tree{"f.py": file(py)},
			"--- a/f.py\n+++ b/f.py\n@@ -4 +4 @@\n-    return one\n+    return 1\n", patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 1, Line: 3,
				Message: "the hunk has no context, so it may only stand at the end of the file; its lines are at line 4; make " +
					"the diff with context (-U3)"}},
		{"a cut hunk", tree{"f.py": file(py)},
			"--- a/f.py\n+++ b/f.py\n@@ -1,5 +1,5 @@\n import os\n \n-def first():\n", patch.PlanOptions{},
			patch.Error{Path: "f.py", Hunk: 1, Line: 7,
				Message: "the patch ends inside a hunk: its header promises 5 old and 5 new lines, there are 3 and 2"}},
		{"a file that is to be new", tree{"n": file("x\n")},
			"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", patch.PlanOptions{},
			patch.Error{Path: "n", Line: 1, Message: "the diff creates the file, but it exists; make a diff that changes it, " +
				"or remove it first"}},
		{"binary files without data", tree{"b": file("x\n")},
			"diff --git a/b b/b\nindex 1234567..7654321 100644\nBinary files a/b and b/b differ\n", patch.PlanOptions{},
			patch.Error{Path: "b", Line: 1, Message: "the diff says that binary files differ, but not how; make it with " +
				"--binary"}},
		{"a submodule", tree{},
			"diff --git a/m b/m\nnew file mode 160000\nindex 0000000..1234567\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n" +
				"+Subproject commit 1\n", patch.PlanOptions{},
			patch.Error{Line: 2, Message: "the diff changes a submodule; change it with git"}},
		{"a hunk without a file", tree{}, "@@ -1 +1 @@\n-a\n+b\n", patch.PlanOptions{},
			patch.Error{Line: 1, Message: "the hunk has no file; put --- and +++ lines with its name before it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.tree.plan(t, []byte(tt.patch), nil, tt.opt)
			var e *patch.Error
			if !errors.As(err, &e) {
				t.Fatalf("applied: %v", got.contents())
			}
			if d := cmp.Diff(tt.want, *e); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDiffNamesAreContained refuses the names with which a diff reaches what it
// must not.
func TestDiffNamesAreContained(t *testing.T) {
	for _, name := range []string{
		"../x", "a/../../x", "/etc/x", "d/..", ".git/hooks/x", "d/.GIT/config", ".git./x", ".git /x", "git~1/x",
		".g\u200cit/x", ".git::$INDEX_ALLOCATION/x", `..\x`, `C:\x`, `\\host\x`, "C:x",
	} {
		for _, form := range []string{
			"diff --git a/NAME b/NAME\nnew file mode 100644\n--- /dev/null\n+++ b/NAME\n@@ -0,0 +1 @@\n+x\n",
			"--- /dev/null\n+++ b/NAME\n@@ -0,0 +1 @@\n+x\n",
			"--- /dev/null\n+++ NAME\n@@ -0,0 +1 @@\n+x\n",
			"diff --git a/f b/g\nrename from f\nrename to NAME\n",
			"diff --git a/f b/g\ncopy from f\ncopy to NAME\n",
			"--- a/NAME\n+++ b/NAME\n@@ -1 +1 @@\n-x\n+y\n",
			"--- NAME\n+++ NAME\n@@ -1 +1 @@\n-x\n+y\n",
			"diff --git a/NAME b/NAME\nold mode 100644\nnew mode 100755\n",
		} {
			text := strings.ReplaceAll(form, "NAME", name)
			p, err := patch.Parse([]byte(text))
			if err != nil {
				continue
			}
			everything := func(string) (*delta.Image, error) { return file("x\n"), nil }
			nothing := func(path string) (*delta.Image, error) {
				if path == "f" {
					return file("x\n"), nil
				}
				return nil, nil
			}
			for _, read := range []patch.Read{everything, nothing} {
				// Git takes a//etc/x for etc/x.
				if set, err := p.Plan(read); err == nil && set.Paths()[0] != "etc/x" {
					t.Errorf("accepted as %q:\n%s", set.Paths(), text)
				}
			}
		}
	}
}

func TestDiffMayNotWriteBehindItsOwnLink(t *testing.T) {
	text := "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../out\n\\ No newline " +
		"at end of file\n" +
		"diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n"
	if got, err := (tree{}).plan(t, []byte(text), nil, patch.PlanOptions{}); err == nil {
		t.Error(got.contents())
	}
}

func TestMovesAreTwoChanges(t *testing.T) {
	tr := tree{"a": delta.NewFile([]byte("x\n"), 0o755), "c": file("c\n")}
	p, err := patch.Parse([]byte(envelope("*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** Delete File: c\n*** Add " +
		"File: c\n+c\n")))
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.Plan(tr.reader(nil))
	want := delta.Set{
		{Path: "a", Pre: tr["a"], To: "b"},
		{Path: "b", Post: delta.NewFile([]byte("y\n"), 0o755), From: "a"},
	}
	if d := cmp.Diff(want, set); d != "" || err != nil {
		t.Error(err, d)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, p.Paths()); d != "" {
		t.Error(d)
	}
}

func TestPlanEachGoesOn(t *testing.T) {
	refused := errors.New("is a directory")
	tr := tree{"a": file("x\n"), "c": file("z\n")}
	p, err := patch.Parse([]byte(envelope("*** Update File: a\n@@\n-x\n+y\n*** Update File: b\n@@\n-x\n+y\n*** Delete " +
		"File: d\n*** Update File: c\n@@\n-nope\n+y\n")))
	if err != nil {
		t.Fatal(err)
	}
	set, failed := p.PlanEach(func(name string) (*delta.Image, error) {
		if name == "d" {
			return nil, refused
		}
		return tr[name], nil
	})
	if d := cmp.Diff([]string{"a"}, set.Paths()); d != "" {
		t.Error(d)
	}
	var paths []string
	for _, f := range failed {
		paths = append(paths, f.Path)
	}
	if d := cmp.Diff([]string{"b", "d", "c"}, paths); d != "" {
		t.Fatal(d)
	}
	if !errors.Is(failed[1].Err, refused) {
		t.Errorf("the reader's words are lost: %v", failed[1].Err)
	}
}

// TestBinaryDamage flips what a binary patch says: nothing but the right content
// may come of it.
func TestBinaryDamage(t *testing.T) {
	for _, c := range readCases[diffCase](t, "unified_diff.jsonl") {
		if c.Category != "binary" || !c.Apply.OK {
			continue
		}
		text := decode(t, c.Text, c.B64, c.Z)
		before, dirs := treeOf(t, c.Input)
		want, _ := treeOf(t, c.Apply.Expected)
		for i := range text {
			bad := append([]byte(nil), text...)
			bad[i] ^= 1
			p, err := patch.Parse(bad)
			if err != nil {
				continue
			}
			set, err := p.Plan(before.reader(dirs))
			if err != nil {
				continue
			}
			for _, c := range set {
				if w := want[c.Path]; w != nil && c.Post != nil && string(c.Post.Data) != string(w.Data) {
					t.Fatalf("byte %d flipped gives another content:\n%s\n%q", i, bad, c.Post.Data)
				}
			}
		}
	}
}

// TestHostileSizes holds that patches made to be slow are not.
func TestHostileSizes(t *testing.T) {
	big := strings.Repeat("a\n", 50_000)
	for name, text := range map[string]string{
		"blank lines": "--- a/f\n+++ b/f\n@@ -1,99 +1,99 @@\n" + strings.Repeat("\n", 200_000) + "x",
		"many hunks": "*** Begin Patch\n*** Update File: f\n" + strings.Repeat("@@\n-nope\n+x\n", 20_000) +
			"*** End Patch\n",
		"long pattern": "*** Begin Patch\n*** Update File: f\n@@\n" + strings.Repeat("-a\n", 10_000) + "-b\n*** End Patch\n",
		"one line":     "diff --git " + strings.Repeat("a ", 50_000),
		"a bomb": "diff --git a/f b/f\nindex " + strings.Repeat("1", 40) + ".." + strings.Repeat("2", 40) +
			"\nGIT binary patch\nliteral 999999999999\nzcmZQz\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := patch.Parse([]byte(text))
			if err != nil {
				return
			}
			if _, err := p.Plan(tree{"f": file(big)}.reader(nil)); err == nil {
				t.Error("applied")
			}
		})
	}
}
