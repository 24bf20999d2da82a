package edit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/edit"
)

// fixture is one line of testdata/cases.jsonl.
type fixture struct {
	ID, Note, Input, Outcome, Output, Level, Warning string
	Args                                             struct {
		Old             string `json:"old_string"`
		New             string `json:"new_string"`
		All             bool   `json:"replace_all"`
		Normalization   string `json:"normalization"`
		EscapeMode      string `json:"escapeMode"`
		Before          string `json:"beforeContext"`
		After           string `json:"afterContext"`
		ExpectedVersion *int   `json:"expectedVersion"`
		ExpectedHash    string `json:"expectedHash"`
	}
	Replacements int
}

func TestConformance(t *testing.T) {
	files := []string{"testdata/cases.jsonl"}
	if more, _ := filepath.Glob("../../../../shared/conformance/edit/*.jsonl"); len(more) > 0 {
		files = append(files, more...)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var c fixture
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			if c.Args.ExpectedVersion != nil || c.Args.ExpectedHash != "" {
				continue // versions are the business of the tool
			}
			t.Run(c.ID, func(t *testing.T) { conform(t, c) })
		}
	}
}

func conform(t *testing.T, c fixture) {
	r := edit.Replacement{Old: c.Args.Old, New: c.Args.New, All: c.Args.All, Normalization: c.Args.Normalization,
		EscapeMode: c.Args.EscapeMode, Before: c.Args.Before, After: c.Args.After}
	res, err := edit.Apply([]byte(c.Input), r)
	outcome, output := "ok", string(res.Content)
	var e *edit.Error
	if errors.As(err, &e) {
		outcome, output = strings.ToLower(e.Code), c.Input
	}
	if outcome != c.Outcome || output != c.Output {
		t.Fatalf("%s: got %s %q, want %s %q", c.Note, outcome, output, c.Outcome, c.Output)
	}
	if outcome == "ok" && (res.Level != c.Level || res.Count != c.Replacements) {
		t.Errorf("%s: level %s and %d replacements, want %s and %d", c.Note, res.Level, res.Count, c.Level, c.Replacements)
	}
	warning := ""
	for _, w := range edit.Warnings(r) {
		warning += w.Code
	}
	if warning != c.Warning {
		t.Errorf("%s: warning %q, want %q", c.Note, warning, c.Warning)
	}
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, content string
		r             edit.Replacement
		want          string
		ranges        []edit.Range
	}{
		{"mark stays", "\xef\xbb\xbfa\nb\n", edit.Replacement{Old: "a", New: "x"}, "\xef\xbb\xbfx\nb\n", []edit.Range{{1, 1}}},
		{"mixed line ends stay", "a\r\nb\nc\r\nd", edit.Replacement{Old: "b\nc", New: "1\n2\n3"}, "a\r\n1\r\n2\r\n3\r\nd", []edit.Range{{2, 4}}},
		{"exact writes as given", "a\r\nb\r\n", edit.Replacement{Old: "b", New: "b\nc", Normalization: "exact"}, "a\r\nb\nc\r\n", []edit.Range{{2, 3}}},
		{"no line end in the file", "ab", edit.Replacement{Old: "b", New: "b\r\nc"}, "ab\r\nc", []edit.Range{{1, 2}}},
		{"all", "a\nb\na\nb\n", edit.Replacement{Old: "a", New: "x\ny", All: true}, "x\ny\nb\nx\ny\nb\n", []edit.Range{{1, 2}, {4, 5}}},
		{"deletion", "a\nb\nc\n", edit.Replacement{Old: "b\n"}, "a\nc\n", []edit.Range{{2, 2}}},
		{"deletion at the end", "a\nb\n", edit.Replacement{Old: "b\n"}, "a\n", []edit.Range{{1, 1}}},
		{"deletion of all", "a\n", edit.Replacement{Old: "a\n"}, "", []edit.Range{{1, 1}}},
		{"whole lines", "a\nb\nc\n", edit.Replacement{Old: "b\n", New: "x\ny\n"}, "a\nx\ny\nc\n", []edit.Range{{2, 3}}},
		{"indentation out", "\t\tif x {\n\t\t\ty()\n\t\t}\n", edit.Replacement{Old: "if x {\n\ty()\n}", New: "if z {\n\n\ty()\n}", Normalization: "indentation"},
			"\t\tif z {\n\n\t\t\ty()\n\t\t}\n", []edit.Range{{1, 4}}},
		{"indentation of another kind", "\ta()\n", edit.Replacement{Old: "    a()", New: "    b()\n  c()", Normalization: "indentation"},
			"\tb()\n  c()\n", []edit.Range{{1, 2}}},
		{"indentation after a blank line", "x\n\n\ta()\n", edit.Replacement{Old: "  \n a()", New: " b()", Normalization: "indentation"},
			"x\n\tb()\n", []edit.Range{{2, 2}}},
		{"whitespace edges", "x\n  f( a )\ny", edit.Replacement{Old: "\n f(a)\n", New: "\n g(a)\n", Normalization: "whitespace"}, "x\n  g(a)\ny", []edit.Range{{2, 2}}},
		{"whitespace edges that differ", "f( a )", edit.Replacement{Old: "\tf(a)", New: "  g(a)", Normalization: "whitespace"}, "  g(a)", []edit.Range{{1, 1}}},
		{"raw bytes", "caf\xe9 a\n", edit.Replacement{Old: "a\n", New: "b\n"}, "caf\xe9 b\n", []edit.Range{{1, 1}}},
		{"surrogates joined", "a", edit.Replacement{Old: "a", New: `\ud83d\ude00\x\`, EscapeMode: "interpreted"}, `😀\x\`, []edit.Range{{1, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := edit.Apply([]byte(c.content), c.r)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(res.Content)); d != "" {
				t.Errorf("content (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.ranges, res.Ranges); d != "" {
				t.Errorf("ranges (-want +got):\n%s", d)
			}
		})
	}
}

func TestUTF16(t *testing.T) {
	for name, big := range map[string]bool{"little": false, "big": true} {
		t.Run(name, func(t *testing.T) {
			content := utf16Bytes("\ufeffeins 😀\r\nzwei\r\n", big)
			res, err := edit.Apply(content, edit.Replacement{Old: "😀\nzwei", New: "값\n😀"})
			if err != nil {
				t.Fatal(err)
			}
			if want := utf16Bytes("\ufeffeins 값\r\n😀\r\n", big); !bytes.Equal(res.Content, want) {
				t.Errorf("got % x\nwant % x", res.Content, want)
			}
			if d := cmp.Diff([]edit.Span{{Start: 12, End: 28}}, res.Spans); d != "" {
				t.Errorf("spans (-want +got):\n%s", d)
			}
		})
	}
}

func utf16Bytes(s string, big bool) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

// TestRefusals compares messages with testdata/refusals.txt: they are read by the
// model, so a change of wording is a change of behaviour.
func TestRefusals(t *testing.T) {
	source := "package a\n\nfunc f(x int) int {\n\tif x > 1 {  \n\t\treturn x * 2\n\t}\n\treturn x\n}\n"
	var got strings.Builder
	for _, c := range []struct {
		name, content string
		r             edit.Replacement
	}{
		{"same", source, edit.Replacement{Old: "x", New: "x"}},
		{"empty", source, edit.Replacement{New: "x"}},
		{"already so", "a\r\nb", edit.Replacement{Old: "a\r\nb", New: "a\nb"}},
		{"bad level", source, edit.Replacement{Old: "x", Normalization: "fuzzy"}},
		{"bad mode", source, edit.Replacement{Old: "x", EscapeMode: "c"}},
		{"ambiguous", source, edit.Replacement{Old: "return x", New: "y"}},
		{"very ambiguous", strings.Repeat("a\n", 30), edit.Replacement{Old: "a", New: "b"}},
		{"empty file", "", edit.Replacement{Old: "a", New: "b"}},
		{"trailing", source, edit.Replacement{Old: "\tif x > 1 {\n\t\treturn x * 2", New: "y"}},
		{"indentation", source, edit.Replacement{Old: "    if x > 1 {\n        return x * 2", New: "y"}},
		{"white space", source, edit.Replacement{Old: "return x*2", New: "y"}},
		{"quotes", "a = 'b'\n", edit.Replacement{Old: `a = "b"`, New: "y"}},
		{"line numbers", source, edit.Replacement{Old: "   6 | \t}\n   7 | \treturn x", New: "y"}},
		{"escapes", source, edit.Replacement{Old: `{\n\tif x`, New: "y"}},
		{"line ends at exact", "a\r\nb\r\n", edit.Replacement{Old: "a\nb", New: "y", Normalization: "exact"}},
		{"context", source, edit.Replacement{Old: "return x", New: "y", Before: "func g"}},
		{"near", source, edit.Replacement{Old: "\tif x > 1 {\n\t\treturn x * 3\n\t}", New: "y"}},
		{"nothing near", source, edit.Replacement{Old: "@@@@ ####", New: "y"}},
		{"hidden characters", "let a\u00a0= “b”;\x01\n", edit.Replacement{Old: "let a = \"b\";", New: "y"}},
		{"hidden characters further down", "let\na\u00a0\n\nlet b = “b”;\nlet c", edit.Replacement{Old: "b = \"b\";\nlet", New: "y"}},
		{"long line", strings.Repeat("var q = 1;", 900) + "let total = count + 1;" + strings.Repeat("var q = 1;", 900), edit.Replacement{Old: "let total = counts + 1;", New: "y"}},
		{"not UTF-8", "caf\xe9 au lait\n", edit.Replacement{Old: "café au lait", New: "y"}},
		{"cannot hold", "caf\xe9 au lait\n", edit.Replacement{Old: "lait", New: "값"}},
		{"half a character", "a", edit.Replacement{Old: "a", New: `\ud83d`, EscapeMode: "interpreted"}},
		{"broken UTF-16", "\xff\xfea\x00\x00\xd8", edit.Replacement{Old: "c", New: "b"}},
		{"odd UTF-16", "\xff\xfea", edit.Replacement{Old: "a", New: "b"}},
	} {
		_, err := edit.Apply([]byte(c.content), c.r)
		fmt.Fprintf(&got, "-- %s --\n%v\n", c.name, err)
	}
	golden(t, "testdata/refusals.txt", got.String())
}

// golden compares got with a file, which KERF_UPDATE=1 rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("KERF_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// A change keeps everything outside its spans, and the exact level does what
// strings.Replace does.
func FuzzApply(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", true, uint8(1))
	f.Add("\xff\xfea\x00\n\x00", "a", "값", false, uint8(1))
	f.Add("  if x:\n    y()\n", "if x:\n  y()", "z", false, uint8(3))
	f.Add("f( a , b )", "f(a,b)", "", true, uint8(5))
	f.Fuzz(func(t *testing.T, content, old, fresh string, all bool, level uint8) {
		levels := []string{"exact", "line-endings", "trailing", "indentation", "whitespace", "structural"}
		r := edit.Replacement{Old: old, New: fresh, All: all, Normalization: levels[int(level)%len(levels)]}
		before := content
		res, err := edit.Apply([]byte(content), r)
		if content != before {
			t.Fatal("the content was changed in place")
		}
		var e *edit.Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%T is not an *edit.Error", err)
			}
			if len(e.Message) > 40_000 {
				t.Fatalf("a message of %d bytes", len(e.Message))
			}
			return
		}
		if len(res.Spans) != res.Count || len(res.Ranges) != res.Count {
			t.Fatalf("%d replacements, spans %v, ranges %v", res.Count, res.Spans, res.Ranges)
		}
		first, last := res.Spans[0].Start, res.Spans[res.Count-1].End
		if !strings.HasPrefix(string(res.Content), content[:first]) ||
			!strings.HasSuffix(string(res.Content), content[last:]) {
			t.Fatalf("%q outside %v was not kept: %q", content, res.Spans, res.Content)
		}
		if r.Normalization == "exact" && !strings.HasPrefix(content, "\xff\xfe") && !strings.HasPrefix(content, "\xfe\xff") {
			body := strings.TrimPrefix(content, "\xef\xbb\xbf")
			want := content[:len(content)-len(body)] + strings.ReplaceAll(body, old, fresh)
			if string(res.Content) != want {
				t.Fatalf("got %q, want %q", res.Content, want)
			}
		}
	})
}

func BenchmarkApply10MB(b *testing.B) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
		line := "// a line of the file that says little, but says it" + end
		content := []byte(strings.Repeat(line, 100_000) + "the one" + end + strings.Repeat(line, 100_000))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := edit.Apply(content, edit.Replacement{Old: "it\nthe one\n", New: "x\n"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNotFound1MB(b *testing.B) {
	content := []byte(strings.Repeat("// a line of the file that says little\n\tif a > b {\n\t}\n", 20_000))[:1<<20]
	for b.Loop() {
		if _, err := edit.Apply(content, edit.Replacement{Old: "\tif a < c {\n\t\treturn\n\t}", New: "x"}); err == nil {
			b.Fatal("found")
		}
	}
}

// TestImageHasTheSumOfTheContent also where the sum is made while the content is.
func TestImageHasTheSumOfTheContent(t *testing.T) {
	line := "one line of many, with the word here\n"
	for name, content := range map[string]string{
		"small": line,
		"large": strings.Repeat(line, 40_000),
		"bytes": "\x80\x81\xfd" + strings.Repeat(line, 40_000),
		"mark":  "\xef\xbb\xbf" + strings.Repeat(line, 40_000),
		"wide":  "\xff\xfe" + strings.Repeat("h\x00e\x00r\x00e\x00\n\x00", 200_000),
	} {
		for _, r := range []edit.Replacement{{Old: "here", New: "there", All: true}, {Old: "here\n", New: "", All: true},
			{Old: "here", New: "h", All: true}} {
			res, err := edit.Apply([]byte(content), r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, got := delta.NewFile(res.Content, 0o640), res.Image(0o640)
			if got.Version != want.Version || !bytes.Equal(got.Data, want.Data) || !got.Loaded {
				t.Errorf("%s, %q: %+v, want %+v", name, r.New, got.Version, want.Version)
			}
		}
	}
}
