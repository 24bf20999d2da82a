package policy

import (
	"slices"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/shell"
)

// maxStands bounds the lines that the user's definitions make of one.
const maxStands = 200

// standIn also judges what the aliases and functions in a line stand for. The
// strictest verdict counts, so that no alias evades a rule. A line that the user
// allowed as it was shown stays allowed unless a part of it is refused.
func (r Rules) standIn(e *Explanation, c Command) {
	if len(c.Stands) == 0 || e.Verdict == Refuse || e.Parsed.Safe() { // what only reads runs without definitions
		return
	}
	allowed := strings.HasPrefix(e.By, "rule ") || r.Memory.allowsCommand(c, c.Escalate &&
		r.Mode.Sandbox() != protocol.SandboxFull)
	lines, all := c.stood(e.Parsed)
	for _, l := range lines {
		inner := c
		inner.Line, inner.Stands = l.text, nil
		p := Parse(l.text)
		h := p.Harm()
		if h.Level > e.Harm.Level {
			e.Harm = h
		}
		j := r.judge(inner, p, h)
		if j.Verdict == Refuse || j.Verdict == Ask && e.Verdict == Allow && !allowed {
			j.Reason = l.name + " is defined by the user's shell as something else: " + j.Reason
			e.Judgement = j
		}
	}
	if !all && e.Verdict == Allow && !allowed {
		e.Judgement = r.ask(c.Escalate, "what cannot be read", "it goes through too many definitions of the user's shell")
	}
}

// stood are the lines that the aliases and functions in a line stand for, and those
// in these lines, at most maxStands.
func (c Command) stood(p *Parsed) (lines []stoodFor, all bool) {
	seen := map[string]bool{}
	lines = c.next(p, nil, seen)
	for i := 0; i < len(lines); i++ {
		if len(lines) > maxStands {
			return lines[:maxStands], false
		}
		lines = append(lines, c.next(Parse(lines[i].text), lines[i].by, seen)...)
	}
	return lines, true
}

// stoodFor is a line that runs for name, by way of the names before it.
type stoodFor struct {
	text, name string
	by         []string
}

func (c Command) next(p *Parsed, by []string, seen map[string]bool) []stoodFor {
	var lines []stoodFor
	for _, s := range p.Commands {
		if len(s.Words) == 0 {
			continue
		}
		name := s.Words[0].Text
		text, defined := c.Stands[name]
		if !defined || slices.Contains(by, name) {
			continue
		}
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "(") { // an alias goes on with the line
			for _, w := range s.Words[1:] {
				if w.Literal {
					text += " " + shell.Quote(w.Text)
				} else {
					text += " " + w.Text
				}
			}
		}
		if !seen[text] {
			seen[text] = true
			lines = append(lines, stoodFor{text, name, append(by[:len(by):len(by)], name)})
		}
	}
	return lines
}
