// Package shell reads command lines as bash would, within bounds.
package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of what is parsed. The parser recurses, so that nesting costs
// stack; a line that could nest deeper than this is no command of a sane model.
const (
	MaxBytes = 5 << 20
	maxDeep  = 20_000
)

// The reasons for which a line is not parsed at all.
var (
	ErrTooLong = errors.New("the command is too long to be read")
	ErrTooDeep = errors.New("the command is nested too deeply to be read")
	ErrControl = errors.New("the command has control characters")
)

// Parse reads line. It never overflows the stack, whatever line is. A carriage
// return or a NUL is an error: shells and parsers differ about them.
func Parse(line string) (*syntax.File, error) {
	switch {
	case len(line) > MaxBytes:
		return nil, ErrTooLong
	case strings.ContainsAny(line, "\r\x00"):
		return nil, ErrControl
	case TooDeep(line):
		return nil, ErrTooDeep
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("the command is not complete shell: %w", err)
	}
	return file, nil
}

// TooDeep reports whether line could nest so deeply that parsing it would use up
// the stack. It bounds the nesting from above: every level takes at least one of
// these characters or words.
func TooDeep(line string) bool {
	if len(line) <= maxDeep {
		return false
	}
	n, word := 0, 0
	for i := range len(line) {
		switch c := line[i]; {
		case strings.IndexByte("({[!-+~?:|&`$\"*/%^<>=,", c) >= 0:
			n++
			word = i + 1
		case c == ' ' || c == '\t' || c == '\n' || c == ';' || c == ')' || c == '}':
			if keyword(line[word:i]) {
				n++
			}
			word = i + 1
		}
		if n > maxDeep {
			return true
		}
	}
	return false
}

func keyword(w string) bool {
	switch w {
	case "if", "while", "until", "for", "case", "select", "time", "coproc", "function", "then", "else", "elif",
		"do", "in", "let":
		return true
	}
	return false
}

// Literal returns the text of a word that means itself: nothing in it is
// expanded, split or matched against file names.
func Literal(w *syntax.Word) (string, bool) {
	if w.Lit() == "[" { // the name of a command, closed by nothing
		return "[", true
	}
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[{\\") || tilde(p.Value, b.String()) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar || !quoted(p, &b) {
				return "", false
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// tilde reports whether a ~ may mean a home: at the beginning of a word, and
// where a value or the next path of a list begins.
func tilde(s, before string) bool {
	for i := range len(s) {
		if s[i] != '~' {
			continue
		}
		if i > 0 {
			before = s[:i]
		}
		if before == "" || strings.HasSuffix(before, "=") || strings.HasSuffix(before, ":") {
			return true
		}
	}
	return false
}

func quoted(q *syntax.DblQuoted, b *strings.Builder) bool {
	for _, p := range q.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return false
		}
		b.WriteString(lit.Value)
	}
	return true
}

// Quote writes one word so that a shell reads it as it is.
func Quote(word string) string {
	plain := word != ""
	for i := range len(word) {
		c := word[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("_-./,:@%+=", c) >= 0) {
			plain = false
			break
		}
	}
	if plain && !assigns(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// assigns reports whether a shell could take a plain word for an assignment, or, with nothing before the
// sign, for the path of a program.
func assigns(word string) bool {
	name, _, is := strings.Cut(word, "=")
	return is && !strings.ContainsAny(name, "-./,:@%") && (name == "" || name[0] < '0' || name[0] > '9')
}

// Line is the command line that words amount to: the script, when they only start
// a shell with one; else the words, quoted.
func Line(words []string) string {
	if script, ok := Script(words); ok {
		return script
	}
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = Quote(w)
	}
	return strings.Join(all, " ")
}

// Script is what words tell a shell to run: bash -lc SCRIPT and its like.
func Script(words []string) (string, bool) {
	if len(words) != 3 || words[1] != "-c" && words[1] != "-lc" {
		return "", false
	}
	switch words[0] {
	case "bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/sh", "/usr/bin/zsh":
		return words[2], true
	}
	return "", false
}
