package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxLine bounds what is parsed: longer text is not known to be safe.
const maxLine = 64 << 10

// KnownSafe reports whether line is a list of plain commands that are known to
// only read. The line is parsed as shell; whatever is not literal words joined
// by && || ; and | is not known to be safe.
func KnownSafe(line string) bool {
	words, ok := Plain(line)
	if !ok || len(words) == 0 {
		return false
	}
	for _, argv := range words {
		if !safeArgv(argv) {
			return false
		}
	}
	return true
}

// Plain splits line into the argument lists of its simple commands. It reports
// false when the line has anything else in it: a substitution, an expansion, a
// glob, a redirection, an assignment, a compound, a function, a background job.
func Plain(line string) (commands [][]string, ok bool) {
	if len(line) > maxLine || strings.ContainsAny(line, "\r\x00") {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false
	}
	for _, st := range file.Stmts {
		if commands, ok = plainStmt(st, commands); !ok {
			return nil, false
		}
	}
	return commands, true
}

func plainStmt(st *syntax.Stmt, commands [][]string) ([][]string, bool) {
	if st.Negated || st.Background || st.Coprocess || len(st.Redirs) > 0 {
		return nil, false
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		argv, ok := plainCall(cmd)
		return append(commands, argv), ok
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.PipeAll {
			return nil, false
		}
		commands, ok := plainStmt(cmd.X, commands)
		if !ok {
			return nil, false
		}
		return plainStmt(cmd.Y, commands)
	}
	return nil, false
}

func plainCall(call *syntax.CallExpr) ([]string, bool) {
	if len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, false
	}
	argv := make([]string, len(call.Args))
	for i, w := range call.Args {
		s, ok := literal(w)
		if !ok {
			return nil, false
		}
		argv[i] = s
	}
	return argv, true
}

// literal returns the text of a word that means itself.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[{\\~") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar || !plainQuoted(p, &b) {
				return "", false
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

func plainQuoted(q *syntax.DblQuoted, b *strings.Builder) bool {
	for _, p := range q.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return false
		}
		b.WriteString(lit.Value)
	}
	return true
}

// readers are programs that only read, whatever their arguments.
var readers = []string{"cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "numfmt", "paste",
	"pwd", "rev", "seq", "sleep", "stat", "tac", "tail", "tr", "true", "uname", "wc", "which", "whoami"}

// guarded are programs that only read unless one of these options is given.
var guarded = map[string][]string{
	"base64": {"-o", "--output"},
	"find":   {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"},
	"rg":     {"--pre", "--hostname-bin", "--search-zip", "-z"},
}

// gitReaders are git's subcommands that only read.
var gitReaders = []string{"status", "log", "diff", "show", "rev-parse", "ls-files", "blame"}

// gitGuarded are options with which even those may write or run programs.
var gitGuarded = []string{"-c", "-C", "--git-dir", "--work-tree", "--exec-path", "--namespace", "--super-prefix",
	"--config-env", "--output", "--ext-diff", "--textconv", "--exec", "--paginate", "-p", "-O", "--open-files-in-pager"}

func safeArgv(argv []string) bool {
	name, args := argv[0], argv[1:]
	if path.Base(name) != name {
		return false
	}
	if slices.Contains(readers, name) {
		return true
	}
	if bad, ok := guarded[name]; ok {
		return !hasOption(args, bad)
	}
	switch name {
	case "git":
		return len(args) > 0 && slices.Contains(gitReaders, args[0]) && !hasOption(args, gitGuarded)
	case "sed":
		return len(args) >= 2 && args[0] == "-n" && sedPrint(args[1]) && !hasOption(args[2:], []string{"-i", "-e", "-f", "-s", "-n", "--in-place"})
	case "uniq":
		return len(args) <= 1
	}
	return false
}

// hasOption reports whether args has one of the options, also joined with its
// value.
func hasOption(args, options []string) bool {
	for _, a := range args {
		for _, o := range options {
			if a == o || strings.HasPrefix(a, o+"=") || len(o) == 2 && len(a) > 2 && strings.HasPrefix(a, o) {
				return true
			}
		}
	}
	return false
}

// sedPrint matches N[,M]p.
func sedPrint(s string) bool {
	body, ok := strings.CutSuffix(s, "p")
	from, to, two := strings.Cut(body, ",")
	return ok && digits(from) && (!two || digits(to))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
