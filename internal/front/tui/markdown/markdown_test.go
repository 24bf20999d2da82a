package markdown

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/front/tui/style"
)

const sample = "# Title\nSome *text* with **bold**, ~~old~~ and `code`, a [link](http://x.test/a) and " +
	"<http://y.test>.\nmore  \nbroken\n\n- a\n- b\n  - c\n\n1. one\n2. two\n\n- [x] done\n- [ ] open\n\n" +
	"```go\nfunc main() {\n\t/* two\n\tlines */\n\treturn 1 // x\n}\n```\n\n| a | b |\n|---|--:|\n| one | 2 |\n\n" +
	"> quote\n> goes on\n\n---\n\n<b>raw</b>\n\nend"

func texts(rows []style.Line) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(r.Text(), " ") + "\n")
	}
	return b.String()
}

func TestRender(t *testing.T) {
	want, err := os.ReadFile("testdata/sample.txt")
	if os.Getenv("KERF_UPDATE") != "" {
		_ = os.MkdirAll("testdata", 0o755)
		err = os.WriteFile("testdata/sample.txt", []byte(texts(Render(sample, 60))), 0o644)
		want = []byte(texts(Render(sample, 60)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), texts(Render(sample, 60))); d != "" {
		t.Error(d)
	}
}

// TestStreamIsTheWhole: however a text is cut, the stream draws what the whole
// text draws.
func TestStreamIsTheWhole(t *testing.T) {
	want := texts(Render(sample, 60))
	rapid.Check(t, func(t *rapid.T) {
		s := New(60)
		var rows []style.Line
		for rest := sample; rest != ""; {
			n := rapid.IntRange(1, min(40, len(rest))).Draw(t, "n")
			rows = append(rows, s.Write(rest[:n])...)
			s.Tail()
			rest = rest[n:]
		}
		rows = append(rows, s.Close()...)
		if d := cmp.Diff(want, texts(rows)); d != "" {
			t.Fatal(d)
		}
	})
}

// TestPiecesDoNotMatter: whatever the text is, and however it is cut, its rows are the same.
func TestPiecesDoNotMatter(t *testing.T) {
	parts := rapid.SampledFrom([]string{"word ", "\n", "\n\n", "\r\n", "- item\n", "  - deeper\n", "1. one\n", "    code\n",
		"```go\n", "```\n", "> quote\n", "# head\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "漢字 ", "**bold", "** ",
		strings.Repeat("long ", 900), strings.Repeat("line\n", 1700)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(parts, 1, 12).Draw(t, "parts"), "")
		want := texts(Rows(text, 40))
		s := New(40)
		var rows []style.Line
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(rapid.SampledFrom([]int{3, 50, 6000}).Draw(t, "most"), len(rest))).Draw(t, "n")
			rows = append(rows, s.Write(rest[:n])...)
			rest = rest[n:]
		}
		if d := cmp.Diff(want, texts(append(rows, s.Close()...))); d != "" {
			t.Fatal(d)
		}
	})
}

// FuzzStream: any text is drawn within the width, and the open block stays small.
func FuzzStream(f *testing.F) {
	f.Add(sample, 40)
	f.Add("```\n```\n```", 10)
	f.Add(strings.Repeat("> ", 500)+"x", 20)
	f.Add(strings.Repeat("- ", 300)+"x", 20)
	f.Add("| a |\n|---|\n|"+strings.Repeat("漢", 50), 12)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 12 + (width%100+100)%100
		s := New(width)
		var rows []style.Line
		for i := 0; i < len(text); i += 7 {
			rows = append(rows, s.Write(text[i:min(i+7, len(text))])...)
			if n := len(s.open); n > 2*maxOpen {
				t.Fatalf("%d bytes are open", n)
			}
		}
		rows = append(rows, s.Tail()...)
		rows = append(rows, s.Close()...)
		for _, r := range rows {
			for _, sp := range r {
				if strings.ContainsAny(sp.Text, "\n\x1b\r") {
					t.Fatalf("%q in a row", sp.Text)
				}
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for b.Loop() {
		s := New(80)
		for i := 0; i < len(sample); i += 4 {
			s.Write(sample[i:min(i+4, len(sample))])
			s.Tail()
		}
		s.Close()
	}
}
