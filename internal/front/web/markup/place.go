package markup

import (
	"fmt"
	"html"
	"strings"
	"text/template/parse"
)

// place is where something stands in a page. The zero value is text.
type place struct {
	in   region
	raw  string // the element that is left by its own end only: title, textarea, style or script
	tag  string // the name of the tag that is open
	attr kind   // of the attribute whose value is open
	part part   // of the address in it
}

type region int

const (
	inText  region = iota
	inTag          // between attributes
	inValue        // between the quotes of a value
)

// kind is what the value of an attribute is.
type kind int

const (
	plain kind = iota
	address
	refused // a script, a style or a list of addresses
)

// part is which part of an address comes next.
type part int

const (
	atStart part = iota
	inPath
	inQuery
	unclear // one way leads into the query, another does not
)

// addresses are the attributes that lead somewhere.
var addresses = map[string]bool{"action": true, "cite": true, "formaction": true, "href": true, "poster": true,
	"src": true, "background": true, "data": true, "icon": true, "manifest": true, "usemap": true, "longdesc": true,
	"classid": true, "codebase": true, "archive": true, "profile": true}

// kindOf is the kind of an attribute. A name that looks like one of an address is taken for
// one.
func kindOf(name string) kind {
	name = strings.ToLower(name)
	if name == "style" || strings.HasPrefix(name, "on") || strings.HasSuffix(name, "srcset") || name == "srcdoc" {
		return refused
	}
	name = strings.TrimPrefix(name, "data-")
	if addresses[name] || strings.Contains(name, "src") || strings.Contains(name, "uri") || strings.Contains(name, "url") {
		return address
	}
	return plain
}

// walker finds out where the values of a template stand.
type walker struct {
	*Templates
	name string
}

func (w walker) fault(n parse.Node, words string, args ...any) error {
	where, _ := w.trees[w.name].ErrorContext(n)
	return fmt.Errorf("%s: template %s: %s", where, w.name, fmt.Sprintf(words, args...))
}

func (w walker) list(l *parse.ListNode, at place) (place, error) {
	if l == nil {
		return at, nil
	}
	var err error
	for _, n := range l.Nodes {
		if at, err = w.node(n, at); err != nil {
			return at, err
		}
	}
	return at, nil
}

func (w walker) node(n parse.Node, at place) (place, error) {
	switch n := n.(type) {
	case *parse.TextNode:
		return w.text(n, at)
	case *parse.CommentNode:
		return at, nil
	case *parse.ActionNode:
		return w.action(n, at)
	case *parse.TemplateNode:
		if at != (place{}) {
			return at, w.fault(n, "calls another one within a tag")
		}
		if w.trees[n.Name] == nil {
			return at, w.fault(n, "calls %s, which is not there", n.Name)
		}
		return at, w.pipe(n, n.Pipe, false)
	case *parse.IfNode:
		return w.branch(n, &n.BranchNode, at)
	case *parse.WithNode:
		return w.branch(n, &n.BranchNode, at)
	case *parse.RangeNode:
		return w.branch(n, &n.BranchNode, at)
	}
	return at, w.fault(n, "%s is not known here", n)
}

func (w walker) action(n *parse.ActionNode, at place) (place, error) {
	if err := w.pipe(n, n.Pipe, false); err != nil {
		return at, err
	}
	switch {
	case at.in == inTag:
		return at, w.fault(n, "a value stands in a tag: put it between quotes")
	case at.raw == "script", at.in == inValue && at.attr == refused:
		return at, w.fault(n, "a value stands in a script, a style or a list of addresses")
	case at.in == inValue && at.attr == address && at.part == unclear:
		return at, w.fault(n, "it is not clear which part of an address this is")
	}
	w.places[n] = at
	if at.in == inValue && at.attr == address && at.part == atStart {
		at.part = inPath
	}
	return at, nil
}

