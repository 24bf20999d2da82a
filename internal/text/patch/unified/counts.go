package unified

import (
	"cmp"
	"strconv"
	"strings"
)

// hunks reads all hunks of a file.
func (p *unifiedParser) hunks(f *File) *Error {
	for p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@ -") {
		h, err := p.hunk()
		if err != nil {
			err.Path, err.Hunk = cmp.Or(stripped(f.NewName, 1), f.NewName, stripped(f.OldName, 1), f.OldName), len(f.Hunks)+1
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	return nil
}

// hunk reads one hunk. Its header counts the lines; where the count is wrong, the
// hunk is what looks like it, provided that it does not look cut off.
func (p *unifiedParser) hunk() (Hunk, *Error) {
	h := Hunk{at: p.at + 1}
	var ok bool
	if h.oldPos, h.OldLen, h.newPos, h.newLen, ok = parseRange(p.header()); !ok {
		return h, Errorf(h.at, "the hunk header %s is not of the form @@ -LINE,COUNT +LINE,COUNT @@", Quote(p.header()))
	}
	p.at++
	start := p.at
	if lines, end, ok := p.counted(start, h.OldLen, h.newLen); ok {
		h.Lines, p.at = lines, end
		return h, changes(h)
	}
	lines, end, err := p.recounted(start)
	if err != nil {
		return h, err
	}
	h.Lines = lines
	before, after := count(lines)
	if end == len(p.lines) && cutOff(h, before, after, p.lines[end-1]) {
		return h, Errorf(end,
			"the patch ends inside a hunk: its header promises %d old and %d new lines, there are %d and %d", h.OldLen, h.newLen,
			before, after)
	}
	h.OldLen, h.newLen, p.at = before, after, end
	return h, changes(h)
}

func changes(h Hunk) *Error {
	for _, l := range h.Lines {
		if l.Op != ' ' {
			return nil
		}
	}
	return Errorf(h.at, "the hunk changes nothing")
}

// cutOff tells a hunk whose end is missing from one that was miscounted: lines
// of both sides are missing, and the context after the last change is not as
// long as that before the first; or the last line is not whole.
func cutOff(h Hunk, before, after int, last string) bool {
	if before >= h.OldLen || after >= h.newLen {
		return last != "" && !strings.HasSuffix(last, "\n") && (before < h.OldLen || after < h.newLen)
	}
	leading, trailing := contextOf(h.Lines)
	return trailing < min(leading, 3) || last != "" && !strings.HasSuffix(last, "\n")
}

// contextOf counts the unchanged lines at both ends of a hunk.
func contextOf(ls []Line) (leading, trailing int) {
	for leading < len(ls) && ls[leading].Op == ' ' {
		leading++
	}
	for trailing < len(ls)-leading && ls[len(ls)-1-trailing].Op == ' ' {
		trailing++
	}
	return leading, trailing
}

func count(ls []Line) (before, after int) {
	for _, l := range ls {
		if l.Op != '+' {
			before++
		}
		if l.Op != '-' {
			after++
		}
	}
	return before, after
}

// parseRange reads "@@ -a,b +c,d @@".
func parseRange(s string) (oldPos, oldLen, newPos, newLen int, ok bool) {
	s, found := strings.CutPrefix(s, "@@ -")
	if !found {
		return
	}
	s, _, found = strings.Cut(s, " @@")
	from, to, spaced := strings.Cut(s, " +")
	if !found || !spaced {
		return
	}
	oldPos, oldLen, ok1 := parseSide(from)
	newPos, newLen, ok2 := parseSide(to)
	return oldPos, oldLen, newPos, newLen, ok1 && ok2
}

// maxLine bounds line numbers, so that sums of them cannot overflow.
const maxLine = 1 << 30

func parseSide(s string) (pos, length int, ok bool) {
	a, b, found := strings.Cut(s, ",")
	if !found {
		b = "1"
	}
	pos, err1 := strconv.Atoi(a)
	length, err2 := strconv.Atoi(b)
	return pos, length, err1 == nil && err2 == nil && pos >= 0 && length >= 0 && pos < maxLine && length < maxLine
}

// hunkLine reads one line of a hunk; not one is a line that cannot be part.
func hunkLine(l string) (Line, bool) {
	switch {
	case l == "\n" || l == "\r\n":
		return Line{' ', l}, true // a mailer ate the space
	case l == "":
		return Line{}, false
	case l[0] == ' ' || l[0] == '-' || l[0] == '+':
		if !strings.HasSuffix(l, "\n") {
			l += "\n" // only "\ No newline" takes it away
		}
		return Line{l[0], l[1:]}, true
	}
	return Line{}, false
}

// counted reads as many lines as the header says. It fails when they are not
// there, or when more of them follow.
func (p *unifiedParser) counted(at, before, after int) (ls []Line, end int, ok bool) {
	for before > 0 || after > 0 {
		if at == len(p.lines) {
			return nil, 0, false
		}
		if strings.HasPrefix(p.lines[at], `\ `) {
			noNewline(ls)
			at++
			continue
		}
		l, ok := hunkLine(p.lines[at])
		if !ok {
			return nil, 0, false
		}
		if l.Op != '+' {
			before--
		}
		if l.Op != '-' {
			after--
		}
		if before < 0 || after < 0 {
			return nil, 0, false
		}
		ls = append(ls, l)
		at++
	}
	if at < len(p.lines) && strings.HasPrefix(p.lines[at], `\ `) {
		noNewline(ls)
		at++
	}
	return ls, at, at == len(p.lines) || !p.goesOn(at)
}

// goesOn reports whether the line at looks like one more line of a hunk.
func (p *unifiedParser) goesOn(at int) bool {
	l := p.lines[at]
	if l == "" || l[0] != ' ' && l[0] != '-' && l[0] != '+' {
		return false
	}
	return !p.signature(at) && !(strings.HasPrefix(l, "--- ") && at+1 < len(p.lines) &&
		strings.HasPrefix(p.lines[at+1], "+++ "))
}

// signature recognises the line before the version at the end of a mail.
func (p *unifiedParser) signature(at int) bool {
	return TrimLineEnd(p.lines[at]) == "-- " || TrimLineEnd(p.lines[at]) == "--"
}

// recounted reads lines up to what can only be the next header or the end.
func (p *unifiedParser) recounted(at int) (ls []Line, end int, err *Error) {
	for ; at < len(p.lines); at++ {
		raw := p.lines[at]
		if strings.HasPrefix(raw, `\ `) {
			noNewline(ls)
			continue
		}
		if raw == "" || p.blankTail(at) {
			return ls, len(p.lines), nil
		}
		if p.goesOn(at) || strings.TrimRight(raw, "\r\n") == "" {
			l, _ := hunkLine(raw)
			ls = append(ls, l)
			continue
		}
		if !p.ends(at) {
			return nil, 0, Errorf(at+1, "a hunk's lines begin with a space, - or +, got %s", Quote(TrimLineEnd(raw)))
		}
		break
	}
	for len(ls) > 0 && (ls[len(ls)-1] == Line{' ', "\n"} || ls[len(ls)-1] == Line{' ', "\r\n"}) &&
		strings.TrimRight(p.lines[at-1], "\r\n") == "" {
		ls = ls[:len(ls)-1]
		at--
	}
	return ls, at, nil
}

// blankTail reports whether nothing but blank lines follows.
func (p *unifiedParser) blankTail(at int) bool { return at >= p.last }

// ends reports whether the line at can follow a hunk.
func (p *unifiedParser) ends(at int) bool {
	l := p.lines[at]
	for _, start := range []string{"diff ", "@@ -", "--- ", "From ", "Index: ", "```", "Only in "} {
		if strings.HasPrefix(l, start) {
			return true
		}
	}
	return p.signature(at)
}

// noNewline takes the line feed from the last line, which the file does not end
// in.
func noNewline(ls []Line) {
	if n := len(ls) - 1; n >= 0 {
		ls[n].Text = strings.TrimSuffix(ls[n].Text, "\n")
	}
}
