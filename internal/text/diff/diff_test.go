package diff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/lines"
)

// checkLaws holds for every pair of texts.
func checkLaws(t interface{ Fatalf(string, ...any) }, a, b []byte) {
	edits := Lines(a, b)
	got, err := Apply(a, edits)
	if err != nil || !bytes.Equal(got, b) {
		t.Fatalf("apply(a, diff(a, b)) = %q, %v\na %q\nb %q", got, err, a, b)
	}
	at := -1
	x := lines.NewIndex(a)
	for _, e := range edits {
		if e.Start <= at {
			t.Fatalf("edits touch: %v\na %q\nb %q", edits, a, b)
		}
		if e.Start == e.End && len(e.New) == 0 {
			t.Fatalf("edit of nothing: %v", e)
		}
		for _, o := range []int{e.Start, e.End} {
			if o != len(a) && x.Offset(x.LineOf(o)) != o {
				t.Fatalf("edit %v is not at a line of %q", e, a)
			}
		}
		at = e.End
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nc\n"))
	f.Add([]byte("x"), []byte("x\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) { checkLaws(t, a, b) })
}

func someLines(alphabet string) *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.SampledFrom([]byte(alphabet)), 0, 60)
}

func TestLinesApplyLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := someLines("ab \t\n\n\n\n\r\x00")
		checkLaws(t, g.Draw(t, "a"), g.Draw(t, "b"))
	})
}

// TestLinesMinimal compares with the textbook table: on small input the diff is
// never longer than it must be.
func TestLinesMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []byte {
			var out []byte
			for _, c := range someLines("abcdefg").Draw(t, name) {
				out = append(out, c, '\n')
			}
			return out
		}
		a, b := draw("a"), draw("b")
		added, removed := Stat(a, b)
		if got, want := added+removed, distance(lines.Split(a), lines.Split(b)); got != want {
			t.Fatalf("%d lines changed, %d suffice\na %q\nb %q", got, want, a, b)
		}
	})
}

func distance(a, b [][]byte) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diag := row[0]
		row[0] = i + 1
		for j := range b {
			best := min(row[j], row[j+1]) + 1
			if bytes.Equal(a[i], b[j]) {
				best = diag
			}
			diag, row[j+1] = row[j+1], best
		}
	}
	return row[len(b)]
}

func TestApplyRefuses(t *testing.T) {
	for _, edits := range [][]Edit{
		{{-1, 0, nil}}, {{0, 4, nil}}, {{2, 1, nil}}, {{1, 2, nil}, {1, 3, nil}}, {{2, 3, nil}, {0, 1, nil}},
	} {
		if got, err := Apply([]byte("abc"), edits); err == nil {
			t.Errorf("%v gave %q", edits, got)
		}
	}
	got, err := Apply([]byte("abc"), []Edit{{1, 1, []byte("1")}, {1, 1, []byte("2")}})
	if err != nil || string(got) != "a12bc" {
		t.Errorf("two insertions at one place: %q, %v", got, err)
	}
}

// TestBadInputStaysCheap has inputs on which an unbounded algorithm takes
// minutes. The limit is generous; the point is the shape.
func TestBadInputStaysCheap(t *testing.T) {
	const n = 40_000
	rng := rand.New(rand.NewPCG(1, 2))
	make1 := func(kinds int) []byte {
		var out bytes.Buffer
		for range n {
			fmt.Fprintf(&out, "%d\n", rng.IntN(kinds))
		}
		return out.Bytes()
	}
	shuffled := func() []byte {
		var out bytes.Buffer
		for _, i := range rng.Perm(n) {
			fmt.Fprintf(&out, "%d\n", i)
		}
		return out.Bytes()
	}
	blocks := func(s string, k int) []byte { return bytes.Repeat([]byte(strings.Repeat(s, k)), n/k/len(s)*2) }
	for name, c := range map[string][2][]byte{
		"two kinds":        {make1(2), make1(2)},
		"many kinds":       {make1(5000), make1(5000)},
		"shuffled":         {shuffled(), shuffled()},
		"nothing common":   {make1(7), bytes.ReplaceAll(make1(7), []byte("\n"), []byte("x\n"))},
		"periods":          {blocks("a\nb\nc\n", 1), blocks("c\na\nb\nb\n", 1)},
		"all same, longer": {blocks("x\n", 1), blocks("x\n", 1)[:n/2]},
		"reversed blocks":  {append(blocks("a\n", 1), blocks("b\n", 1)...), append(blocks("b\n", 1), blocks("a\n", 1)...)},
		"one long line":    {bytes.Repeat([]byte("y"), 8<<20), bytes.Repeat([]byte("y"), 8<<20+1)},
	} {
		checkLaws(t, c[0], c[1])
		Similarity(c[0], c[1])
		a, b := newText(c[0]), newText(c[1])
		ia, ib, kinds := intern(a, 0, a.len(), b, 0, b.len())
		s := newSearch(ia, ib, kinds)
		s.run(box{0, len(s.a), 0, len(s.b)}, 0)
		bound := 4 * (a.len() + b.len() + 1) * max(s.limit, 1)
		t.Logf("%-18s %d steps, %.1f%% of the bound", name, s.steps, 100*float64(s.steps)/float64(bound))
		if s.steps > bound {
			t.Errorf("%s: %d steps for %d lines, at most %d are allowed", name, s.steps, a.len()+b.len(), bound)
		}
	}
}

