package visible

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	tests := map[string]string{
		"plain text\n\tgoes":       "plain text\n\tgoes",
		"a\r\nb":                   "a\nb",
		"a\rb":                     "a<U+000D>b",
		"\x1b[2J":                  "<U+001B>[2J",
		"\u009b31m":                "<U+009B>31m",
		"\x9b31m":                  "<0x9B>31m",
		"a\u202eb":                 "a<U+202E>b",
		"a\u200bb\u2066c":          "a<U+200B>b<U+2066>c",
		"\U000e0041":               "<U+E0041>",
		"a\u00a0b":                 "a<U+00A0>b",
		"main\u3000&& x":           "main<U+3000>&& x",
		"\u0441at /etc":            "<U+0441>at /etc", // Cyrillic es
		"/usr/b\u0456n/ls":         "/usr/b<U+0456>n/ls",
		"g\u200bit \u0441\u200bat": "g<U+200B>it <U+0441><U+200B>at",
		"ｒm":                       "<U+FF52>m",
		"привет, мир":              "привет, мир",
		"5 μs und ΔT":              "5 μs und ΔT",
		"naïve façade 東京 한국":       "naïve façade 東京 한국",
		"❤️ 👩‍💻":                   "❤️ 👩‍💻",
		"\x00\x08\x0b\x0c\x7f":     "<U+0000><U+0008><U+000B><U+000C><U+007F>",
	}
	for in, want := range tests {
		if got := String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got := Line("a\n\tb\x07\n"); got != "a␊ b<U+0007>" {
		t.Errorf("Line = %q", got)
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "\x1b]0;x\x07", "\u202e", "\u0441at", "\xff\xfe", "👩‍💻"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := String(s)
		if !utf8.ValidString(got) {
			t.Fatalf("String(%q) = %q is no UTF-8", s, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Fatalf("String(%q) = %q has a control character", s, got)
		}
		if String(got) != got {
			t.Fatalf("String is not idempotent on %q: %q", s, got)
		}
	})
}
