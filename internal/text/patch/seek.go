package patch

import (
	"strings"

	"kerf/internal/text/patch/unified"
)

// The levels at which lines are compared, each looser than the one before.
const (
	exact = iota
	trailing
	trimmed
	punctuation
	levels
)

// seeker finds runs of lines. Each level's form of the lines is made when first
// needed.
type seeker struct {
	lines [levels][]string
}

// form returns a line as a level compares it.
func form(level int, l string) string {
	switch level {
	case trailing:
		return strings.TrimRightFunc(l, isSpace)
	case trimmed:
		return strings.TrimFunc(l, isSpace)
	case punctuation:
		return strings.Map(ascii, strings.TrimFunc(l, isSpace))
	}
	return l
}

// find returns the first place at or after from where all of pattern stands, at
// the strictest level that has one. With eof only the end of the text counts.
func (s *seeker) find(pattern []string, from int, eof bool) (int, bool) {
	last := len(s.lines[exact]) - len(pattern)
	if last < from {
		return 0, false
	}
	if eof {
		from = last
	}
	for level := exact; level < levels; level++ {
		if at, ok := s.at(level, pattern, from, last); ok {
			return at, true
		}
	}
	return 0, false
}

func (s *seeker) at(level int, pattern []string, from, last int) (int, bool) {
	if s.lines[level] == nil {
		all := make([]string, len(s.lines[exact]))
		for i, l := range s.lines[exact] {
			all[i] = form(level, l)
		}
		s.lines[level] = all
	}
	want := make([]string, len(pattern))
	for i, l := range pattern {
		want[i] = form(level, l)
	}
	lines := s.lines[level]
	return unified.Search(len(want), from, last, func(i, j int) bool { return lines[i] == want[j] },
		func(i, j int) bool { return want[i] == want[j] })
}

func isSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// ascii folds typographic dashes, quotes and spaces.
func ascii(r rune) rune {
	switch r {
	case 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212:
		return '-'
	case 0x2018, 0x2019, 0x201a, 0x201b:
		return '\''
	case 0x201c, 0x201d, 0x201e, 0x201f:
		return '"'
	case 0xa0, 0x202f, 0x205f, 0x3000:
		return ' '
	}
	if r >= 0x2002 && r <= 0x200a {
		return ' '
	}
	return r
}
