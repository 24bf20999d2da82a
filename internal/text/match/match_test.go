package match_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/match"
)

func TestFind(t *testing.T) {
	const (
		le = match.LineEndings
		tr = match.Trailing
		in = match.Indentation
		ws = match.Whitespace
		st = match.Structural
	)
	for _, c := range []struct {
		name, text, passage string
		level               match.Level
		before, after       string
		want                []string // the regions as they stand in the text
		at                  match.Level
	}{
		{"none", "one", "two", st, "", "", nil, 0},
		{"empty passage", "one", "", st, "", "", nil, 0},
		{"not overlapping", "aaaaa", "aa", 0, "", "", []string{"aa", "aa"}, 0},
		{"exact wins", "a\nb a\r\nb", "a\nb", le, "", "", []string{"a\nb"}, 0},
		{"crlf file", "x\r\na\r\nb\r\n", "a\nb\n", le, "", "", []string{"a\r\nb\r\n"}, le},
		{"crlf passage", "a\nb\n", "a\r\nb", le, "", "", []string{"a\nb"}, le},
		{"line end first", "a\r\nb", "\nb", tr, "", "", []string{"\nb"}, 0},
		{"line end whole", "a\r\nb\r\n", "\nb\n", le, "", "", []string{"\r\nb\r\n"}, le},
		{"lone cr stays", "a\rb", "a\nb", tr, "", "", nil, 0},
		{"trailing in the middle", "a \t\nb  \n", "a\nb", tr, "", "", []string{"a \t\nb"}, tr},
		{"trailing takes blanks of its line end", "a\nb  \r\nc", "b\nc", tr, "", "", []string{"b  \r\nc"}, tr},
		{"trailing starts with blanks", "x\na  \nb", "\nb", tr, "", "", []string{"\nb"}, 0},
		{"trailing takes blanks before", "x  \nb \nc", "\nb\nc", tr, "", "", []string{"  \nb \nc"}, tr},
		{"trailing passage", "a\nb\n", "a\nb  ", tr, "", "", []string{"a\nb"}, tr},
		{"trailing passage must stop", "ab\na \n", "a  ", tr, "", "", []string{"a "}, tr},
		{"trailing at the end", "xb\t", "b  ", tr, "", "", []string{"b\t"}, tr},
		{"trailing only blanks", "a \n", "\t", tr, "", "", nil, 0},
		{"indentation", "  if x:\n      y()  \nz", "if x:\n  y()", in, "", "", []string{"  if x:\n      y()  "}, in},
		{"indentation with line end", "\ta\n\tb\n", " a\n b\n", in, "", "", []string{"\ta\n\tb\n"}, in},
		{"indentation needs the line end", "\ta\n\tb", " a\n b\n", in, "", "", nil, 0},
		{"indentation is whole lines", "xa\n", " a", in, "", "", nil, 0},
		{"indentation neighbours", "  a\n    a\n", "\ta", in, "", "", []string{"  a", "    a"}, in},
		{"whitespace", "f( a,b )", "f(a, b)", ws, "", "", []string{"f( a,b )"}, ws},
		{"whitespace keeps words apart", "returnx", "return x", ws, "", "", nil, 0},
		{"whitespace in letters", "값  이름", "값 이름", ws, "", "", []string{"값  이름"}, ws},
		{"whitespace around", "a\n b\n", "  a b  ", ws, "", "", []string{"a\n b"}, ws},
		{"structural", "x = 'a' + `b`", "x=\"a\"+\"b\"", st, "", "", []string{"x = 'a' + `b`"}, st},
		{"typographic quotes are themselves", "x = ‘a’", "x = 'a'", st, "", "", nil, 0},
		{"before", "a:\n x\nb:\r\n\r\n x\n", " x", le, "a:\n x\nb:\n", "", []string{" x"}, 0},
		{"after", "x = 1\ny\nx = 1\n\n z\n", "x = 1", le, "", " z ", []string{"x = 1"}, 0},
		{"context decides the level", "a\nb", "a\nb", st, "q", "", nil, 0},
		{"blank context", "ab", "b", 0, " \n", "\t", []string{"b"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := match.Find([]byte(c.text), match.Query{Passage: []byte(c.passage), Level: c.level,
				Before: []byte(c.before), After: []byte(c.after)})
			var regions []string
			for _, s := range got.Spans {
				regions = append(regions, c.text[s.Start:s.End])
			}
			if d := cmp.Diff(c.want, regions); d != "" {
				t.Errorf("regions of %q in %q (-want +got):\n%s", c.passage, c.text, d)
			}
			if len(regions) > 0 && got.Level != c.at {
				t.Errorf("level %s, want %s", got.Level, c.at)
			}
		})
	}
}

