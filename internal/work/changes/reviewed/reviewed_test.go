package reviewed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/text/diff"
)

// unified is the git diff of one file.
func unified(name, old, now string) string {
	return string(diff.Unified([]diff.File{{OldPath: name, NewPath: name, OldMode: 0o100644, NewMode: 0o100644,
		Old: []byte(old), New: []byte(now)}}))
}

func left(t *testing.T, m Marks, text string) string {
	t.Helper()
	got, err := m.Left(text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func add(t *testing.T, m Marks, text string) {
	t.Helper()
	if _, err := m.Add(text); err != nil {
		t.Fatal(err)
	}
}

// TestReviewedStaysReviewed: what was looked at stays so when other lines move it, and is open
// again when its own lines are others.
func TestReviewedStaysReviewed(t *testing.T) {
	m := In(t.TempDir())
	old := strings.Repeat("same\n", 13) + "a\n" + strings.Repeat("same\n", 20) + "b\n"
	first := strings.Replace(old, "a\n", "A\n", 1)
	if got := left(t, m, unified("f", old, first)); got != unified("f", old, first) {
		t.Errorf("nothing is marked:\n%s", got)
	}
	add(t, m, unified("f", old, first))
	if got := left(t, m, unified("f", old, first)); got != "" {
		t.Errorf("it was marked:\n%s", got)
	}
	moved := "new\n" + strings.Repeat("more\n", 30) + first
	if got := left(t, m, unified("f", old, moved)); strings.Contains(got, "+A\n") || !strings.Contains(got, "+new\n") {
		t.Errorf("after lines before it:\n%s", got)
	}
	second := strings.Replace(first, "b\n", "B\n", 1)
	if got := left(t, m, unified("f", old, second)); strings.Contains(got, "+A\n") || !strings.Contains(got, "+B\n") {
		t.Errorf("after another edit:\n%s", got)
	}
	if got := left(t, m, unified("f", old, strings.Replace(old, "a\n", "other\n", 1))); !strings.Contains(got, "+other\n") {
		t.Error("other lines in the same place count as reviewed")
	}
	if left(t, m, unified("g", old, first)) == "" {
		t.Error("the same lines in another file count as reviewed")
	}
	twice := first + strings.Repeat("same\n", 20) + "A\n"
	add(t, m, unified("f", old, first))
	if got := left(t, m, unified("f", first, twice)); got == "" {
		t.Error("an added line counts as reviewed since a replaced one was")
	}
}

// TestHeadsHaveMarks: modes, moves and bytes have no lines, and are looked at all the same.
func TestHeadsHaveMarks(t *testing.T) {
	m := In(t.TempDir())
	for _, text := range []string{
		"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
		"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
		"diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n",
		"diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+diff --git a/q b/q\n",
	} {
		if got := left(t, m, text); got != text {
			t.Errorf("not marked, and left out of\n%s:\n%s", text, got)
		}
		add(t, m, text)
		if got := left(t, m, text); got != "" {
			t.Errorf("marked, and left:\n%s", got)
		}
	}
	if got := left(t, m, "diff --git a/p b/p\nindex 1..3 100644\nBinary files a/p and b/p differ\n"); got == "" {
		t.Error("other bytes count as reviewed")
	}
}

// TestMarkedIsLeftOut holds random diffs: all that is marked is left out, and of two diffs the
// marks of one never hide a line that only the other has.
func TestMarkedIsLeftOut(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := make([]string, 30)
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d\n", i)
		}
		change := func(of []string, tag string) []string {
			out := append([]string(nil), of...)
			for n := range 1 + r.IntN(4) {
				out[r.IntN(len(out))] += fmt.Sprintf("%s%d\n", tag, n)
			}
			return out
		}
		old := strings.Join(lines, "")
		one := change(lines, "one")
		two := change(one, "two")
		m := In(t.TempDir())
		first, both := unified("f", old, strings.Join(one, "")), unified("f", old, strings.Join(two, ""))
		add(t, m, first)
		if got := left(t, m, first); got != "" {
			t.Fatalf("seed %d: marked, and left:\n%s", seed, got)
		}
		got := left(t, m, both)
		for line := range strings.Lines(both) {
			if strings.HasPrefix(line, "+two") && !strings.Contains(got, line) {
				t.Fatalf("seed %d: %q was never marked, and is left out", seed, line)
			}
		}
		add(t, m, both)
		if got := left(t, m, both); got != "" {
			t.Fatalf("seed %d: marked later, and left:\n%s", seed, got)
		}
	}
}

// TestMarksThatCannotBeRead are an error, not reviewed changes.
func TestMarksThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := In(dir).Left("diff --git a/x b/x\n"); err == nil {
		t.Error("no error")
	}
}
