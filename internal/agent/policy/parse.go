package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"kerf/internal/agent/policy/reads"
	"kerf/internal/agent/policy/starts"
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
	// Doubts say why what the line runs is not known from its words, each thing once.
	Doubts []string

	file   *syntax.File
	calls  map[*syntax.CallExpr]int // which command each is; of those in the line itself
	bomb   bool                     // a function that starts itself in the background
	device bool                     // a redirection writes to a disk
	piped  bool                     // something is piped into an interpreter
	sets   string                   // a variable that changes what programs run

	inner   int       // how many commands are started by others
	guesses []Simple  // they may start what some of their words say
	maybe   []*Parsed // texts that may be scripts
}

// Plain reports whether the line consists of literal simple commands only.
func (p *Parsed) Plain() bool { return p.Err == nil && len(p.Odd) == 0 && len(p.Commands) > 0 }

// Simple is one simple command.
type Simple struct {
	Words []Word
	// Started is set when another command starts this one.
	Started bool
	// More is set when it gets further words, which nobody knows yet.
	More bool
}

// Word is one word of a command. Text is its value when Known, else its source.
type Word struct {
	Text string
	// Literal words mean themselves as they stand; the value of Known ones follows
	// from what stands there, quotes and backslashes read.
	Literal, Known bool
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

func (s Simple) known() []bool {
	known := make([]bool, len(s.Words))
	for i, w := range s.Words {
		known[i] = w.Known
	}
	return known
}

// Parse takes a command line apart.
func Parse(line string) *Parsed {
	p := &Parsed{calls: map[*syntax.CallExpr]int{}}
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

const (
	// maxNested bounds how deep scripts within commands are followed.
	maxNested = 4
	// maxStarted bounds how many commands are followed that others start.
	maxStarted = 2000
	// maxMaybe bounds how many texts are looked at as scripts, and how long each is.
	maxMaybe, maxMaybeBytes = 16, 64 << 10
)

func (p *Parsed) read(line string, depth int) {
	file, err := shell.Parse(line)
	if err != nil {
		if depth == 0 {
			p.Err = err
		} else {
			p.odd("a script that cannot be read")
			p.doubt("it has a script that cannot be read")
		}
		return
	}
	if depth == 0 {
		p.file = file
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

// maxDoubts bounds how many reasons are kept; one is enough to ask.
const maxDoubts = 8

func (p *Parsed) doubt(why string) {
	if len(p.Doubts) < maxDoubts && !slices.Contains(p.Doubts, why) {
		p.Doubts = append(p.Doubts, why)
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
		p.Commands = append(p.Commands, Simple{Words: []Word{{Text: n.Variant.Value, Literal: true, Known: true}}})
		p.assigns(n.Args, printer, depth)
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
			target, _ := shell.Decode(r.Word)
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
		return !reads.Secret(target) && !strings.HasPrefix(target, "/dev/tcp") && !strings.HasPrefix(target, "/dev/udp")
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
		name, _ := shell.Decode(call.Args[0])
		p.piped = p.piped || starts.Interpreter(starts.Name(name)) && len(call.Args) <= 2
	}
}

func (p *Parsed) call(c *syntax.CallExpr, printer *syntax.Printer, depth int) {
	if len(c.Assigns) > 0 {
		p.odd("an assignment")
		p.assigns(c.Assigns, printer, depth)
	}
	if len(c.Args) == 0 {
		return
	}
	s := Simple{Words: make([]Word, 0, len(c.Args)), Started: depth > 0}
	for _, a := range c.Args {
		s.Words = append(s.Words, p.words(a, printer)...)
	}
	if len(s.Words) == 0 { // {,} and its like
		p.doubt("the command word is known only when it runs")
		return
	}
	if depth == 0 {
		p.calls[c] = len(p.Commands)
	}
	p.add(s, depth)
}

// words are those that one word of the source stands for, more than one where it has
// lists in braces.
func (p *Parsed) words(w *syntax.Word, printer *syntax.Printer) []Word {
	if text, ok := shell.Literal(w); ok {
		return []Word{{Text: text, Literal: true, Known: true}}
	}
	all, ok := shell.Braces(w)
	if !ok {
		all = []*syntax.Word{w}
	}
	list := make([]Word, len(all))
	for i, one := range all {
		list[i] = wordOf(one, printer)
		list[i].Literal = false
		list[i].Known = list[i].Known && ok
		switch w := list[i]; {
		case w.Glob && !w.Expands:
			p.odd("a pattern of file names")
		default:
			p.odd("an expansion")
		}
	}
	return list
}

func wordOf(w *syntax.Word, printer *syntax.Printer) Word {
	if text, ok := shell.Decode(w); ok {
		return Word{Text: text, Known: true}
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
	// The last part of a path below a home is known, which is what names are.
	out.Known = out.Tilde && !out.Glob && !out.Expands && strings.Contains(out.Text, "/") &&
		!strings.ContainsAny(out.Text, `\'"`)
	return out
}

// add takes a command and those that it starts.
func (p *Parsed) add(s Simple, depth int) {
	p.Commands = append(p.Commands, s)
	if !s.Words[0].Known {
		p.doubt("which program " + s.Words[0].Text + " is, is known only when it runs")
		return
	}
	argv := s.texts()
	name := starts.Name(argv[0])
	if starts.Reads(argv) && !s.More {
		p.doubt(name + " runs what it reads")
	}
	f := starts.Of(argv, s.known())
	switch {
	case f.Doubt != "":
		p.doubt(f.Doubt)
	case s.More && len(f.Commands)+len(f.Scripts) == 0 && starts.Waits(argv):
		p.doubt("what " + name + " starts is known only when it runs")
	}
	if depth >= maxNested {
		if len(f.Commands)+len(f.Scripts) > 0 {
			p.doubt("its commands start others too often")
		}
		return
	}
	for _, span := range f.Commands {
		for _, word := range argv[min(1, span.From):span.From] { // env and sudo set variables for what they start
			if name, value, ok := strings.Cut(word, "="); ok {
				p.set(name, value, depth)
			}
		}
		p.started(s, span, depth)
	}
	for _, script := range f.Scripts {
		p.script(s, script, f.Doubt != "", depth)
	}
	if !starts.Known(name) && !leaf(name) {
		p.guess(s, depth)
	}
}

// started takes a command that s starts.
func (p *Parsed) started(s Simple, span starts.Span, depth int) {
	if p.inner++; p.inner > maxStarted {
		p.doubt("it starts too many commands")
		return
	}
	inner := Simple{Words: slices.Clone(s.Words[span.From:span.To]), Started: true, More: span.More || s.More}
	for i, w := range inner.Words {
		if span.Placeholder != "" && strings.Contains(w.Text, span.Placeholder) {
			inner.Words[i] = Word{Text: w.Text, Expands: true}
		}
	}
	if !inner.Words[0].Known {
		p.odd("an expansion")
	}
	p.add(inner, depth+1)
}

// script takes shell text that s runs. Of text in a doubtful place nobody knows whether
// it runs.
func (p *Parsed) script(s Simple, script starts.Script, doubtful bool, depth int) {
	text := script.Text
	for _, i := range script.Words {
		if i < len(s.Words) && !s.Words[i].Known {
			p.doubt("it has a script that is known only when it runs")
			text = strings.Trim(text, `"`)
		}
	}
	if doubtful {
		p.perhaps(text, depth)
		return
	}
	before := len(p.Odd)
	p.read(text, depth+1)
	if depth == 0 && len(p.Odd) > before {
		p.odd("a script for another shell")
	}
}

// perhaps looks at a text that may be a script.
func (p *Parsed) perhaps(text string, depth int) {
	if len(text) > maxMaybeBytes || len(p.maybe) >= maxMaybe || depth >= maxNested {
		return
	}
	q := &Parsed{calls: map[*syntax.CallExpr]int{}}
	q.read(text, depth+1)
	if len(q.Commands) > 0 {
		p.maybe = append(p.maybe, q)
	}
}

// guess remembers a program of which nobody knows whether it starts what some of its
// words say.
func (p *Parsed) guess(s Simple, depth int) {
	if len(s.Words) < 2 {
		return
	}
	p.guesses = append(p.guesses, s)
	for _, w := range s.Words[1:] {
		text := w.Text
		if !w.Known {
			text = strings.Trim(text, `"`)
		}
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if strings.ContainsAny(text, " \t\n") {
			p.perhaps(text, depth)
		}
	}
}

// assigns looks at variables that are set.
func (p *Parsed) assigns(all []*syntax.Assign, printer *syntax.Printer, depth int) {
	for _, a := range all {
		if a.Name == nil || a.Value == nil {
			continue
		}
		p.set(a.Name.Value, wordOf(a.Value, printer).Text, depth)
	}
}

// set looks at one variable that is set.
func (p *Parsed) set(name, value string, depth int) {
	if steersPrograms(name, value) {
		p.sets = name
	}
	if strings.ContainsAny(value, " \t\n") {
		p.perhaps(value, depth)
	}
}

// steersPrograms reports whether a variable changes which programs run, or what they run.
func steersPrograms(name, value string) bool {
	switch name {
	case "PATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "SHELL", "CDPATH", "LESSOPEN",
		"LESSCLOSE", "NODE_OPTIONS", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "PYTHONSTARTUP", "PYTHONPATH",
		"PYTHONHOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "MAKEFLAGS", "MAKEFILES", "BROWSER", "GOTOOLCHAIN", "CC", "CXX",
		"RUSTC", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH", "HOME", "TERMINFO", "GCONV_PATH":
		return true
	}
	harmless := value == "cat" || value == "true" || value == ":" || value == "" || value == "0" || value == "1"
	switch {
	case strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"), strings.HasPrefix(name, "BASH_FUNC_"),
		strings.HasSuffix(name, "_WRAPPER"):
		return true
	case strings.HasPrefix(name, "GIT_AUTHOR_"), strings.HasPrefix(name, "GIT_COMMITTER_"):
		return false
	case strings.HasPrefix(name, "GIT_"), strings.HasSuffix(name, "EDITOR"), strings.HasSuffix(name, "PAGER"),
		strings.HasSuffix(name, "ASKPASS"):
		return !harmless
	}
	return false
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
		argv, _ := c.Argv() // those of a plain line are literal
		commands = append(commands, argv)
	}
	return commands, true
}

// unclear says why it is not known what a line runs, or nothing.
func (p *Parsed) unclear() string {
	switch {
	case p.Err != nil:
		return p.Err.Error()
	case len(p.Doubts) > 0:
		return p.Doubts[0]
	}
	return ""
}
