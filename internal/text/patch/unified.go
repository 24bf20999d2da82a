package patch

import (
	"strconv"
	"strings"
)

// fileDiff is one file of a git or unified diff. Names are as written; Strip
// applies to oldName and newName, but not to those of renames and copies.
type fileDiff struct {
	git              bool
	mail             int    // which mail of a series it came in
	oldName, newName string // empty for a file that is not there
	bare             bool   // the names have no prefix to strip
	same             bool   // oldName and newName are the same word
	rename, copy     bool
	create, remove   bool
	oldMode, newMode uint32 // as git writes them, 0 if not told
	oldID, newID     string // blob ids, perhaps abbreviated
	hunks            []hunk
	binary           *binaryPatch
	noData           bool // "Binary files differ"
	uncopy           bool // the removal undoes a copy
	line             int
}

// hunk is one @@ section. Its lines keep their line feeds.
type hunk struct {
	oldPos, oldLen int
	newPos, newLen int
	lines          []line
	at             int
}

type unifiedParser struct {
	lines []string
	last  int // after it all lines are blank
	at    int
	mail  int
	files []fileDiff
}

// parseUnified reads all diffs in lines and ignores the text between them, as
// git does.
func parseUnified(lines []string) (*Patch, *Error) {
	p := &unifiedParser{lines: lines, last: len(lines)}
	for p.last > 0 && strings.TrimRight(lines[p.last-1], "\r\n") == "" {
		p.last--
	}
	for p.at < len(p.lines) {
		l := p.lines[p.at]
		var err *Error
		switch {
		case strings.HasPrefix(l, "diff --git "):
			err = p.gitFile()
		case p.plainHeader():
			err = p.plainFile()
		case strings.HasPrefix(l, "@@ -"):
			err = errorf(p.at+1, "the hunk has no file; put --- and +++ lines with its name before it")
		case strings.HasPrefix(l, "From ") && mailMark(l):
			p.mail++
			p.at++
		default:
			p.at++
		}
		if err != nil {
			return nil, err
		}
	}
	if len(p.files) == 0 {
		return nil, errorf(0, "there is no patch in the input; a patch begins with '%s', 'diff --git' or --- and +++ lines", beginPatch)
	}
	dialect := Unified
	for _, f := range p.files {
		if f.git {
			dialect = Git
		}
	}
	return &Patch{dialect: dialect, files: p.files}, nil
}

// mailMark recognises the first line of a mail that git wrote.
func mailMark(l string) bool {
	id, rest, found := strings.Cut(l[len("From "):], " ")
	return found && len(id) >= 40 && isHex(id) && rest != ""
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func (p *unifiedParser) plainHeader() bool {
	return strings.HasPrefix(p.lines[p.at], "--- ") && p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at+1], "+++ ")
}

// header returns the line at hand without its end.
func (p *unifiedParser) header() string {
	return strings.TrimRight(p.lines[p.at], "\r\n")
}

// plainFile reads --- and +++ and the hunks of a diff without git's header.
func (p *unifiedParser) plainFile() *Error {
	at := p.at
	before, after := p.header(), strings.TrimRight(p.lines[p.at+1], "\r\n")
	p.at += 2
	if p.at >= len(p.lines) || !strings.HasPrefix(p.lines[p.at], "@@ -") {
		return nil // not a diff: a mail may quote such lines
	}
	f := fileDiff{line: at + 1}
	if err := f.plainNames(before[4:], after[4:]); err != nil {
		return err
	}
	if err := p.hunks(&f); err != nil {
		return err
	}
	return p.add(&f)
}

// plainNames takes the names from what follows --- and +++.
func (f *fileDiff) plainNames(before, after string) *Error {
	oldName, newName := headerName(before), headerName(after)
	f.create = oldName == devNull || epoch(before)
	f.remove = newName == devNull || epoch(after)
	switch {
	case f.create && f.remove:
		return errorf(f.line, "neither name is that of a file that exists or will exist")
	case f.create:
		f.newName = newName
		f.bare = !prefixed(newName)
	case f.remove:
		f.oldName = oldName
		f.bare = !prefixed(oldName)
	default:
		// Two names for one file: the longer may be that of a backup.
		f.same = oldName == newName
		name := newName
		if short := stripped(oldName, 1); short != "" && strings.HasPrefix(stripped(newName, 1), short) {
			name = oldName
		}
		if !f.same && (strings.HasPrefix(oldName, newName) || stripped(name, 1) == "") {
			f.bare = true
			name = newName
		}
		f.oldName, f.newName = name, name
	}
	return nil
}

// gitFile reads one "diff --git" section.
func (p *unifiedParser) gitFile() *Error {
	f := gitHeader(p.header())
	f.line = p.at + 1
	for p.at++; p.at < len(p.lines); p.at++ {
		known, err := f.extend(p.header())
		if err != nil {
			err.Line = p.at + 1
			return err
		}
		if !known {
			break
		}
	}
	if p.at < len(p.lines) && p.plainHeader() {
		if err := f.gitNames(p.header()[4:], strings.TrimRight(p.lines[p.at+1], "\r\n")[4:]); err != nil {
			err.Line = p.at + 1
			return err
		}
		p.at += 2
	}
	if err := f.settle(); err != nil {
		err.Line = f.line
		return err
	}
	return p.gitBody(&f)
}

