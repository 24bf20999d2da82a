package shell

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// TestNestingIsBounded feeds what would overflow the parser's stack.
func TestNestingIsBounded(t *testing.T) {
	deep := map[string]string{
		"parens":       strings.Repeat("(", 500_000),
		"braces":       strings.Repeat("{ ", 500_000),
		"substitution": strings.Repeat("$(", 500_000),
		"pipes":        strings.Repeat("a|", 500_000) + "a",
		"not":          strings.Repeat("! ", 500_000) + "a",
		"minus":        "echo $((" + strings.Repeat("-", 1_000_000) + "1))",
		"ternary":      "echo $((" + strings.Repeat("1?", 500_000) + "1))",
		"if":           strings.Repeat("if ", 400_000),
		"time":         strings.Repeat("time ", 200_000),
		"quotes":       strings.Repeat(`"${x:-`, 200_000),
		"tests":        "[[ " + strings.Repeat("! ", 400_000) + "a ]]",
	}
	for name, line := range deep {
		if _, err := Parse(line); !errors.Is(err, ErrTooDeep) {
			t.Errorf("%s: %v, want %v", name, err, ErrTooDeep)
		}
	}
	for name, line := range map[string]string{
		"10,000 parens": strings.Repeat("(", 10_000) + "a" + strings.Repeat(")", 10_000),
		"long list":     strings.Repeat("ls;", 349_525),
		"long word":     "echo " + strings.Repeat("a", 1<<20),
	} {
		if _, err := Parse(line); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(strings.Repeat("a", MaxBytes+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}

// FuzzQuote checks that a quoted word reads as itself.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a b", "it's", "=ls", "~", "$(x)", "a\nb", "-n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\r\x00") || !utf8.ValidString(s) {
			t.Skip()
		}
		file, err := Parse(Quote(s))
		if err != nil || len(file.Stmts) != 1 {
			t.Fatalf("%q: %v", Quote(s), err)
		}
		call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) != 1 || len(call.Assigns) != 0 {
			t.Fatalf("%q is no single word", Quote(s))
		}
		if got, ok := Literal(call.Args[0]); !ok || got != s {
			t.Fatalf("Quote(%q) reads as %q, %v", s, got, ok)
		}
	})
}
