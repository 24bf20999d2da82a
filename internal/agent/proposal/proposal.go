// Package proposal finds <proposed_plan> blocks in text that is streamed.
//
// The result does not depend on how the text is cut into pieces: what may be the
// beginning of a tag at the end of a piece waits for the next piece. A block that is
// not closed ends with the text. A tag after a backtick is plain text. The package
// is pure.
package proposal

import "strings"

// The tags.
const (
	opening = "<proposed_plan>"
	closing = "</proposed_plan>"
)

// Part is a piece of the text: said to the user, or planned. Begin and End say
// that a plan begins before or ends after its Text.
type Part struct {
	Text       string
	Plan       bool
	Begin, End bool
}

// Parser takes a text piece by piece. The zero value is ready.
type Parser struct {
	inside bool
	held   string // the beginning of a tag, perhaps
	last   byte   // the byte before held
	lead   bool   // white space at the beginning of a plan is skipped
	blank  string // white space that ends the plan, perhaps
}

// Write takes the next piece and returns what is certain now.
func (p *Parser) Write(s string) []Part {
	s = p.held + s
	p.held = ""
	var parts []Part
	for s != "" {
		tag := opening
		if p.inside {
			tag = closing
		}
		i := p.find(s, tag)
		if i < 0 {
			n := len(s) - partial(s, tag)
			parts = p.pass(parts, s[:n])
			p.held = s[n:]
			break
		}
		parts = p.pass(parts, s[:i])
		p.last = '>'
		s = s[i+len(tag):]
		if p.inside {
			parts = append(parts, Part{Plan: true, End: true})
			p.blank = ""
		} else {
			parts = append(parts, Part{Plan: true, Begin: true})
			p.lead = true
		}
		p.inside = !p.inside
	}
	return parts
}

// Close returns what is left and makes p ready for another text.
func (p *Parser) Close() []Part {
	held := p.held
	p.held = ""
	parts := p.pass(nil, held)
	if p.inside {
		parts = append(parts, Part{Plan: true, End: true})
	}
	*p = Parser{}
	return parts
}

// find returns the first tag in s that is meant as one, or -1.
func (p *Parser) find(s, tag string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], tag)
		if i < 0 {
			return -1
		}
		i += from
		before := p.last
		if i > 0 {
			before = s[i-1]
		}
		if p.inside || before != '`' {
			return i
		}
		from = i + 1
	}
}

// partial returns how many bytes at the end of s may begin tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}

// space is what surrounds the text of a plan.
const space = " \t\r\n"

// pass adds text to parts. Of a plan the white space around it is left out.
func (p *Parser) pass(parts []Part, s string) []Part {
	if s == "" {
		return parts
	}
	p.last = s[len(s)-1]
	if !p.inside {
		return append(parts, Part{Text: s})
	}
	if p.lead {
		if s = strings.TrimLeft(s, space); s == "" {
			return parts
		}
		p.lead = false
	}
	s = p.blank + s
	end := len(strings.TrimRight(s, space))
	p.blank = s[end:]
	if end == 0 {
		return parts
	}
	return append(parts, Part{Text: s[:end], Plan: true})
}

// Split takes a whole text apart: what is said, without white space around it,
// and the plans that are not empty.
func Split(text string) (said string, plans []string) {
	var p Parser
	var b, plan strings.Builder
	for _, part := range append(p.Write(text), p.Close()...) {
		if !part.Plan {
			b.WriteString(part.Text)
			continue
		}
		plan.WriteString(part.Text)
		if part.End {
			if plan.Len() > 0 {
				plans = append(plans, plan.String())
			}
			plan.Reset()
		}
	}
	if len(plans) == 0 && !strings.Contains(text, opening) {
		return text, nil
	}
	return strings.TrimSpace(b.String()), plans
}