// gitHeader takes the names from a "diff --git" line.
func gitHeader(l string) fileDiff {
	f := fileDiff{git: true}
	if from, to, ok := splitNames(strings.TrimPrefix(l, "diff --git ")); ok {
		f.oldName, f.newName, f.same = from, to, from == to
	}
	return f
}

// extend takes an extended header line; known is false for any other.
func (f *fileDiff) extend(l string) (known bool, err *Error) {
	key, value, known := extended(l)
	switch key {
	case "old mode", "deleted file mode":
		f.remove = f.remove || key != "old mode"
		f.oldMode, err = mode(value)
	case "new mode", "new file mode":
		f.create = f.create || key != "new mode"
		f.newMode, err = mode(value)
	case "rename from", "rename old", "copy from":
		f.moveNames(key == "copy from")
		f.oldName = nameOf(value)
	case "rename to", "rename new", "copy to":
		f.moveNames(key == "copy to")
		f.newName = nameOf(value)
	case "index":
		err = f.index(value)
	}
	return known, err
}

// moveNames forgets the names of the header, which have prefixes, in favour of
// those of a rename or copy, which have none.
func (f *fileDiff) moveNames(copy bool) {
	if f.copy || f.rename {
		return
	}
	f.copy, f.rename = copy, !copy
	f.oldName, f.newName, f.bare, f.same = "", "", true, false
}

// gitNames takes what follows --- and +++ in a git section.
func (f *fileDiff) gitNames(before, after string) *Error {
	before, after = headerName(before), headerName(after)
	if f.rename || f.copy {
		if !endsIn(before, f.oldName) || !endsIn(after, f.newName) {
			return errorf(0, "the names of --- and +++ are not those of the rename or copy")
		}
		return nil
	}
	if before == devNull {
		f.create = true
	} else {
		f.oldName = before
	}
	if after == devNull {
		f.remove = true
	} else {
		f.newName = after
	}
	f.same = f.oldName == f.newName
	return nil
}

// settle checks the names when the header is complete.
func (f *fileDiff) settle() *Error {
	switch {
	case (f.rename || f.copy) && (f.oldName == "" || f.newName == ""):
		return errorf(0, "a rename or copy must name both files")
	case (f.rename || f.copy || f.create) && f.remove, (f.rename || f.copy) && f.create:
		return errorf(0, "the header says two things of the file")
	case f.create:
		f.oldName = ""
	case f.remove:
		f.newName = ""
	}
	if f.oldName == "" && !f.create || f.newName == "" && !f.remove {
		return errorf(0, "the header does not name the file; add --- and +++ lines")
	}
	f.bare = f.bare || f.same && stripped(f.newName, 1) == ""
	return nil
}

// gitBody reads what follows the header: hunks, binary data, nothing.
func (p *unifiedParser) gitBody(f *fileDiff) *Error {
	if p.at < len(p.lines) {
		switch l := p.lines[p.at]; {
		case strings.HasPrefix(l, "@@ -"):
			if err := p.hunks(f); err != nil {
				return err
			}
		case strings.HasPrefix(l, "GIT binary patch"):
			p.at++
			if err := p.binary(f); err != nil {
				return err
			}
		case strings.HasPrefix(l, "Binary files "), strings.HasPrefix(l, "Files ") && strings.HasSuffix(p.header(), " differ"):
			f.noData = true
			p.at++
		}
	}
	return p.add(f)
}

func endsIn(name, end string) bool {
	return name == end || strings.HasSuffix(name, "/"+end)
}

// add checks what can be checked without files and keeps f.
func (p *unifiedParser) add(f *fileDiff) *Error {
	f.mail = p.mail
	for _, h := range f.hunks {
		if f.create && h.oldLen > 0 {
			return errorf(h.at, "the file is new, but the hunk expects %d old lines", h.oldLen)
		}
		if f.remove && h.newLen > 0 {
			return errorf(h.at, "the file is deleted, but the hunk leaves %d lines", h.newLen)
		}
	}
	p.files = append(p.files, *f)
	return nil
}

// extended splits an extended header line of git into its key and value.
func extended(l string) (key, value string, ok bool) {
	for _, key := range []string{"old mode", "new mode", "new file mode", "deleted file mode", "rename from", "rename to",
		"rename old", "rename new", "copy from", "copy to", "similarity index", "dissimilarity index", "index"} {
		if v, found := strings.CutPrefix(l, key+" "); found {
			return key, v, true
		}
	}
	return "", "", false
}

func nameOf(value string) string {
	if name, _, ok := unquote(value); ok {
		return name
	}
	return value
}

func mode(s string) (uint32, *Error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 8, 32)
	if err != nil {
		return 0, errorf(0, "the mode %s is not octal", quote(s))
	}
	switch n & modeType {
	case modeFile, modeLink:
		return uint32(n), nil
	case modeSubmodule:
		return 0, errorf(0, "the diff changes a submodule; change it with git")
	}
	return 0, errorf(0, "the mode %s is not that of a file or link", quote(s))
}

// index reads "OLD..NEW[ MODE]".
func (f *fileDiff) index(s string) *Error {
	ids, m, _ := strings.Cut(s, " ")
	from, to, found := strings.Cut(ids, "..")
	if !found || !isHex(from) || !isHex(to) {
		return nil // git ignores what it cannot read here
	}
	f.oldID, f.newID = strings.ToLower(from), strings.ToLower(to)
	if m == "" || f.oldMode != 0 || f.newMode != 0 {
		return nil
	}
	var err *Error
	f.oldMode, err = mode(m)
	f.newMode = f.oldMode
	return err
}

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
