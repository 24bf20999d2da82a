//go:build linux

package trust

import (
	"io/fs"
	"maps"
	"testing"
)

// sound is the evidence of a small history that breaks no law: the command wrote one
// line of a.txt and made b.txt, the writer added one to a.txt and made mine.txt, and
// undo took back the command's.
func sound(writer bool) *evidence {
	file := func(inode uint64, data string) node {
		return node{mode: 0o644, data: data, inode: inode, mtime: int64(inode)}
	}
	base := tree{"a.txt": file(1, "1\n2\n"), "d": {kind: fs.ModeDir, mode: 0o755}}
	e := &evidence{dir: "/w", turns: [][]command{{{text: "edit", touches: []string{"a.txt", "b.txt"}}}},
		began: []tree{base}, read: []int64{10}, dropped: map[string]bool{}, redoable: true}
	e.final, e.rebuilt = maps.Clone(base), maps.Clone(base)
	back := maps.Clone(base)
	a, before := "ONE\n2\n", "1\n2\n"
	if writer {
		before = "1\n2\nW1.1;\n"
		a = "ONE\n2\nW1.1;\n"
		e.final["mine.txt"] = file(9, "W1.2;\n")
		back["mine.txt"] = e.final["mine.txt"]
		back["a.txt"] = file(4, before)
		e.deeds = []deed{
			{N: 1, At: 20, Op: "append", Path: "a.txt", Tokens: []string{"W1.1;"}, Before: ident{1, 1, 4}, After: ident{1, 2, 10}},
			{N: 2, At: 30, Op: "create", Path: "mine.txt", Tokens: []string{"W1.2;"}, Whole: true, Before: ident{9, 8, 0}, After: ident{9, 9, 6}},
		}
	}
	e.final["a.txt"], e.final["b.txt"] = file(5, a), file(6, "b\n")
	e.rebuilt["a.txt"], e.rebuilt["b.txt"] = file(7, a), file(8, "b\n")
	e.redone = maps.Clone(e.final)
	e.diff = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+ONE\n 2\n"
	e.entries = []entry{{Cause: "command", Call: "t1c1", Turn: "x", Exact: true}}
	change := func(path, operation, before, after string) {
		c := e.entries[0].Changes
		c = append(c, struct {
			Path                     name
			Operation, Before, After string
			MovedFrom                name `json:"moved_from"`
			MovedTo                  name `json:"moved_to"`
		}{Path: name("/w/" + path), Operation: operation, Before: before, After: after})
		e.entries[0].Changes = c
	}
	change("a.txt", "modified", node{data: before}.sum(), e.final["a.txt"].sum())
	change("b.txt", "created", "", e.final["b.txt"].sum())
	r := report{result: result{code: 0, out: "/w/a.txt"}}
	e.undos = []undone{{turns: []int{0}, all: true, dry: &r, report: r, tree: back}}
	return e
}

