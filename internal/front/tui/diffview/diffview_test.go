package diffview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/front/tui/style"
)

const sample = `diff --git a/x.go b/x.go
--- a/x.go
+++ b/x.go
@@ -1,4 +1,4 @@
 package x
-var a = 1
+var a = 2
+var b = 3
 
-var z = 0
\ No newline at end of file
diff --git a/old.txt b/new.txt
rename from old.txt
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
`

func text(rows []style.Line) string {
	var b strings.Builder
	for _, l := range rows {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	files := Parse(sample)
	var titles []string
	for _, f := range files {
		titles = append(titles, f.Title()+" "+f.Note)
	}
	if d := cmp.Diff([]string{"x.go ", "new.txt (from old.txt) from old.txt", "gone deleted"}, titles); d != "" {
		t.Error(d)
	}
	if added, removed := Total(files); added != 2 || removed != 3 {
		t.Errorf("+%d -%d, want +2 -3", added, removed)
	}
}

func TestRows(t *testing.T) {
	want := "  1  package x\n  2 -var a = 1\n  2 +var a = 2\n  3 +var b = 3\n  4\n  4 -var z = 0\n" +
		"    \\ No newline at end of file\n"
	if d := cmp.Diff(want, text(Rows(Parse(sample)[0], 60, 0))); d != "" {
		t.Error(d)
	}
	short := Rows(Parse(sample)[0], 60, 3)
	if got := short[len(short)-1].Text(); !strings.Contains(got, "more lines") || len(short) != 4 {
		t.Errorf("%d rows, the last is %q", len(short), got)
	}
}

// TestShorteningChangesNothing: what is drawn shortened can be drawn whole after it.
func TestShorteningChangesNothing(t *testing.T) {
	long := strings.Repeat("a", 2*maxShown)
	files := Parse("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+" + long + "\n")
	if got := text(Summary(files, 5000)); !strings.Contains(got, "more bytes") {
		t.Errorf("not shortened: %.80q", got)
	}
	if got := text(Whole(files, 5000)); !strings.Contains(got, long) {
		t.Errorf("cut: %.80q", got)
	}
}

func TestEdits(t *testing.T) {
	var got []string
	for _, e := range Parse(sample)[0].Edits() {
		got = append(got, strings.ReplaceAll(text(e.Rows), "\n", "|"))
	}
	if d := cmp.Diff([]string{"-var a = 1|+var a = 2|+var b = 3|", "-var z = 0|"}, got); d != "" {
		t.Error(d)
	}
}

// TestExactHidesNothing: what a user judges shows each character.
func TestExactHidesNothing(t *testing.T) {
	got := text(Exact(Parse("--- a/f\u202e\n+++ b/f\u202e\n@@ -1 +1 @@\n-a\u200bb\n+a\tb\n"), 80))
	for _, want := range []string{"f<U+202E>", "a<U+200B>b", "a    b"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestSideBySide(t *testing.T) {
	got := text(SideBySide(Parse(sample)[0], 60))
	for _, want := range []string{"   2 -var a = 1              │    2 +var a = 2",
		"                             │    3 +var b = 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestNoRowIsTooWide holds for every way to draw, whatever the diff.
func TestNoRowIsTooWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 20).Draw(t, "lines") {
			b.WriteString(rapid.SampledFrom([]string{"+", "-", " ", "@@ -1,3 +1,3 @@", "--- a/x.go", "+++ b/x.go",
				"\\"}).Draw(t, "kind"))
			b.WriteString(rapid.StringOfN(rapid.SampledFrom([]rune("ab 漢\t(\"")), 0, 60, -1).Draw(t, "text") + "\n")
		}
		files, width := Parse("--- a/x.go\n"+b.String()), rapid.IntRange(30, 120).Draw(t, "width")
		for name, rows := range map[string][]style.Line{"summary": Summary(files, width), "whole": Whole(files, width),
			"exact": Exact(files, width)} {
			for _, l := range rows {
				if l.Width() > width {
					t.Fatalf("%s: %q is wider than %d", name, l.Text(), width)
				}
			}
		}
	})
}
