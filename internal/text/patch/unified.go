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
		case strings.HasPrefix(l, "GIT binary patch"):
			err = errorf(p.at+1, "the binary data does not follow the header of its file; the header is damaged")
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
		case binaryStart(p.header()):
			return errorf(p.at+1, "the line 'GIT binary patch' is missing before the data; the header is damaged")
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
	if len(f.hunks) == 0 && f.binary == nil && !f.noData {
		switch meta := f.rename || f.copy || f.remove || f.oldName != f.newName && !f.same && stripped(f.oldName, 1) != stripped(f.newName, 1); {
		case f.create && f.newID != "" && !nullID(f.newID) && !isBlob(nil, f.newID):
			return errorf(f.line, "the index line says that the new file is not empty, but its lines are missing")
		case !f.create && !meta && f.oldMode == f.newMode:
			return errorf(f.line, "the diff names the file but does not say what changes")
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