// branch joins the ways through n. A way that is taken again begins where it ends.
func (w walker) branch(n parse.Node, b *parse.BranchNode, at place) (place, error) {
	_, isRange := n.(*parse.RangeNode)
	if err := w.pipe(n, b.Pipe, isRange); err != nil {
		return at, err
	}
	then, err := w.list(b.List, at)
	if err != nil {
		return at, err
	}
	other, err := w.list(b.ElseList, at)
	if err != nil {
		return at, err
	}
	if isRange && then != at {
		return at, w.fault(n, "a repeated part ends in another place than it begins")
	}
	if then == other {
		return then, nil
	}
	part := then.part
	then.part = other.part
	if then != other {
		return at, w.fault(n, "the ways through it end in different places")
	}
	if part != other.part {
		then.part = unclear
	}
	return then, nil
}

// pipe refuses what evaluation does not know.
func (w walker) pipe(n parse.Node, p *parse.PipeNode, declares bool) error {
	if p == nil {
		return nil
	}
	if len(p.Cmds) != 1 || !declares && len(p.Decl) > 0 {
		return w.fault(n, "%s has a pipe or a variable", p)
	}
	for _, a := range p.Cmds[0].Args {
		if inner, ok := a.(*parse.PipeNode); ok {
			if err := w.pipe(n, inner, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// raws are the elements whose content is not markup.
var raws = map[string]bool{"title": true, "textarea": true, "style": true, "script": true}

// text follows the markup of a piece of a page.
func (w walker) text(n *parse.TextNode, at place) (place, error) {
	s := string(n.Text)
	for s != "" {
		switch {
		case at.in == inValue:
			value, rest, closed := strings.Cut(s, `"`)
			at.part = at.part.behind(html.UnescapeString(value))
			if closed {
				at.in, at.attr, at.part = inTag, plain, atStart
			}
			s = rest
		case at.in == inTag:
			var err error
			if at, s, err = w.tag(n, at, s); err != nil {
				return at, err
			}
		case at.raw != "":
			end := "</" + at.raw
			i := strings.Index(strings.ToLower(s), end)
			if i < 0 {
				return at, nil
			}
			at.raw, at.tag, at.in, s = "", "", inTag, s[i+len(end):]
		default:
			i := strings.IndexByte(s, '<')
			if i < 0 {
				return at, nil
			}
			s = s[i+1:]
			if strings.HasPrefix(s, "!--") {
				return at, w.fault(n, "a comment of HTML")
			}
			name := s[:len(s)-len(strings.TrimLeft(s, "/!abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))]
			if name == "" {
				return at, w.fault(n, "a < that opens no tag")
			}
			at.in, at.tag, s = inTag, strings.ToLower(name), s[len(name):]
		}
	}
	return at, nil
}

// tag follows a tag up to its end or to the value of an attribute.
func (w walker) tag(n parse.Node, at place, s string) (place, string, error) {
	if !strings.ContainsRune(" \t\n/>", rune(s[0])) {
		return at, "", w.fault(n, "%.20q goes on with a name", s)
	}
	s = strings.TrimLeft(s, " \t\n/")
	if s == "" {
		return at, "", nil
	}
	if s[0] == '>' {
		raw := at.tag
		at = place{}
		if raws[raw] {
			at.raw = raw
		}
		return at, s[1:], nil
	}
	i := strings.IndexAny(s, " \t\n/>=")
	if i < 0 {
		i = len(s)
	}
	name, rest := s[:i], s[i:]
	if !strings.HasPrefix(rest, "=") {
		return at, rest, nil
	}
	if !strings.HasPrefix(rest, `="`) {
		return at, "", w.fault(n, "the value of %s is not between double quotes", name)
	}
	at.in, at.attr, at.part = inValue, kindOf(name), atStart
	return at, rest[2:], nil
}

// behind is the part of an address that comes behind a text.
func (p part) behind(text string) part {
	switch {
	case strings.ContainsAny(text, "?#"):
		return inQuery
	case p == atStart && text != "":
		return inPath
	}
	return p
}
