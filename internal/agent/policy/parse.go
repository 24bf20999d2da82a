package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"kerf/internal/text/shell"
	"kerf/internal/text/visible"
)

// Parsed is a command line taken apart.
type Parsed struct {
	// Err says why the line could not be parsed; the rest is empty then.
	Err error
	// Commands are the simple commands in the order of the text, wherever they
	// stand: in lists, pipes, loops, functions and substitutions, and those that
	// another one starts (sudo, xargs, sh -c).
	Commands []Simple
	// Odd says what keeps the line from being a plain list of literal commands
	// joined by && || ; and |, each thing once.
	Odd []string

	bomb   bool // a function that starts itself in the background
	device bool // a redirection writes to a disk
	piped  bool // something is piped into an interpreter
}

// Plain reports whether the line consists of literal simple commands only.
func (p *Parsed) Plain() bool { return p.Err == nil && len(p.Odd) == 0 && len(p.Commands) > 0 }

// Simple is one simple command.
type Simple struct {
	Words []Word
	// Started is set when another command starts this one.
	Started bool
}

// Word is one word of a command. Text is its value when Literal, else its source.
type Word struct {
	Text    string
	Literal bool
	// Glob, Tilde and Expands say what a shell would still do with it.
	Glob, Tilde, Expands bool
}

// Argv returns the words of a command that is literal throughout.
func (s Simple) Argv() ([]string, bool) {
	argv := make([]string, len(s.Words))
	for i, w := range s.Words {
		if !w.Literal {
			return nil, false
		}
		argv[i] = w.Text
	}
	return argv, len(argv) > 0
}

// texts are the words as far as they are known, for lists that deny.
func (s Simple) texts() []string {
	argv := make([]string, len(s.Words))
	for i, w := range s.Words {
		argv[i] = w.Text
	}
	return argv
}

// Parse takes a command line apart.
func Parse(line string) *Parsed {
	p := &Parsed{}
	p.read(line, 0)
	if strings.Contains(line, "\\\n") && p.Err == nil {
		// Shells and parsers differ about a continued line, after a comment for
		// one, so its parts are judged as commands of their own, too.
		p.odd("a continued line")
		p.read(strings.ReplaceAll(line, "\\\n", " \n"), 1)
	}
	if p.Err == nil && visible.Odd(line) {
		p.odd("characters that cannot be seen, or pass for others")
	}
	return p
}

// maxNested bounds how deep scripts within commands are followed.
const maxNested = 4

func (p *Parsed) read(line string, depth int) {
	file, err := shell.Parse(line)
	if err != nil {
		if depth == 0 {
			p.Err = err
		} else {
			p.odd("a script that cannot be read")
		}
		return
	}
	printer := syntax.NewPrinter(syntax.SingleLine(true))
	syntax.Walk(file, func(n syntax.Node) bool {
		p.node(n, printer, depth)
		return true
	})
}

func (p *Parsed) odd(what string) {
	if !slices.Contains(p.Odd, what) {
		p.Odd = append(p.Odd, what)
	}
}

func (p *Parsed) node(n syntax.Node, printer *syntax.Printer, depth int) {
	switch n := n.(type) {
	case *syntax.Stmt:
		p.stmt(n)
	case *syntax.BinaryCmd:
		p.binary(n)
	case *syntax.CallExpr:
		p.call(n, printer, depth)
	case *syntax.DeclClause:
		p.odd("a declaration (" + n.Variant.Value + ")")
		p.Commands = append(p.Commands, Simple{Words: []Word{{Text: n.Variant.Value, Literal: true}}})
	case *syntax.FuncDecl:
		p.odd("a function")
		p.bomb = p.bomb || startsItself(n)
	case *syntax.CmdSubst:
		p.odd("a command substitution")
	case *syntax.ProcSubst:
		p.odd("a process substitution")
	case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ExtGlob, *syntax.BraceExp:
		p.odd("an expansion")
	case *syntax.Subshell:
		p.odd("a subshell")
	case *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		p.odd("a compound command")
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		p.odd("a shell test or calculation")
	case *syntax.TimeClause, *syntax.CoprocClause, *syntax.TestDecl:
		p.odd("a shell keyword")
	}
}

func (p *Parsed) stmt(s *syntax.Stmt) {
	switch {
	case s.Negated:
		p.odd("a negation")
	case s.Background || s.Disown:
		p.odd("a background job")
	case s.Coprocess:
		p.odd("a coprocess")
	}
	if s.Cmd == nil && len(s.Redirs) > 0 {
		p.odd("a redirection without a command")
	}
	for _, r := range s.Redirs {
		if !harmless(r) {
			p.odd("a redirection")
		}
		if r.Word != nil {
			target, _ := shell.Literal(r.Word)
			p.device = p.device || diskDevice(target) && r.Op != syntax.RdrIn
		}
	}
}