func TestSlide(t *testing.T) {
	for name, c := range map[string][3]string{
		"function": {
			"func a() {\n\tx\n}\n\nfunc c() {\n\tx\n}\n",
			"func a() {\n\tx\n}\n\nfunc b() {\n\tx\n}\n\nfunc c() {\n\tx\n}\n",
			"func b() {\n\tx\n}\n\n",
		},
		"comment before function": {
			"/* one */\nint a() {\n  return 1;\n}\n",
			"/* one */\nint a() {\n  return 1;\n}\n\n/* two */\nint b() {\n  return 1;\n}\n",
			"\n/* two */\nint b() {\n  return 1;\n}\n",
		},
		"loop in loop": {
			"for a {\n    if x {\n        y\n    }\n}\n",
			"for a {\n    if z {\n        y\n    }\n    if x {\n        y\n    }\n}\n",
			"    if z {\n        y\n    }\n",
		},
	} {
		edits := Lines([]byte(c[0]), []byte(c[1]))
		if len(edits) != 1 || string(edits[0].New) != c[2] {
			t.Errorf("%s: %d edits, the first inserts %q, want %q", name, len(edits), edits[0].New, c[2])
		}
	}
}

func TestSimilarity(t *testing.T) {
	text := []byte(strings.Repeat("one line\nanother line\nsome more\n", 30))
	for _, c := range []struct {
		a, b     []byte
		from, to int
	}{
		{nil, nil, 100, 100},
		{text, text, 100, 100},
		{text, nil, 0, 0},
		{text, append([]byte("new line\n"), text...), 97, 99},
		{text, append(text[:len(text):len(text)], text...), 50, 50},
		{text, []byte("nothing like it\n"), 0, 0},
		{bytes.Repeat([]byte{1}, 1<<20), bytes.Repeat([]byte{1}, 1<<20-1), 99, 99},
	} {
		if got := Similarity(c.a, c.b); got < c.from || got > c.to {
			t.Errorf("similarity of %d and %d bytes: %d, want %d to %d", len(c.a), len(c.b), got, c.from, c.to)
		}
	}
}

func big() (a, b []byte) {
	rng := rand.New(rand.NewPCG(3, 4))
	var x, y bytes.Buffer
	for i := range 100_000 {
		l := fmt.Sprintf("\tline %d of the file has a value of %d\n", i, rng.IntN(50))
		x.WriteString(l)
		if rng.IntN(100) > 0 {
			y.WriteString(l)
		} else if rng.IntN(2) == 0 {
			fmt.Fprintf(&y, "changed %d\n", rng.Int())
		}
	}
	return x.Bytes(), y.Bytes()
}

func BenchmarkLines(b *testing.B) {
	x, y := big()
	b.SetBytes(int64(len(x)))
	for b.Loop() {
		Lines(x, y)
	}
}

func BenchmarkUnified(b *testing.B) {
	x, y := big()
	for b.Loop() {
		Unified([]File{{OldPath: "x", NewPath: "x", OldMode: 0100644, NewMode: 0100644, Old: x, New: y}})
	}
}

// BenchmarkGit is what the others are measured against.
func BenchmarkGit(b *testing.B) {
	dir := b.TempDir()
	x, y := big()
	os.WriteFile(filepath.Join(dir, "x"), x, 0o600)
	os.WriteFile(filepath.Join(dir, "y"), y, 0o600)
	for b.Loop() {
		cmd := exec.Command("git", "diff", "--no-index", "x", "y")
		cmd.Dir = dir
		if out, _ := cmd.Output(); len(out) == 0 {
			b.Fatal("git says nothing")
		}
	}
}

func TestQuote(t *testing.T) {
	got := map[string]string{}
	want := map[string]string{
		"plain name.txt": "plain name.txt",
		"tab\tnl\n":      `"tab\tnl\n"`,
		`q"b\`:           `"q\"b\\"`,
		"é\x7f\x01\xff":  `"\303\251\177\001\377"`,
		"\a\b\v\f\r":     `"\a\b\v\f\r"`,
	}
	for p := range want {
		got[p] = Quote(p)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestCommonChangesNoEdit compares with the edits of the whole texts.
func TestCommonChangesNoEdit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Blocks that hunks slide along, to where a blank line or a brace is.
		word := rapid.SampledFrom([]string{"a\n", "b\n", "\n", "func {\n\tx\n}\n\n", "\tx\n}\n\nfunc {\n",
			"}\n\nfunc {\n\tx\n"})
		var all []string
		for range rapid.IntRange(0, 4).Draw(rt, "blocks") {
			all = append(all, strings.Repeat(word.Draw(rt, "line"), rapid.SampledFrom([]int{1, 3, 50, 700}).Draw(rt, "times")))
		}
		a := []byte(strings.Join(all, "") + rapid.SampledFrom([]string{"", "end"}).Draw(rt, "end"))
		at := rapid.IntRange(0, len(a)).Draw(rt, "at")
		if nl := bytes.LastIndexByte(a[:at], '\n'); rapid.Bool().Draw(rt, "line start") {
			at = nl + 1
		}
		to := at
		if rapid.Bool().Draw(rt, "replaces") {
			to = rapid.IntRange(at, min(len(a), at+20)).Draw(rt, "to")
		}
		b := slices.Concat(a[:at], []byte(word.Draw(rt, "new")), a[to:])
		ta, tb := newText(a), newText(b)
		var want []Edit
		for _, h := range hunks(ta, tb) {
			want = append(want, Edit{ta.off[h.a0], ta.off[h.a1], tb.span(h.b0, h.b1)})
		}
		if d := cmp.Diff(want, Lines(a, b)); d != "" {
			rt.Fatalf("(-whole +trimmed):\n%s", d)
		}
	})
}
