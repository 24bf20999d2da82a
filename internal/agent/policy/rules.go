package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/policy/starts"
	"kerf/internal/text/shell"
)

// RuleDecision is what a rule says of the commands it matches.
type RuleDecision string

// The decisions of rules, the strictest last.
const (
	RuleAllow  RuleDecision = "allow"
	RulePrompt RuleDecision = "prompt"
	RuleForbid RuleDecision = "forbid"
)

// Rule says what may happen to commands that begin with certain words.
type Rule struct {
	// Prefix are the words, each with its alternatives.
	Prefix   [][]string
	Decision RuleDecision
	// Unsandboxed rules let a command out of the sandbox when the model asks.
	Unsandboxed bool
	// Exactly rules speak of these words and no others after them.
	Exactly bool
	// Program is the file that the command has to start, with all links followed; empty
	// for any.
	Program string
	// In narrows the rule to a directory and what is below it, Repo to a
	// repository; both empty: everywhere.
	In, Repo string
	Why      string
	// Match and NotMatch are examples, checked when the rule is read.
	Match, NotMatch []string
	File            string
	Line            int
}

// RuleError is a fault in a rules file.
type RuleError struct {
	File    string
	Line    int
	Message string
}

// Error gives file, line and fault.
func (e *RuleError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// ParseRules reads a rules file. A rule is one line, "WORDS -> DECISION", and
// may be narrowed on it by "in DIR", "repo DIR", "program FILE", "exactly" and
// "unsandboxed"; indented lines below
// give examples ("match", "not_match") and a reason ("because"). The first fault,
// also of an example, is a *RuleError.
func ParseRules(file string, data []byte) ([]Rule, error) {
	var rules []Rule
	text := strings.TrimPrefix(string(data), "\ufeff")
	for i, l := range strings.Split(text, "\n") {
		fault := func(format string, args ...any) error {
			return &RuleError{file, i + 1, fmt.Sprintf(format, args...)}
		}
		l = strings.TrimRight(l, " \t\r")
		body := strings.TrimLeft(l, " \t")
		switch {
		case body == "" || body[0] == '#':
		case body != l:
			if len(rules) == 0 {
				return nil, fault("an indented line belongs to a rule; there is none above it")
			}
			if err := rules[len(rules)-1].clause(body); err != nil {
				return nil, fault("%v", err)
			}
		default:
			r, err := ParseRule(l)
			if err != nil {
				return nil, fault("%v", err)
			}
			r.File, r.Line = file, i+1
			rules = append(rules, r)
		}
	}
	for _, r := range rules {
		if err := r.check(); err != nil {
			return nil, &RuleError{file, r.Line, err.Error()}
		}
	}
	return rules, nil
}

// ParseRule reads one rule without clauses.
func ParseRule(line string) (Rule, error) {
	words, err := split(line)
	if err != nil {
		return Rule{}, err
	}
	arrow := slices.IndexFunc(words, func(w token) bool { return w.text == "->" && !w.quoted })
	if arrow < 1 || arrow+1 >= len(words) {
		return Rule{}, fmt.Errorf("expected WORDS -> allow, prompt or forbid, found %q", line)
	}
	r := Rule{Decision: RuleDecision(words[arrow+1].text)}
	switch r.Decision {
	case RuleAllow, RulePrompt, RuleForbid:
	default:
		return Rule{}, fmt.Errorf("expected allow, prompt or forbid, found %q", r.Decision)
	}
	for _, w := range words[:arrow] {
		r.Prefix = append(r.Prefix, w.alternatives())
	}
	if slices.Contains(r.Prefix[0], "") {
		return Rule{}, fmt.Errorf("the first word is empty")
	}
	for rest := words[arrow+2:]; len(rest) > 0; {
		switch rest[0].text {
		case "unsandboxed":
			r.Unsandboxed, rest = true, rest[1:]
			continue
		case "exactly":
			r.Exactly, rest = true, rest[1:]
			continue
		case "in", "repo", "program":
			if len(rest) < 2 || !filepath.IsAbs(rest[1].text) {
				what := "an absolute directory"
				if rest[0].text == "program" {
					what = "the absolute path of a program"
				}
				return Rule{}, fmt.Errorf("%s: expected %s", rest[0].text, what)
			}
			path := filepath.Clean(rest[1].text)
			switch rest[0].text {
			case "in":
				r.In = path
			case "repo":
				r.Repo = path
			default:
				r.Program = path
			}
			rest = rest[2:]
			continue
		}
		return Rule{}, fmt.Errorf("expected in DIR, repo DIR, program FILE, exactly or unsandboxed, found %q", rest[0].text)
	}
	switch {
	case r.Unsandboxed && r.Decision != RuleAllow:
		return Rule{}, fmt.Errorf("unsandboxed goes with allow only")
	case r.Program != "" && r.Decision != RuleAllow:
		return Rule{}, fmt.Errorf("program goes with allow only")
	}
	return r, nil
}

func (r *Rule) clause(body string) error {
	name, value, _ := strings.Cut(body, " ")
	value = strings.TrimSpace(value)
	if value == "" {
		return fmt.Errorf("%s: expected text after it", name)
	}
	switch name {
	case "match":
		r.Match = append(r.Match, value)
	case "not_match":
		r.NotMatch = append(r.NotMatch, value)
	case "because":
		r.Why = value
	default:
		return fmt.Errorf("expected match, not_match or because, found %q", name)
	}
	return nil
}

// check holds the examples against the rule.
func (r Rule) check() error {
	anywhere := r
	anywhere.In, anywhere.Repo = "", ""
	for _, ex := range r.Match {
		if anywhere.touches(Parse(ex), Command{}) != yes {
			return fmt.Errorf("the rule does not match its example %q", ex)
		}
	}
	for _, ex := range r.NotMatch {
		if anywhere.touches(Parse(ex), Command{}) == yes {
			return fmt.Errorf("the rule matches %q, which it says it does not", ex)
		}
	}
	return nil
}

// String is the rule as one line of a rules file, without its clauses.
func (r Rule) String() string {
	var b strings.Builder
	for _, alternatives := range r.Prefix {
		quoted := make([]string, len(alternatives))
		for i, a := range alternatives {
			quoted[i] = quoteToken(a)
		}
		b.WriteString(strings.Join(quoted, "|") + " ")
	}
	b.WriteString("-> " + string(r.Decision))
	if r.Unsandboxed {
		b.WriteString(" unsandboxed")
	}
	if r.Exactly {
		b.WriteString(" exactly")
	}
	if r.Program != "" {
		b.WriteString(" program " + quoteToken(r.Program))
	}
	if r.In != "" {
		b.WriteString(" in " + quoteToken(r.In))
	}
	if r.Repo != "" {
		b.WriteString(" repo " + quoteToken(r.Repo))
	}
	return b.String()
}

// At names where the rule stands.
func (r Rule) At() string {
	if r.File == "" {
		return "of this session"
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// covers reports whether an allowing rule speaks of a command that runs in one of the
// directories: literal, by its plain name, started by nobody else.
func (r Rule) covers(s Simple, c Command, dirs []string) bool {
	argv, ok := s.Argv()
	if !ok || s.Started || r.within(c, dirs) != yes || r.begins(argv, nil) != yes || !r.Exactly && s.More {
		return false
	}
	if _, defined := c.Stands[argv[0]]; defined && (r.Unsandboxed || r.Program != "") {
		return false // the user's shell runs something else by this name
	}
	path, changeable := c.place().Program(argv[0])
	if r.Program != "" {
		return path == r.Program
	}
	return !r.Unsandboxed || !changeable
}

// touches tells whether a rule that restricts speaks of any command of a line, under
// whatever path, started by whomever, with options before its subcommand.
func (r Rule) touches(p *Parsed, c Command) holds {
	found := no
	dirs := p.Dirs(c)
	for i, s := range p.Commands {
		at := dirs[i]
		if s.goesElsewhere() {
			at = nil
		}
		found = max(found, min(r.speaks(s), r.within(c, at)))
	}
	for _, g := range p.guesses {
		for i := range g.Words[1:] {
			if found < maybe && r.speaks(Simple{Words: g.Words[i+1:]}) == yes && r.within(c, nil) != no {
				found = maybe
			}
		}
	}
	for _, q := range p.maybe {
		if found < maybe && r.touches(q, c) != no {
			found = maybe
		}
	}
	return found
}

// speaks tells whether a rule that restricts speaks of a command.
func (r Rule) speaks(s Simple) holds {
	argv, known := s.texts(), s.known()
	if s.More {
		argv, known = append(argv, ""), append(known, false)
	}
	plain := slices.Clone(argv)
	plain[0] = starts.Name(argv[0])
	folded := slices.Clone(plain)
	folded[0] = strings.ToLower(folded[0]) // some systems do not tell letters apart
	found := max(r.begins(argv, known), r.begins(plain, known), r.begins(folded, known))
	if plain[0] != "git" {
		return found
	}
	if at := slices.Index(known, false); at >= 0 && at < 3 {
		return found // it may name any subcommand
	}
	sub, rest, _ := starts.GitSub(plain[1:])
	return max(found, r.begins(append([]string{"git", sub}, rest...), nil))
}

// begins tells whether words begin as the rule says. Of words that are not known nobody
// can say how many there will be.
func (r Rule) begins(argv []string, known []bool) holds {
	for i, alternatives := range r.Prefix {
		switch {
		case i >= len(argv):
			return no
		case i < len(known) && !known[i]:
			return maybe
		case !slices.Contains(alternatives, argv[i]):
			return no
		}
	}
	if r.Exactly && len(argv) != len(r.Prefix) {
		return no
	}
	return yes
}

// token is one word of a rule; bars between alternatives are marked apart from
// quoted ones.
type token struct {
	text   string
	quoted bool
	parts  []string
}

func (t token) alternatives() []string {
	if len(t.parts) > 0 {
		return t.parts
	}
	return []string{t.text}
}

// split reads the words of a rule: blanks part them, ' and " quote, | parts
// alternatives.
func split(line string) ([]token, error) {
	var tokens []token
	var cur strings.Builder
	t, open := token{}, false
	part := func() { t.parts = append(t.parts, cur.String()); cur.Reset() }
	end := func() {
		if !open {
			return
		}
		part()
		t.text = strings.Join(t.parts, "|")
		tokens = append(tokens, t)
		t, open = token{}, false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			end()
		case '\'', '"':
			n := strings.IndexByte(line[i+1:], c)
			if n < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			cur.WriteString(line[i+1 : i+1+n])
			open, t.quoted = true, true
			i += n + 1
		case '|':
			part()
			open = true
		default:
			cur.WriteByte(c)
			open = true
		}
	}
	end()
	return tokens, nil
}

func quoteToken(s string) string {
	if q := shell.Quote(s); q == s && s != "->" {
		return s
	}
	if !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	return strings.ReplaceAll("'"+strings.ReplaceAll(s, "'", `'"'"'`)+"'", "''", "")
}
