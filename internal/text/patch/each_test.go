package patch_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
	"kerf/internal/text/patch/unified"
)

// TestEachFileForItself: a file where a new path needs a directory keeps only that path from being made, and
// what was to be moved there where it is. What that leaves in the way of others keeps them out as well.
func TestEachFileForItself(t *testing.T) {
	p, err := patch.Parse([]byte("*** Begin Patch\n*** Update File: from\n*** Move to: file/x\n@@\n-from\n+moved\n" +
		"*** Add File: file/y\n+y\n*** Add File: from/z\n+z\n*** Add File: beside\n+b\n*** Update File: old\n*** Move to: new\n" +
		"@@\n-old\n+new\n*** End Patch\n"))
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{}
	for _, name := range []string{"file", "from", "old"} {
		tr[name] = delta.NewFile([]byte(name+"\n"), 0o644)
	}
	set, failed := p.PlanEach(tr.reader(nil))
	if got, want := set.Paths(), []string{"beside", "old", "new"}; !slices.Equal(got, want) {
		t.Errorf("planned %q, not %q", got, want)
	}
	var paths []string
	for _, f := range failed {
		paths = append(paths, f.Path)
	}
	if want := []string{"file/x", "file/y", "from/z"}; !slices.Equal(paths, want) {
		t.Errorf("failed: %q, not %q", paths, want)
	}
	tr.commit(t, set)
	if set, err := p.Plan(tr.reader(nil)); err == nil {
		t.Errorf("together: %v", set.Paths())
	}
}

// TestNoFileIsLostByHalf: a patch that only moves files has each of them in one place afterwards, whatever of it
// fails, and tells of each that did not get where it was to go.
func TestNoFileIsLostByHalf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "p", "a/x", "b/y", "p/z", "new", "q/r"}
		sources := rapid.Permutation(names[:6]).Draw(rt, "sources")
		targets := rapid.Permutation(names).Draw(rt, "targets")
		tr, to := tree{}, map[string]string{}
		for _, name := range sources {
			tr[name] = delta.NewFile([]byte(name+"\n"), 0o644)
		}
		var diff strings.Builder
		for i, name := range sources[:rapid.IntRange(1, 5).Draw(rt, "moves")] {
			if targets[i] == name {
				continue
			}
			to[name] = targets[i]
			fmt.Fprintf(&diff, "diff --git a/%[1]s b/%[2]s\nrename from %[1]s\nrename to %[2]s\n", name, targets[i])
			if rapid.IntRange(0, 3).Draw(rt, "fails") == 0 {
				fmt.Fprintf(&diff, "--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-what is not there\n+x\n", name, targets[i])
			}
		}
		if len(to) == 0 {
			return
		}
		p, err := patch.Parse([]byte(diff.String()))
		if err != nil {
			rt.Fatal(err)
		}
		set, failed := p.PlanEach(tr.reader(nil))
		told := map[string]bool{}
		for _, f := range failed {
			told[f.Path] = true
		}
		after, where := tr.commit(t, set), map[string]string{}
		for path, img := range after {
			if after[filepath.Dir(path)] != nil {
				rt.Errorf("%s is below a file", path)
			}
			name := strings.TrimSpace(string(img.Data))
			if where[name] != "" {
				rt.Errorf("%s is at %s and at %s", name, where[name], path)
			}
			where[name] = path
		}
		for _, name := range sources {
			if want := to[name]; where[name] != name && where[name] != want {
				rt.Errorf("%s is at %q", name, where[name])
			} else if want != "" && where[name] == name && !told[name] && !told[want] {
				rt.Errorf("%s is not at %s, and nobody is told", name, want)
			}
		}
		if rt.Failed() {
			rt.Logf("%s%v", diff.String(), failed)
		}
	})
}

// TestAFileThatMovedAwayTellsWhereTo, also when something else has its name then. One that was only copied does not.
func TestAFileThatMovedAwayTellsWhereTo(t *testing.T) {
	tr := tree{}
	for _, name := range []string{"a", "b", "c"} {
		tr[name] = delta.NewFile([]byte(name+"\n"), 0o644)
	}
	p, err := patch.Parse([]byte("diff --git a/a b/n\nrename from a\nrename to n\ndiff --git a/b b/a\nrename from b\nrename to a\n" +
		"diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+new\n" +
		"diff --git a/c b/d\ncopy from c\ncopy to d\ndiff --git a/c b/c\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-c\n+C\n"))
	if err != nil {
		t.Fatal(err)
	}
	set, failed := p.PlanEach(tr.reader(nil))
	var got []string
	for _, c := range set {
		got = append(got, fmt.Sprintf("%s from %q to %q", c.Path, c.From, c.To))
	}
	slices.Sort(got)
	want := []string{`a from "b" to "n"`, `b from "" to "a"`, `c from "" to ""`, `d from "c" to ""`, `n from "a" to ""`}
	if !slices.Equal(want, got) || len(failed) > 0 {
		t.Errorf("%q %v", got, failed)
	}
}

