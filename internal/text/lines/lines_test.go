package lines

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Info
	}{
		{"empty", "", Info{0, "", UTF8, false}},
		{"one newline", "\n", Info{1, LF, UTF8, true}},
		{"unterminated", "a", Info{1, "", UTF8, false}},
		{"lf", "a\nb\n", Info{2, LF, UTF8, true}},
		{"lf open", "a\nb", Info{2, LF, UTF8, false}},
		{"crlf", "a\r\nb\r\n", Info{2, CRLF, UTF8, true}},
		{"mixed", "a\r\nb\n", Info{2, Mixed, UTF8, true}},
		{"lone cr is no end", "a\rb\r", Info{1, "", UTF8, false}},
		{"cr cr lf", "a\r\r\n", Info{1, CRLF, UTF8, true}},
		{"bom", "\xEF\xBB\xBFa\n", Info{1, LF, UTF8BOM, true}},
		{"bom alone", "\xEF\xBB\xBF", Info{0, "", UTF8BOM, false}},
		{"latin1", "caf\xe9\n", Info{1, LF, Unknown8, true}},
		{"bom then latin1", "\xEF\xBB\xBF\xe9\n", Info{1, LF, Unknown8, true}},
		{"nul", "a\x00b\n", Info{1, LF, Binary, true}},
		{"utf16le", "\xFF\xFEa\x00\r\x00\n\x00b\x00", Info{2, CRLF, UTF16LE, false}},
		{"utf16be", "\xFE\xFF\x00a\x00\n", Info{1, LF, UTF16BE, true}},
		{"utf16le with a unit that holds 0x0a", "\xFF\xFE\x0a\x0a", Info{1, "", UTF16LE, false}},
		{"utf16 bom alone", "\xFF\xFE", Info{0, "", UTF16LE, false}},
		{"utf16 odd", "\xFF\xFEa", Info{1, "", Unknown8, false}},
		{"utf32", "\xFF\xFE\x00\x00a\x00\x00\x00", Info{1, "", Binary, false}},
	} {
		if diff := cmp.Diff(c.want, Facts([]byte(c.in))); diff != "" {
			t.Errorf("%s %q: -want +got\n%s", c.name, c.in, diff)
		}
	}
}

func someText() *rapid.Generator[[]byte] {
	return rapid.SliceOf(rapid.SampledFrom([]byte("ab\r\n\n\x00\xff")))
}

func TestSplitLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := someText().Draw(t, "text")
		ls := Split(b)
		if got := bytes.Join(ls, nil); !bytes.Equal(got, b) {
			t.Fatalf("joined %q, want %q", got, b)
		}
		if len(ls) != Count(b) {
			t.Fatalf("%d lines, Count says %d", len(ls), Count(b))
		}
		for i, l := range ls {
			if n := bytes.IndexByte(l, '\n'); n >= 0 && n != len(l)-1 || n < 0 && i != len(ls)-1 || len(l) == 0 {
				t.Fatalf("line %d is %q", i, l)
			}
		}
	})
}

func TestIndexAgreesWithSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := someText().Draw(t, "text")
		x, at := NewIndex(b), 0
		for i, l := range Split(b) {
			if got := x.Offset(i + 1); got != at {
				t.Fatalf("offset of line %d is %d, want %d", i+1, got, at)
			}
			for o := at; o < at+len(l); o++ {
				if got := x.LineOf(o); got != i+1 {
					t.Fatalf("line of %d is %d, want %d", o, got, i+1)
				}
			}
			at += len(l)
		}
		if got := len(x.starts); got != Count(b) {
			t.Fatalf("%d lines, want %d", got, Count(b))
		}
		if x.Offset(len(x.starts)+1) != len(b) || x.Offset(-3) != 0 || x.LineOf(-1) != 1 ||
			x.LineOf(len(b)+9) != max(1, len(x.starts)) {
			t.Fatal("offsets and lines outside the text are not clamped")
		}
	})
}
