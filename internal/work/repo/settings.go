package repo

import (
	"path/filepath"
	"strings"
)

// setting is one value of a configuration. name is as git has it: section, subsection if
// there is one, and key, with dots between, and only the subsection in its own case.
type setting struct{ name, value string }

// section and key are its first and last part.
func (s setting) section() string { return s.name[:strings.IndexByte(s.name, '.')] }
func (s setting) key() string     { return s.name[strings.LastIndexByte(s.name, '.')+1:] }

// plain is section.key, without the subsection.
func (s setting) plain() string { return s.section() + "." + s.key() }

// form is section.key, or section.*.key where there is a subsection.
func (s setting) form() string {
	if len(s.section())+len(s.key())+1 < len(s.name) {
		return s.section() + ".*." + s.key()
	}
	return s.plain()
}

// settingsOf reads a configuration as git does. It is the only reader of one. whole is
// false when git would refuse the text; then what stands in further lines is still read.
func settingsOf(text string) (all []setting, whole bool) {
	r := settingsReader{text: strings.TrimPrefix(text, "\ufeff"), whole: true}
	for !r.end {
		switch c := r.next(); {
		case c == '\n' || blank(c):
		case c == '#' || c == ';':
			r.restOfLine()
		case c == '[':
			if !r.header() {
				r.refuse()
			}
		case !letter(c) || r.section == "":
			r.refuse()
		default:
			if s, ok := r.setting(c); ok {
				all = append(all, s)
			} else {
				r.refuse()
			}
		}
	}
	return all, r.whole
}

// Worktree is where the settings of a git directory say that its working tree is, empty
// where they do not.
func Worktree(gitDir string) (dir string) {
	text, err := readSmall(filepath.Join(gitDir, "config"), maxConfig)
	if err != nil {
		return ""
	}
	all, _ := settingsOf(text)
	for _, s := range all {
		if s.form() == "core.worktree" {
			dir = s.value // the last one holds
		}
	}
	return dir
}

// settingsReader goes through a configuration byte by byte.
type settingsReader struct {
	text       string
	at         int
	end, whole bool
	section    string // with its subsection and a dot
}

// next is the next byte; the end counts as the end of a line.
func (r *settingsReader) next() byte {
	if r.at >= len(r.text) {
		r.end = true
		return '\n'
	}
	c := r.text[r.at]
	r.at++
	if c == '\r' && r.at < len(r.text) && r.text[r.at] == '\n' {
		r.at++
		return '\n'
	}
	return c
}

func (r *settingsReader) restOfLine() {
	for r.next() != '\n' {
	}
}

// refuse notes that git would not read on, and goes to the next line.
func (r *settingsReader) refuse() {
	r.whole = false
	if r.at > 0 && r.at <= len(r.text) && r.text[r.at-1] != '\n' {
		r.restOfLine()
	}
}

func blank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func inName(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c == '-' }
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// header reads the name of a section, behind its bracket.
func (r *settingsReader) header() bool {
	var name strings.Builder
	for {
		c := r.next()
		switch {
		case c == ']':
			r.section = name.String() + "."
			return name.Len() > 0
		case blank(c):
			return r.subsection(&name)
		case !inName(c) && c != '.':
			return false
		}
		name.WriteByte(lower(c))
	}
}

// subsection reads the quoted part of a header.
func (r *settingsReader) subsection(name *strings.Builder) bool {
	c := r.next()
	for blank(c) {
		c = r.next()
	}
	if c != '"' {
		return false
	}
	name.WriteByte('.')
	for c = r.next(); c != '"'; c = r.next() {
		if c == '\\' {
			c = r.next()
		}
		if c == '\n' {
			return false
		}
		name.WriteByte(c)
	}
	r.section = name.String() + "."
	return r.next() == ']'
}

// setting reads a key that begins with c, and its value.
func (r *settingsReader) setting(c byte) (setting, bool) {
	var key strings.Builder
	for ; inName(c); c = r.next() {
		key.WriteByte(lower(c))
	}
	for c == ' ' || c == '\t' {
		c = r.next()
	}
	s := setting{name: r.section + key.String()}
	if c == '\n' {
		return s, true
	}
	if c != '=' {
		return s, false
	}
	var ok bool
	s.value, ok = r.value()
	return s, ok
}

// value reads what stands behind the sign of equality: quotes, escapes, comments, and
// lines that go on in the next one.
func (r *settingsReader) value() (string, bool) {
	var b strings.Builder
	quoted, end := false, 0
	for {
		c := r.next()
		switch {
		case c == '\n':
			return b.String()[:end], !quoted
		case blank(c) && !quoted:
			if b.Len() > 0 {
				b.WriteByte(c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			r.restOfLine()
			return b.String()[:end], true
		case c == '"':
			quoted = !quoted
			end = b.Len()
			continue
		case c == '\\':
			switch c = r.next(); c {
			case '\n':
				if r.end {
					return "", false
				}
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '\\', '"':
			default:
				return "", false
			}
		}
		b.WriteByte(c)
		end = b.Len()
	}
}