// TestNoFileIsLostByHalfOfAnEnvelope is the same for files that move one after the other, each to a name that is
// free by then.
func TestNoFileIsLostByHalfOfAnEnvelope(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d"}
		tr, at, free := tree{}, map[string]string{}, []string{"new", "q/r"}
		for _, name := range names {
			tr[name], at[name] = delta.NewFile([]byte(name+"\n"), 0o644), name
		}
		var text strings.Builder
		text.WriteString("*** Begin Patch\n")
		for range rapid.IntRange(1, 6).Draw(rt, "moves") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			if at[name] == "" {
				continue
			}
			old, i := name, rapid.IntRange(0, len(free)-1).Draw(rt, "to")
			if rapid.IntRange(0, 3).Draw(rt, "fails") == 0 {
				old = "what is not there"
			}
			if rapid.IntRange(0, 4).Draw(rt, "anew") == 0 && free[i] != "new" && free[i] != "q/r" {
				fmt.Fprintf(&text, "*** Add File: %s\n+made\n", free[i])
				free[i] = "new" + free[i]
				continue
			}
			fmt.Fprintf(&text, "*** Update File: %s\n*** Move to: %s\n@@\n-%s\n+%s\n", at[name], free[i], old, name)
			at[name], free[i] = free[i], at[name]
		}
		p, err := patch.Parse([]byte(text.String() + "*** End Patch\n"))
		if err != nil {
			return // nothing in it
		}
		set, failed := p.PlanEach(tr.reader(nil))
		where := map[string]string{}
		for path, img := range tr.commit(t, set) {
			where[strings.TrimSpace(string(img.Data))] = path
		}
		for _, name := range names {
			if where[name] == "" {
				rt.Fatalf("%s is lost: %v\n%s", name, failed, text.String())
			}
			if where[name] != at[name] && len(failed) == 0 {
				rt.Fatalf("%s is at %s\n%s", name, where[name], text.String())
			}
		}
	})
}

// TestNothingTakesThePlaceOfALinkThatStays, nor of what it leads to.
func TestNothingTakesThePlaceOfALinkThatStays(t *testing.T) {
	tr := tree{"f": delta.NewFile([]byte("f\n"), 0o644), "l": delta.NewSymlink("f"), "n": delta.NewFile([]byte("n\n"), 0o644)}
	p, err := patch.Parse([]byte("*** Begin Patch\n*** Update File: l\n*** Move to: m\n@@\n-not there\n+x\n" +
		"*** Update File: n\n*** Move to: l\n@@\n-n\n+N\n*** End Patch\n"))
	if err != nil {
		t.Fatal(err)
	}
	if set, failed := p.PlanEach(tr.reader(nil)); len(set) > 0 || len(failed) != 2 {
		t.Errorf("%v %v", set.Paths(), failed)
	}
}

// TestWhatADiffDoesNotCallAMoveStays: without renames, a diff with whole ids tells as well that a content went
// elsewhere, and where it does not get there, it stays. A file that only changed does not.
func TestWhatADiffDoesNotCallAMoveStays(t *testing.T) {
	id := func(text string) string {
		if text == "" {
			return strings.Repeat("0", 40)
		}
		return unified.BlobID([]byte(text+"\n"), 40)
	}
	var diff strings.Builder
	for _, c := range [][3]string{{"n", "", "a"}, {"a", "a", "b"}, {"b", "b", ""}, {"k", "", "c"}, {"c", "c", "C"}} {
		from, to := "a/"+c[0], "b/"+c[0]
		fmt.Fprintf(&diff, "diff --git a/%[1]s b/%[1]s\n", c[0])
		if c[1] == "" {
			from = "/dev/null"
			diff.WriteString("new file mode 100644\n")
		}
		if c[2] == "" {
			to = "/dev/null"
			diff.WriteString("deleted file mode 100644\n")
		}
		fmt.Fprintf(&diff, "index %s..%s\n--- %s\n+++ %s\n@@ -%d +%d @@\n", id(c[1]), id(c[2]), from, to, len(c[1]), len(c[2]))
		if c[1] != "" {
			diff.WriteString("-" + c[1] + "\n")
		}
		if c[2] != "" {
			diff.WriteString("+" + c[2] + "\n")
		}
	}
	text := strings.NewReplacer("-0 +1", "-0,0 +1", "-1 +0", "-1 +0,0").Replace(diff.String())
	tr := tree{}
	for _, name := range []string{"a", "b", "c"} {
		tr[name] = delta.NewFile([]byte(name+"\n"), 0o644)
	}
	p, err := patch.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if set, failed := p.PlanEach(tr.reader(nil)); len(set) != 5 || len(failed) > 0 {
		t.Errorf("%v %v\n%s", set.Paths(), failed, text)
	}
	tr["n"] = delta.NewFile([]byte("theirs\n"), 0o644)
	tr["k"] = tr["n"]
	set, failed := p.PlanEach(tr.reader(nil))
	var left []string
	for _, f := range failed {
		left = append(left, f.Path)
	}
	slices.Sort(left)
	if paths := set.Paths(); !slices.Equal(paths, []string{"c"}) || !slices.Equal(left, []string{"a", "b", "k", "n"}) {
		t.Errorf("%v %v", paths, failed)
	}
}
