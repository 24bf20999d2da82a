package changes

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

const editDiff = `diff --git a/src/a.go b/src/a.go
--- a/src/a.go
+++ b/src/a.go
@@ -1,9 +1,9 @@
 package a
-one
-two
+ONE
+TWO
 three
 four
+five
 six
`

const newDiff = `diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+n
+m
`

// page is a page of two files, and what it asked for.
type page struct {
	*View
	undone []protocol.Undo
	opened string
	line   int
	left   bool
}

func open(list ...protocol.ChangeEntry) *page {
	p := &page{}
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	if list == nil {
		list = []protocol.ChangeEntry{
			{Turn: "t1", Call: "c1", Cause: "tool", Tool: "edit_file", Time: at, Diff: editDiff,
				Changes: []protocol.PathChange{{Path: "/w/src/a.go", Kind: protocol.Update}}},
			{Turn: "t2", Call: "c2", Cause: "command", Time: at.Add(time.Minute), Diff: newDiff,
				Changes: []protocol.PathChange{{Path: "/w/new.txt", Kind: protocol.Add}}}}
	}
	p.View = New(Options{
		Undo: func(op protocol.Undo) tea.Cmd { p.undone = append(p.undone, op); return nil },
		Open: func(path string, line int) tea.Cmd { p.opened, p.line = path, line; return nil },
		Diff: func(string, string) {},
		Name: func(path string) string { return strings.TrimPrefix(path, "/w/") },
		Now:  func() time.Time { return at.Add(time.Hour) },
		Kept: map[string]bool{}, Left: func() { p.left = true }}, list)
	return p
}

func (p *page) press(keys ...string) *page {
	for _, k := range keys {
		p.Key(panels.Key{Name: k, Text: k})
	}
	return p
}

