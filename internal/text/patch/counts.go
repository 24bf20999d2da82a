package patch

import (
	"strconv"
	"strings"
)

// hunks reads all hunks of a file.
func (p *unifiedParser) hunks(f *fileDiff) *Error {
	for p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "@@ -") {
		h, err := p.hunk()
		if err != nil {
			err.Path, err.Hunk = firstOf(stripped(f.newName, 1), f.newName, stripped(f.oldName, 1), f.oldName), len(f.hunks)+1
			return err
		}
		f.hunks = append(f.hunks, h)
	}
	return nil
}

func firstOf(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

// hunk reads one hunk. Its header counts the lines; where the count is wrong, the
// hunk is what looks like it, provided that it does not look cut off.
func (p *unifiedParser) hunk() (hunk, *Error) {
	h := hunk{at: p.at + 1}
	var ok bool
	if h.oldPos, h.oldLen, h.newPos, h.newLen, ok = parseRange(p.header()); !ok {
		return h, errorf(h.at, "the hunk header %s is not of the form @@ -LINE,COUNT +LINE,COUNT @@", quote(p.header()))
	}
	p.at++
	start := p.at
	if lines, end, ok := p.counted(start, h.oldLen, h.newLen); ok {
		h.lines, p.at = lines, end
		return h, changes(h)
	}
	lines, end, err := p.recounted(start)
	if err != nil {
		return h, err
	}
	h.lines = lines
	before, after := count(lines)
	if end == len(p.lines) && cutOff(h, before, after, p.lines[end-1]) {
		return h, errorf(end, "the patch ends inside a hunk: its header promises %d old and %d new lines, there are %d and %d", h.oldLen, h.newLen, before, after)
	}
	h.oldLen, h.newLen, p.at = before, after, end
	return h, changes(h)
}

func changes(h hunk) *Error {
	for _, l := range h.lines {
		if l.op != ' ' {
			return nil
		}
	}
	return errorf(h.at, "the hunk changes nothing")
}

// cutOff tells a hunk whose end is missing from one that was miscounted: lines
// of both sides are missing, and the context after the last change is not as
// long as that before the first; or the last line is not whole.
func cutOff(h hunk, before, after int, last string) bool {
	if before >= h.oldLen || after >= h.newLen {
		return last != "" && !strings.HasSuffix(last, "\n") && (before < h.oldLen || after < h.newLen)
	}
	leading, trailing := contextOf(h.lines)
	return trailing < min(leading, 3) || last != "" && !strings.HasSuffix(last, "\n")
}

// contextOf counts the unchanged lines at both ends of a hunk.
func contextOf(ls []line) (leading, trailing int) {
	for leading < len(ls) && ls[leading].op == ' ' {
		leading++
	}
	for trailing < len(ls)-leading && ls[len(ls)-1-trailing].op == ' ' {
		trailing++
	}
	return leading, trailing
}

func count(ls []line) (before, after int) {
	for _, l := range ls {
		if l.op != '+' {
			before++
		}
		if l.op != '-' {
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
func hunkLine(l string) (line, bool) {
	switch {
	case l == "\n" || l == "\r\n":
		return line{' ', l}, true // a mailer ate the space
	case l == "":
		return line{}, false
	case l[0] == ' ' || l[0] == '-' || l[0] == '+':
		if !strings.HasSuffix(l, "\n") {
			l += "\n" // only "\ No newline" takes it away
		}
		return line{l[0], l[1:]}, true
	}
	return line{}, false
}

// counted reads as many lines as the header says. It fails when they are not
// there, or when more of them follow.
func (p *unifiedParser) counted(at, before, after int) (ls []line, end int, ok bool) {
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
		if l.op != '+' {
			before--
		}
		if l.op != '-' {
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
	return !p.signature(at) && !(strings.HasPrefix(l, "--- ") && at+1 < len(p.lines) && strings.HasPrefix(p.lines[at+1], "+++ "))
}

// signature recognises the line before the version at the end of a mail.
func (p *unifiedParser) signature(at int) bool {
	return chomp(p.lines[at]) == "-- " || chomp(p.lines[at]) == "--"
}

// recounted reads lines up to what can only be the next header or the end.
func (p *unifiedParser) recounted(at int) (ls []line, end int, err *Error) {
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
			return nil, 0, errorf(at+1, "a hunk's lines begin with a space, - or +, got %s", quote(chomp(raw)))
		}
		break
	}
	for len(ls) > 0 && (ls[len(ls)-1] == line{' ', "\n"} || ls[len(ls)-1] == line{' ', "\r\n"}) && strings.TrimRight(p.lines[at-1], "\r\n") == "" {
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
func noNewline(ls []line) {
	if n := len(ls) - 1; n >= 0 {
		ls[n].text = strings.TrimSuffix(ls[n].text, "\n")
	}
}
