// Package unified reads git and unified diffs and applies their hunks.
//
// [Parse] returns the files of a diff as they are written; package patch decides
// what they mean for the files of a workspace. Hunks and binary data are applied
// as git applies them: content that does not fit is refused.
package unified

import (
	"strconv"
	"strings"
)

// File is one file of a git or unified diff. Names are as written; Stripping
// applies to OldName and NewName, but not to those of renames and copies.
type File struct {
	Git              bool
	Mail             int    // which mail of a series it came in
	OldName, NewName string // empty for a file that is not there
	bare             bool   // the names have no prefix to strip
	same             bool   // OldName and NewName are the same word
	rename, Copy     bool
	Create, Remove   bool
	OldMode, NewMode uint32 // as git writes them, 0 if not told
	OldID, NewID     string // blob ids, perhaps abbreviated
	Hunks            []Hunk
	Binary           *binaryPatch
	NoData           bool // "Binary files differ"
	UndoesCopy       bool // the removal undoes a copy
	Line             int
}

// Hunk is one @@ section. Its lines keep their line feeds.
type Hunk struct {
	oldPos, OldLen int
	newPos, newLen int
	Lines          []Line
	at             int
}

// Line is one line of a hunk. Those of an envelope have no line end.
type Line struct {
	Op   byte // ' ', '-' or '+'
	Text string
}

type unifiedParser struct {
	lines []string
	last  int // after it all lines are blank
	at    int
	mail  int
	files []File
}

// Parse reads all diffs in lines and ignores the text between them, as
// git does.
func Parse(lines []string) ([]File, *Error) {
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
			err = Errorf(p.at+1, "the hunk has no file; put --- and +++ lines with its name before it")
		case strings.HasPrefix(l, "GIT binary patch"):
			err = Errorf(p.at+1, "the binary data does not follow the header of its file; the header is damaged")
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
		return nil, Errorf(0, "there is no patch in the input; a patch begins with '*** Begin Patch', 'diff --git' or --- "+
			"and +++ lines")
	}
	return p.files, nil
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
	f := File{Line: at + 1}
	if err := f.plainNames(before[4:], after[4:]); err != nil {
		return err
	}
	if err := p.hunks(&f); err != nil {
		return err
	}
	return p.add(&f)
}

// plainNames takes the names from what follows --- and +++.
func (f *File) plainNames(before, after string) *Error {
	oldName, newName := headerName(before), headerName(after)
	f.Create = oldName == devNull || epoch(before)
	f.Remove = newName == devNull || epoch(after)
	switch {
	case f.Create && f.Remove:
		return Errorf(f.Line, "neither name is that of a file that exists or will exist")
	case f.Create:
		f.NewName = newName
		f.bare = !prefixed(newName)
	case f.Remove:
		f.OldName = oldName
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
		f.OldName, f.NewName = name, name
	}
	return nil
}

// gitFile reads one "diff --git" section.
func (p *unifiedParser) gitFile() *Error {
	f := gitHeader(p.header())
	f.Line = p.at + 1
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
	if err := f.complete(); err != nil {
		err.Line = f.Line
		return err
	}
	return p.gitBody(&f)
}

// gitHeader takes the names from a "diff --git" line.
func gitHeader(l string) File {
	f := File{Git: true}
	if from, to, ok := splitNames(strings.TrimPrefix(l, "diff --git ")); ok {
		f.OldName, f.NewName, f.same = from, to, from == to
	}
	return f
}

// extend takes an extended header line; known is false for any other.
func (f *File) extend(l string) (known bool, err *Error) {
	key, value, known := extended(l)
	switch key {
	case "old mode", "deleted file mode":
		f.Remove = f.Remove || key != "old mode"
		f.OldMode, err = mode(value)
	case "new mode", "new file mode":
		f.Create = f.Create || key != "new mode"
		f.NewMode, err = mode(value)
	case "rename from", "rename old", "copy from":
		f.moveNames(key == "copy from")
		f.OldName = nameOf(value)
	case "rename to", "rename new", "copy to":
		f.moveNames(key == "copy to")
		f.NewName = nameOf(value)
	case "index":
		err = f.index(value)
	}
	return known, err
}

// moveNames forgets the names of the header, which have prefixes, in favour of
// those of a rename or copy, which have none.
func (f *File) moveNames(copy bool) {
	if f.Copy || f.rename {
		return
	}
	f.Copy, f.rename = copy, !copy
	f.OldName, f.NewName, f.bare, f.same = "", "", true, false
}

