// Package patchcommand recognises shell commands that only apply a patch.
package patchcommand

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxShell bounds the commands that are looked into for a patch.
const maxShell = 4 << 20

// Line is the shell line that words amount to: the script, when they only start
// a shell with one; else the words, quoted.
func Line(words []string) string {
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		switch path.Base(words[0]) {
		case "bash", "sh", "zsh":
			return words[2]
		}
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote writes one word so that a shell reads it as it is.
func quote(word string) string {
	plain := word != ""
	for i := range len(word) {
		c := word[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-./,:@%+", c) >= 0) {
			plain = false
			break
		}
	}
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Find finds the patch in a command that does nothing but apply one:
//
//	[cd DIR &&] apply_patch <<'EOF' … EOF
//	[cd DIR &&] apply_patch 'TEXT'
//
// Everything has to be literal; what a shell would still expand is left to it.
func Find(line string) (text, dir string, ok bool) {
	if len(line) > maxShell || !strings.Contains(line, "apply") || tooDeep(line) {
		return "", "", false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 {
		return "", "", false
	}
	stmt := file.Stmts[0]
	if both, isBinary := stmt.Cmd.(*syntax.BinaryCmd); isBinary && both.Op == syntax.AndStmt && bare(stmt, 0) {
		words, literal := literals(both.X)
		if !literal || !bare(both.X, 0) || len(words) != 2 || words[0] != "cd" || words[1] == "" || words[1][0] == '-' ||
			words[1][0] == '~' {
			return "", "", false
		}
		dir, stmt = words[1], both.Y
	}
	words, literal := literals(stmt)
	if !literal || len(words) == 0 || !IsPatcher(words[0]) {
		return "", "", false
	}
	switch {
	case len(words) == 2 && bare(stmt, 0):
		return words[1], dir, true
	case len(words) == 1 && bare(stmt, 1):
		text, ok = heredoc(stmt.Redirs[0])
		return text, dir, ok
	}
	return "", "", false
}

// IsPatcher reports whether a program is the one that applies patches.
func IsPatcher(name string) bool { return name == "apply_patch" || name == "applypatch" }

// bare reports whether a statement is plain: run in the foreground, not negated,
// with so many redirections.
func bare(s *syntax.Stmt, redirs int) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown && len(s.Redirs) == redirs
}

// literals returns the words of a plain call, if nothing in them is expanded.
func literals(s *syntax.Stmt) ([]string, bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return nil, false
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		if words[i], ok = literal(w); !ok {
			return nil, false
		}
	}
	return words, true
}

// literal returns the value of a word made of plain and quoted text.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "\\*?[{") || strings.HasPrefix(p.Value, "~") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				l, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar || strings.ContainsRune(l.Value, '\\') {
					return "", false
				}
				b.WriteString(l.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// heredoc returns the text of a here-document that a shell would not change.
func heredoc(r *syntax.Redirect) (string, bool) {
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc || r.Hdoc == nil || r.N != nil && r.N.Value != "0" {
		return "", false
	}
	quoted := false
	for _, part := range r.Word.Parts {
		if _, plain := part.(*syntax.Lit); !plain {
			quoted = true
		}
	}
	var b strings.Builder
	for _, part := range r.Hdoc.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok || !quoted && strings.ContainsRune(l.Value, '\\') {
			return "", false
		}
		b.WriteString(l.Value)
	}
	text := b.String()
	if r.Op == syntax.DashHdoc {
		var out strings.Builder
		for line := range strings.Lines(text) {
			out.WriteString(strings.TrimLeft(line, "\t"))
		}
		text = out.String()
	}
	return text, true
}