func (p *page) text(w, h int) string {
	var b strings.Builder
	for _, l := range p.View.View(w, h).Rows {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return b.String()
}

func TestWhatIsTakenBack(t *testing.T) {
	a := "/w/src/a.go"
	for _, x := range []struct {
		keys string
		want protocol.Undo
	}{
		{"u", protocol.Undo{Turn: "t2", Paths: []string{"/w/new.txt"}}},
		{"down u", protocol.Undo{Turn: "t1", Paths: []string{a}}},
		{"enter u", protocol.Undo{Turn: "t2", Call: "c2", Paths: []string{"/w/new.txt"}}},
		{"down enter u", protocol.Undo{Turn: "t1", Call: "c1", Hunks: map[string][]int{a: {0}}}},
		{"down enter down u", protocol.Undo{Turn: "t1", Call: "c1", Hunks: map[string][]int{a: {1}}}},
		{"enter down down u", protocol.Undo{Turn: "t1", Call: "c1", Hunks: map[string][]int{a: {1}}}},
		{"down enter enter down u", protocol.Undo{Turn: "t1", Call: "c1", Lines: map[string][]int{a: {1, 3}}}},
		{"down enter enter end u", protocol.Undo{Turn: "t1", Call: "c1", Lines: map[string][]int{a: {1, 3}}}},
		{"down enter enter space u", protocol.Undo{Turn: "t1", Call: "c1", Lines: map[string][]int{a: {0}}}},
		{"down enter enter space down space u", protocol.Undo{Turn: "t1", Call: "c1", Lines: map[string][]int{a: {0, 2}}}},
		{"down enter down enter u", protocol.Undo{Turn: "t1", Call: "c1", Lines: map[string][]int{a: {4}}}},
		{"down enter c", protocol.Undo{Turn: "t1", Call: "c1"}},
		{"down t", protocol.Undo{Turn: "t1"}},
		{"r", protocol.Undo{Redo: true}},
	} {
		p := open().press(strings.Fields(x.keys)...)
		if d := cmp.Diff([]protocol.Undo{x.want}, p.undone); d != "" {
			t.Errorf("%s (-want +got):\n%s", x.keys, d)
		}
	}
}

func TestWhatIsNotTakenBack(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	entry := protocol.ChangeEntry{Turn: "t", Call: "c", Cause: "tool", Time: at, Diff: editDiff,
		Changes: []protocol.PathChange{{Path: "/w/src/a.go", Kind: protocol.Update}}}
	outside, undone := entry, entry
	outside.Cause, undone.Undone = "outside", true
	for want, e := range map[string]protocol.ChangeEntry{"neither tool nor command": outside, "already taken back": undone} {
		for _, keys := range []string{"u", "t", "c", "enter u", "enter enter u"} {
			p := open(e).press(strings.Fields(keys)...)
			if len(p.undone) > 0 || !strings.Contains(p.text(80, 20), want) {
				t.Errorf("%s: %+v, want %q in\n%s", keys, p.undone, want, p.text(80, 20))
			}
		}
	}
	if p := open([]protocol.ChangeEntry{}...).press("esc"); !p.left {
		t.Error("esc does not leave the page")
	}
	p := open(outside)
	p.Set(nil)
	if p.press("u", "enter", "space", "n", "o", "down"); !strings.Contains(p.text(80, 10), "nothing was changed yet") {
		t.Error(p.text(80, 10))
	}
}

// TestUndoneLinesAreNotCounted: an undo and what it took back leave nothing changed; a redo
// brings the lines back once.
func TestUndoneLinesAreNotCounted(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	entry := func(cause string, undone bool, diff string) protocol.ChangeEntry {
		return protocol.ChangeEntry{Cause: cause, Undone: undone, Time: at, Diff: diff,
			Changes: []protocol.PathChange{{Path: "/w/src/a.go", Kind: protocol.Update}}}
	}
	gone := "--- a/src/a.go\n+++ b/src/a.go\n@@ -1,3 +1 @@\n-one\n-two\n three\n"
	back := "--- a/src/a.go\n+++ b/src/a.go\n@@ -1 +1,3 @@\n+one\n+two\n three\n"
	more := "--- a/src/a.go\n+++ b/src/a.go\n@@ -3 +3,2 @@\n three\n+four\n"
	for _, x := range []struct {
		list []protocol.ChangeEntry
		want string
	}{
		{[]protocol.ChangeEntry{entry("command", true, gone), entry("undo", false, back)}, "a.go  undone"},
		{[]protocol.ChangeEntry{entry("command", false, gone), entry("undo", true, back), entry("redo", false, gone)}, "a.go (+0 -2)"},
		{[]protocol.ChangeEntry{entry("command", true, gone), entry("tool", false, more), entry("undo", false, back)}, "a.go (+1 -0)"},
		{[]protocol.ChangeEntry{entry("command", false, gone), entry("undo", false, more)}, "a.go (+1 -2)"}, // a part of it
	} {
		if got := strings.Split(open(x.list...).text(80, 20), "\n")[1]; !strings.Contains(got, x.want) {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

func TestWhatIsKept(t *testing.T) {
	p := open().press("space") // new.txt, then the next file
	if got := p.text(80, 20); !strings.Contains(got, "1 kept") || !strings.Contains(got, "▸ M src/a.go") {
		t.Errorf("after a file was kept:\n%s", got)
	}
	p.press("n", "space")
	if got := p.text(80, 20); !strings.Contains(got, "2 kept") || !strings.Contains(got, "1/2") {
		t.Errorf("after an edit was kept:\n%s", got)
	}
	p.press("n", "space", "n")
	if got := p.text(80, 20); !strings.Contains(got, "3 kept") || !strings.Contains(got, "all edits are kept") {
		t.Errorf("after all were kept:\n%s", got)
	}
	p.press("space")
	if got := p.text(80, 20); !strings.Contains(got, "2 kept") {
		t.Errorf("after one was let go:\n%s", got)
	}
}

func TestTheEditorOpensTheLine(t *testing.T) {
	p := open().press("down", "enter", "down", "o")
	if p.opened != "/w/src/a.go" || p.line != 6 {
		t.Errorf("opened %s at %d", p.opened, p.line)
	}
	if p.press("up", "enter", "down", "down", "o"); p.line != 2 {
		t.Errorf("a line: at %d", p.line)
	}
}

// TestItFits: whatever the size and the level, no row is wider and there are no more rows
// than were asked for, and the marked edit is shown.
func TestItFits(t *testing.T) {
	long := strings.ReplaceAll(editDiff, "+five\n", "+"+strings.Repeat("five ", 60)+"\n")
	for _, w := range []int{20, 33, 80, 99, 100, 160, 300} {
		for _, h := range []int{3, 5, 9, 24, 100} {
			for _, keys := range []string{"", "down", "down enter", "down enter down", "down enter down enter"} {
				p := open()
				list := []protocol.ChangeEntry{}
				for _, part := range slices.Backward(p.files) {
					list = append(list, part.parts[0].entry)
				}
				list[0].Diff = long
				p.Set(list)
				p.press(strings.Fields(keys)...)
				rows := p.View.View(w, h).Rows
				if len(rows) > h {
					t.Errorf("%dx%d %q: %d rows", w, h, keys, len(rows))
				}
				marked := false
				for _, l := range rows {
					if l.Width() > w {
						t.Errorf("%dx%d %q: a row of %d cells: %s", w, h, keys, l.Width(), l.Text())
					}
					marked = marked || strings.ContainsAny(l.Text(), "▌▸")
				}
				if !marked {
					t.Errorf("%dx%d %q: nothing is marked in\n%s", w, h, keys, p.text(w, h))
				}
			}
		}
	}
}