// harmless reports whether a redirection changes nothing: it reads a file that
// is no secret, joins output streams, or throws output away.
func harmless(r *syntax.Redirect) bool {
	if r.Hdoc != nil {
		return quotedDoc(r)
	}
	target, ok := shell.Literal(r.Word)
	if !ok {
		return false
	}
	switch r.Op {
	case syntax.DplOut:
		return target == "1" || target == "2"
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return target == "/dev/null"
	case syntax.RdrIn:
		return !sensitive(target) && !strings.HasPrefix(target, "/dev/tcp") && !strings.HasPrefix(target, "/dev/udp")
	case syntax.WordHdoc:
		return true
	}
	return false
}

// quotedDoc reports whether a here-document is taken as it stands.
func quotedDoc(r *syntax.Redirect) bool {
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return false
		}
		if _, quoted := r.Word.Parts[0].(*syntax.SglQuoted); !quoted && strings.ContainsRune(lit.Value, '\\') {
			return false
		}
	}
	return true
}

func (p *Parsed) binary(b *syntax.BinaryCmd) {
	if b.Op == syntax.PipeAll {
		p.odd("a pipe of both streams")
	}
	if b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
		return
	}
	if call, ok := b.Y.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		name, _ := shell.Literal(call.Args[0])
		p.piped = p.piped || interpreter(base(name)) && len(call.Args) <= 2
	}
}

func (p *Parsed) call(c *syntax.CallExpr, printer *syntax.Printer, depth int) {
	if len(c.Assigns) > 0 {
		p.odd("an assignment")
	}
	if len(c.Args) == 0 {
		return
	}
	s := Simple{Words: make([]Word, len(c.Args)), Started: depth > 0}
	for i, a := range c.Args {
		s.Words[i] = wordOf(a, printer)
		switch w := s.Words[i]; {
		case w.Literal, w.Expands: // expansions are told as such
		case w.Glob:
			p.odd("a pattern of file names")
		default:
			p.odd("an expansion")
		}
	}
	p.add(s, depth)
}

// add takes a command and those that it starts.
func (p *Parsed) add(s Simple, depth int) {
	p.Commands = append(p.Commands, s)
	if depth >= maxNested {
		return
	}
	if script, ok := scriptOf(s); ok {
		before := len(p.Odd)
		p.read(script, depth+1)
		if depth > 0 || len(p.Odd) == before {
			return
		}
		p.odd("a script for another shell")
		return
	}
	if inner, ok := started(s); ok {
		inner.Started = true
		p.add(inner, depth+1)
	}
}

func wordOf(w *syntax.Word, printer *syntax.Printer) Word {
	if text, ok := shell.Literal(w); ok {
		return Word{Text: text, Literal: true}
	}
	var b strings.Builder
	if err := printer.Print(&b, w); err != nil {
		return Word{Expands: true}
	}
	out := Word{Text: b.String()}
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			out.Glob = out.Glob || strings.ContainsAny(part.Value, "*?[")
			out.Tilde = out.Tilde || i == 0 && strings.HasPrefix(part.Value, "~")
		case *syntax.SglQuoted, *syntax.DblQuoted:
			syntax.Walk(part, func(n syntax.Node) bool {
				switch n.(type) {
				case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
					out.Expands = true
				}
				return true
			})
		default:
			out.Expands = true
		}
	}
	return out
}

// startsItself reports whether a function calls itself in the background or in a
// pipe: it would not end before the machine does.
func startsItself(f *syntax.FuncDecl) bool {
	if f.Name == nil {
		return false
	}
	calls, spreads := 0, false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() == f.Name.Value {
				calls++
			}
		case *syntax.Stmt:
			spreads = spreads || n.Background
		case *syntax.BinaryCmd:
			spreads = spreads || n.Op == syntax.Pipe
		}
		return true
	})
	return calls > 0 && spreads
}

// Plain splits line into the argument lists of its simple commands. It reports
// false when the line has anything else in it: a substitution, an expansion, a
// glob, a redirection that writes, an assignment, a compound, a function, a
// background job.
func Plain(line string) (commands [][]string, ok bool) {
	p := Parse(line)
	if !p.Plain() {
		return nil, false
	}
	for _, c := range p.Commands {
		if c.Started {
			continue
		}
		argv, literal := c.Argv()
		if !literal {
			return nil, false
		}
		commands = append(commands, argv)
	}
	return commands, true
}