// gitNames takes what follows --- and +++ in a git section.
func (f *File) gitNames(before, after string) *Error {
	before, after = headerName(before), headerName(after)
	if f.rename || f.Copy {
		if !endsIn(before, f.OldName) || !endsIn(after, f.NewName) {
			return Errorf(0, "the names of --- and +++ are not those of the rename or copy")
		}
		return nil
	}
	if before == devNull {
		f.Create = true
	} else {
		f.OldName = before
	}
	if after == devNull {
		f.Remove = true
	} else {
		f.NewName = after
	}
	f.same = f.OldName == f.NewName
	return nil
}

// complete checks the names when the header is complete.
func (f *File) complete() *Error {
	switch {
	case (f.rename || f.Copy) && (f.OldName == "" || f.NewName == ""):
		return Errorf(0, "a rename or copy must name both files")
	case (f.rename || f.Copy || f.Create) && f.Remove, (f.rename || f.Copy) && f.Create:
		return Errorf(0, "the header says two things of the file")
	case f.Create:
		f.OldName = ""
	case f.Remove:
		f.NewName = ""
	}
	if f.OldName == "" && !f.Create || f.NewName == "" && !f.Remove {
		return Errorf(0, "the header does not name the file; add --- and +++ lines")
	}
	f.bare = f.bare || f.same && stripped(f.NewName, 1) == ""
	return nil
}

// gitBody reads what follows the header: hunks, binary data, nothing.
func (p *unifiedParser) gitBody(f *File) *Error {
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
			return Errorf(p.at+1, "the line 'GIT binary patch' is missing before the data; the header is damaged")
		case strings.HasPrefix(l, "Binary files "), strings.HasPrefix(l, "Files ") &&
			strings.HasSuffix(p.header(), " differ"):
			f.NoData = true
			p.at++
		}
	}
	return p.add(f)
}

func endsIn(name, end string) bool {
	return name == end || strings.HasSuffix(name, "/"+end)
}

// add checks what can be checked without files and keeps f.
func (p *unifiedParser) add(f *File) *Error {
	f.Mail = p.mail
	for _, h := range f.Hunks {
		if f.Create && h.OldLen > 0 {
			return Errorf(h.at, "the file is new, but the hunk expects %d old lines", h.OldLen)
		}
		if f.Remove && h.newLen > 0 {
			return Errorf(h.at, "the file is deleted, but the hunk leaves %d lines", h.newLen)
		}
	}
	if len(f.Hunks) == 0 && f.Binary == nil && !f.NoData {
		switch meta := f.rename || f.Copy || f.Remove || f.OldName != f.NewName && !f.same &&
			stripped(f.OldName, 1) != stripped(f.NewName, 1); {
		case f.Create && f.NewID != "" && !NullID(f.NewID) && !IsBlob(nil, f.NewID):
			return Errorf(f.Line, "the index line says that the new file is not empty, but its lines are missing")
		case !f.Create && !meta && f.OldMode == f.NewMode:
			return Errorf(f.Line, "the diff names the file but does not say what changes")
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
		return 0, Errorf(0, "the mode %s is not octal", Quote(s))
	}
	switch n & ModeType {
	case modeFile, ModeLink:
		return uint32(n), nil
	case modeSubmodule:
		return 0, Errorf(0, "the diff changes a submodule; change it with git")
	}
	return 0, Errorf(0, "the mode %s is not that of a file or link", Quote(s))
}

// index reads "OLD..NEW[ MODE]".
func (f *File) index(s string) *Error {
	ids, m, _ := strings.Cut(s, " ")
	from, to, found := strings.Cut(ids, "..")
	if !found || !isHex(from) || !isHex(to) {
		return nil // git ignores what it cannot read here
	}
	f.OldID, f.NewID = strings.ToLower(from), strings.ToLower(to)
	if m == "" || f.OldMode != 0 || f.NewMode != 0 {
		return nil
	}
	var err *Error
	f.OldMode, err = mode(m)
	f.NewMode = f.OldMode
	return err
}

// The bits of a mode as git writes it.
const (
	ModeType      = 0o170000
	modeFile      = 0o100000
	ModeLink      = 0o120000
	modeSubmodule = 0o160000
	ModeExec      = 0o111
)