// Spans ascend, do not overlap and lie in the text; a level finds what it should
// whatever blanks and line ends are put into the text.
func TestFindLaws(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", " ", "\t", "\n", "\r\n", "\r", "'", "\"", "값", "_", "(", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "text"), "")
		passage := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "passage"), "")
		level := match.Level(rapid.IntRange(0, int(match.Structural)).Draw(t, "level"))
		found := match.Find([]byte(text), match.Query{Passage: []byte(passage), Level: level})
		at := 0
		for _, s := range found.Spans {
			if s.Start < at || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("spans %v of %q in %q", found.Spans, passage, text)
			}
			at = s.End
			// What was matched is found in itself, at that level or a stricter one.
			again := match.Find([]byte(text[s.Start:s.End]), match.Query{Passage: []byte(passage), Level: found.Level})
			if len(again.Spans) == 0 && !strings.HasSuffix(passage, " ") && !strings.HasSuffix(passage, "\t") {
				t.Fatalf("%q matched %q at %s, but not alone", passage, text[s.Start:s.End], found.Level)
			}
		}
		if n := strings.Count(text, passage); n > 0 && (found.Level != match.Exact || len(found.Spans) != n) {
			t.Fatalf("%q in %q: %v at %s, want %d exact", passage, text, found.Spans, found.Level, n)
		}
	})
}

// A plain slow twin of the line-endings and trailing levels.
func TestFoldedLevelsAgreeWithTwin(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", " ", "\t", "\n", "\r\n", "\r"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "text"), "")
		passage := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "passage"), "")
		if strings.Contains(text, passage) || strings.ContainsAny(passage[len(passage)-1:], " \t") {
			return
		}
		want := strings.Count(strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(passage, "\r\n", "\n"))
		found := match.Find([]byte(text), match.Query{Passage: []byte(passage), Level: match.LineEndings})
		if len(found.Spans) != want {
			t.Fatalf("line-endings: %q in %q: %v, want %d", passage, text, found.Spans, want)
		}
		if want > 0 {
			return
		}
		want = strings.Count(plain(text), plain(passage))
		found = match.Find([]byte(text), match.Query{Passage: []byte(passage), Level: match.Trailing})
		if len(found.Spans) != want {
			t.Fatalf("trailing: %q in %q: %v, want %d", passage, text, found.Spans, want)
		}
	})
}

func plain(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	return strings.Join(lines, "\n")
}

func TestNearest(t *testing.T) {
	text := source(400) + "func total(items []Item) int {\n\tsum := 0\n\tfor _, it := range items {\n\t\tsum += " +
		"it.Price\n\t}\n\treturn sum\n}\n" + source(400)
	for _, passage := range []string{
		"func total(items []Item) int {\n\tsum := 0\n\tfor _, i := range items {",
		"func total(items []Item) int {\n    total := 0\n    for _, it := range items {",
		"func Total(items []Items) int {",
	} {
		p, ok := match.Nearest([]byte(text), []byte(passage))
		if !ok || p.First != 1201 || !strings.HasPrefix(text[p.Start:p.End], "func total") {
			t.Errorf("nearest to %q: lines %d-%d (%v) %q", passage, p.First, p.Last, ok, text[p.Start:p.End])
		}
	}
	if p, ok := match.Nearest([]byte(text), []byte("ZQXJ 한글 @@@@ ####")); ok {
		t.Errorf("nearest to nonsense: %+v", p)
	}
	long := strings.Repeat("var q=1;", 5000) + "function compute(alpha,beta){return alpha*beta}" +
		strings.Repeat("var q=1;", 5000)
	p, ok := match.Nearest([]byte(long), []byte("function compute(alpha, beta) { return alpha+beta }"))
	if !ok || !strings.Contains(long[p.Start:p.End], "compute(alpha,beta)") {
		t.Errorf("nearest in a long line: %v %q", ok, long[p.Start:min(p.End, p.Start+200)])
	}
}

func FuzzNearest(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("b"))
	f.Fuzz(func(t *testing.T, text, passage []byte) {
		p, ok := match.Nearest(text, passage)
		if ok && (p.Start < 0 || p.End < p.Start || p.End > len(text) || p.First < 1 || p.Last < p.First) {
			t.Fatalf("%+v of %d bytes", p, len(text))
		}
	})
}

func source(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "// line %d of the file says little\n\tif value%d > limit%d {\n\t}\n", i, i*7, i%13)
	}
	return b.String()
}

func BenchmarkNearest1MB(b *testing.B) {
	text := []byte(source(20000))[:1<<20]
	passage := []byte("\tif valve98 > limit1 {\n\t\treturn\n\t}\n// line 15 of this file")
	for b.Loop() {
		match.Nearest(text, passage)
	}
}

func BenchmarkFindCRLF10MB(b *testing.B) {
	text := bytes.ReplaceAll([]byte(source(130000)), []byte("\n"), []byte("\r\n"))
	q := match.Query{Passage: []byte("// line 129000 of the file says little\n\tif"), Level: match.LineEndings}
	for b.Loop() {
		if len(match.Find(text, q).Spans) != 1 {
			b.Fatal("not found")
		}
	}
}

// TestSomewhereMissesNothing: what any level finds, Somewhere says is there.
func TestSomewhereMissesNothing(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "é", "'", "\"", "(", " ", "\t", "\n", "\r\n", "\r"})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "text"), ""))
		passage := []byte(strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "passage"), ""))
		found := match.Find(text, match.Query{Passage: passage, Level: match.Structural})
		if len(found.Spans) > 0 && !match.Somewhere(text, passage) {
			t.Fatalf("%q is in %q at level %s", passage, text, found.Level)
		}
		if strings.TrimSpace(string(passage)) != "" && len(found.Spans) == 0 && match.Somewhere(text, passage) {
			t.Fatalf("%q is not in %q", passage, text)
		}
	})
}