// TestLawsCanFail seeds a fault for every law, and more for the first.
func TestLawsCanFail(t *testing.T) {
	for _, writer := range []bool{false, true} {
		for _, law := range laws {
			if faults := law.judge(sound(writer)); len(faults) > 0 {
				t.Errorf("%s: a sound history is refused: %v", law.name, faults)
			}
		}
	}
	for _, f := range []struct {
		name, law string
		writer    bool
		seed      func(*evidence)
	}{
		{"undo removes the writer's file", "bytes", true, func(e *evidence) { delete(e.undos[0].tree, "mine.txt") }},
		{"undo removes the writer's line", "bytes", true, func(e *evidence) { e.undos[0].tree["a.txt"] = node{data: "1\n2\n"} }},
		{"undo empties the writer's file", "bytes", true, func(e *evidence) { e.undos[0].tree["mine.txt"] = node{} }},
		{"undo moves the writer's file", "bytes", true, func(e *evidence) {
			e.undos[0].tree["else.txt"] = e.undos[0].tree["mine.txt"]
			delete(e.undos[0].tree, "mine.txt")
		}},
		{"undo leaves the command's file", "exact", false, func(e *evidence) { e.undos[0].tree["b.txt"] = node{data: "b\n"} }},
		{"undo changes a mode", "exact", false, func(e *evidence) { e.undos[0].tree["a.txt"] = node{mode: 0o600, data: "1\n2\n"} }},
		{"undo removes a directory", "exact", false, func(e *evidence) { delete(e.undos[0].tree, "d") }},
		{"the diff lacks a file", "diff", true, func(e *evidence) { delete(e.rebuilt, "b.txt") }},
		{"the diff leaves out a file without a reason", "diff", false, func(e *evidence) { e.left = map[string]bool{"b.txt": true} }},
		{"the log lacks a file", "listed", false, func(e *evidence) { e.entries[0].Changes = e.entries[0].Changes[:1] }},
		{"the log has another content", "listed", false, func(e *evidence) { e.entries[0].Changes[0].After = "00" }},
		{"the log is in doubt without a reason", "listed", false, func(e *evidence) { e.entries[0].Exact = false }},
		{"the log names a file too many", "claims", true, func(e *evidence) { e.entries[0].Changes[1].Path = "/w/mine.txt" }},
		{"the log names a file that is linked later", "claims", true, func(e *evidence) {
			e.entries[0].Changes[1].Path = "/w/mine.txt"
			e.turns = append(e.turns, []command{{text: "ln a.txt mine.txt", trait: carries}})
		}},
		{"the diff holds the writer's line", "claims", true, func(e *evidence) { e.diff += "+W1.1;\n" }},
		{"the dry run ends otherwise", "dry run", false, func(e *evidence) { e.undos[0].dry = &report{result: result{code: 1}} }},
		{"a refusal names nothing", "named", false, func(e *evidence) { e.undos[0].report.result = result{code: 1, err: "kerf: no\n"} }},
		{"redo brings back less", "redo", false, func(e *evidence) { delete(e.redone, "b.txt") }},
	} {
		e := sound(f.writer)
		f.seed(e)
		caught := false
		for _, law := range laws {
			caught = caught || law.name == f.law && len(law.judge(e)) > 0
		}
		if !caught {
			t.Errorf("%s: the law %q does not catch it", f.name, f.law)
		}
	}
}

// TestAnEarlierLinkIsNoClaim: a command may change the other name of a file that an earlier
// one linked.
func TestAnEarlierLinkIsNoClaim(t *testing.T) {
	e := sound(false)
	e.turns = [][]command{{{text: "ln a.txt other.txt", trait: carries}}, e.turns[0]}
	e.entries[0].Call = "t2c1"
	e.entries[0].Changes[1].Path = "/w/other.txt"
	if faults := claimsOnlyItsOwn(e); len(faults) > 0 {
		t.Errorf("a sound history is refused: %v", faults)
	}
}

// TestWhatTheWriterTookAwayItself: git brings back a line that the writer has overwritten by another
// one just before, so that an undo takes it away again.
func TestWhatTheWriterTookAwayItself(t *testing.T) {
	for _, took := range []bool{true, false} {
		e := sound(true)
		e.began[0] = maps.Clone(e.began[0])
		e.began[0]["a.txt"] = node{data: "1\n2\nW1.1;\n", inode: 1, mtime: 2}
		e.deeds[0].At, e.deeds[0].After.Mtime = 5, 4 // the command wrote the file anew
		over := deed{N: 3, At: 40, Op: "in place", Path: "a.txt", Tokens: []string{"W1.3;"}, Before: ident{1, 2, 10}, After: ident{1, 3, 10}}
		if took {
			over.Took = []string{"W1.1;"}
		}
		e.deeds = append(e.deeds, over)
		e.undos[0].tree["a.txt"] = node{data: "1\n2\nW1.3;\n"}
		if faults := keepsBytes(e); (len(faults) == 0) != took {
			t.Errorf("taken away by the writer: %v; faults: %v", took, faults)
		}
	}
}
