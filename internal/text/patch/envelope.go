package patch

import (
	"strings"
	"unicode/utf8"

	"kerf/internal/text/patch/unified"
)

// The markers of the envelope. Those with a path end in a space.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File: "
	deleteFile = "*** Delete File: "
	updateFile = "*** Update File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
	environ    = "*** Environment ID:"
)

// operation is one file of an envelope.
type operation struct {
	kind   Op
	path   string
	spaced string // the path with the spaces that it may begin with, where it has some
	to     string // a move's target
	text   string // what Add writes
	exact  bool   // Delete only a file that has this text
	chunks []chunk
	line   int
}

// chunk is one hunk of an Update: lines that are sought, and what replaces them.
type chunk struct {
	contexts []string // after @@; each is sought, in order, before the lines are
	lines    []unified.Line
	eof      bool // the lines are the last of the file
	at       int
}

// marker reports whether l is a line only an envelope has.
func marker(l string) bool {
	l = strings.TrimSpace(l)
	if l == beginPatch || l == endPatch {
		return true
	}
	for _, m := range []string{addFile, deleteFile, updateFile} {
		if strings.HasPrefix(l, m) {
			return true
		}
	}
	return false
}

// parseEnvelope reads an envelope. Text around it, such as a fence or the
// wrapping of a here document, is ignored.
func parseEnvelope(text []byte, lines []string) (*Patch, *unified.Error) {
	if !utf8.Valid(text) {
		return nil, unified.Errorf(badLine(lines), "the patch is not valid UTF-8; write it as UTF-8")
	}
	begin, end, crlf := -1, -1, false
	for i, l := range lines {
		lines[i] = unified.TrimLineEnd(l)
		switch strings.TrimSpace(l) {
		case beginPatch:
			if begin < 0 {
				begin, crlf = i, strings.HasSuffix(l, "\r\n")
			}
		case endPatch:
			end = i
		}
	}
	switch {
	case begin < 0:
		return nil, unified.Errorf(1, "the first line of the patch must be '%s'", beginPatch)
	case end < begin:
		return nil, unified.Errorf(len(lines), "the last line of the patch must be '%s'", endPatch)
	}
	if err := wrapping(lines[:begin], lines[end+1:]); err != nil {
		return nil, err
	}
	for i, l := range lines[end+1:] {
		if marker(l) {
			return nil, unified.Errorf(end+i+2, "%s stands after '%s' and would be left out; move '%s' behind the last "+
				"operation", unified.Quote(strings.TrimSpace(l)), endPatch, endPatch)
		}
	}
	p := &envelopeParser{lines: lines[:end], at: begin + 1, crlf: crlf}
	ops, err := p.operations()
	if err != nil {
		return nil, err
	}
	if len(ops) == 0 {
		return nil, unified.Errorf(begin+1, "the patch names no files; add '%s', '%s' or '%s' sections", addFile+"PATH",
			updateFile+"PATH", deleteFile+"PATH")
	}
	return &Patch{dialect: Envelope, ops: ops}, nil
}

func badLine(lines []string) int {
	for i, l := range lines {
		if !utf8.ValidString(l) {
			return i + 1
		}
	}
	return 0
}

// wrapping refuses a here document that does not end as it says: the patch may
// have been cut; and one that a command in another directory reads: its paths are not
// those of this directory. Any other text around the envelope is taken for talk.
func wrapping(before, after []string) *unified.Error {
	at := len(before)
	for at > 0 && strings.TrimSpace(before[at-1]) == "" {
		at--
	}
	if at == 0 {
		return nil
	}
	command, word, found := strings.Cut(before[at-1], "<<")
	if !found {
		return nil
	}
	if f := strings.Fields(command); len(f) > 1 && (f[0] == "cd" || f[0] == "pushd") {
		return unified.Errorf(at, "the patch is for another directory: %s; leave the command out and write the paths from "+
			"this one", unified.Quote(strings.TrimSpace(command)))
	}
	word, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(word, "-")), " ")
	if n := len(word); n > 1 && (word[0] == '\'' || word[0] == '"') && word[n-1] == word[0] {
		word = word[1 : n-1]
	}
	if word == "" || strings.ContainsAny(word, `'"`) {
		return unified.Errorf(at, "the delimiter of the here document is not quoted properly; write <<'EOF'")
	}
	for _, l := range after {
		if strings.HasSuffix(strings.TrimSpace(l), word) {
			return nil
		}
	}
	return unified.Errorf(at, "the here document does not end with %s", word)
}

type envelopeParser struct {
	lines []string
	at    int
	crlf  bool // the lines of the patch end in a carriage return and a line feed
}

func (p *envelopeParser) more() bool { return p.at < len(p.lines) }

func (p *envelopeParser) operations() ([]operation, *unified.Error) {
	var ops []operation
	if p.more() && strings.HasPrefix(strings.TrimSpace(p.lines[p.at]), environ) {
		p.at++
	}
	for p.more() {
		op, err := p.operation()
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func (p *envelopeParser) operation() (operation, *unified.Error) {
	header := strings.TrimSpace(p.lines[p.at])
	op := operation{line: p.at + 1}
	p.at++
	var err *unified.Error
	switch {
	case strings.HasPrefix(header, addFile):
		op.kind, op.path = Added, header[len(addFile):]
		op.text = p.added()
	case strings.HasPrefix(header, deleteFile):
		op.kind, op.path = Deleted, header[len(deleteFile):]
	case strings.HasPrefix(header, updateFile):
		op.kind, op.path = Updated, header[len(updateFile):]
		err = p.update(&op)
	case header == endPatch:
		return op, unified.Errorf(op.line, "the patch ends here, but more follows; write one '%s', behind the last operation",
			endPatch)
	default:
		return op, unified.Errorf(op.line, "%s is not a valid header; valid are '%s', '%s' and '%s'",
			unified.Quote(header), addFile+"PATH", deleteFile+"PATH", updateFile+"PATH")
	}
	if trimmed := strings.TrimSpace(op.path); trimmed != op.path {
		op.path, op.spaced = trimmed, op.path
	}
	if err == nil && strings.ContainsRune(op.path+op.to, 0) {
		err = unified.Errorf(op.line, "the path holds a NUL byte")
	}
	if err != nil {
		err.Path = op.path
	}
	return op, err
}

// added reads the lines of a new file. One carriage return before a line feed is taken
// for a line end of the patch; where the patch has other line ends, two belong to the
// file.
func (p *envelopeParser) added() string {
	var b strings.Builder
	for ; p.more() && strings.HasPrefix(p.lines[p.at], "+"); p.at++ {
		b.WriteString(p.lines[p.at][1:])
		if !p.crlf && strings.HasSuffix(p.lines[p.at], "\r") {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *envelopeParser) update(op *operation) *unified.Error {
	if p.more() && strings.HasPrefix(p.lines[p.at], moveTo) {
		op.to = strings.TrimSpace(p.lines[p.at][len(moveTo):])
		op.kind = Moved
		if op.to == "" {
			return unified.Errorf(p.at+1, "the target of the move is missing")
		}
		p.at++
	}
	for p.more() {
		l := p.lines[p.at]
		if strings.TrimSpace(l) == "" {
			p.at++ // blank lines may separate hunks
			continue
		}
		if strings.HasPrefix(l, "***") {
			break
		}
		c, err := p.chunk(len(op.chunks) == 0)
		if err != nil {
			err.Hunk = len(op.chunks) + 1
			return err
		}
		op.chunks = append(op.chunks, c)
	}
	if len(op.chunks) == 0 {
		return unified.Errorf(op.line, "the update has no hunks; write @@ and then lines that begin with a space, - or +")
	}
	return nil
}

// chunk reads one hunk. Only the first of a file may lack its @@.
func (p *envelopeParser) chunk(first bool) (chunk, *unified.Error) {
	c := chunk{at: p.at + 1}
	headed := false
	for p.more() && isHunkMarker(p.lines[p.at]) {
		headed = true
		if ctx := p.lines[p.at][2:]; strings.TrimSpace(ctx) != "" {
			c.contexts = append(c.contexts, strings.TrimPrefix(ctx, " "))
		}
		p.at++
	}
	if !headed && !first {
		return c, unified.Errorf(p.at+1, "expected @@ or a line that begins with a space, - or +, got %s",
			unified.Quote(p.lines[p.at]))
	}
	for ; p.more(); p.at++ {
		l := p.lines[p.at]
		if strings.TrimRight(l, " \t") == endOfFile && len(c.lines) > 0 {
			c.eof = true
			p.at++
			break
		}
		if l == "" {
			c.lines = append(c.lines, unified.Line{Op: ' ', Text: ""})
			continue
		}
		if l[0] != ' ' && l[0] != '-' && l[0] != '+' {
			break
		}
		c.lines = append(c.lines, unified.Line{Op: l[0], Text: l[1:]})
	}
	if len(c.lines) > 0 {
		return c, nil
	}
	if p.more() && !strings.HasPrefix(p.lines[p.at], "***") {
		return c, unified.Errorf(p.at+1, "a hunk's lines begin with a space, - or +, got %s", unified.Quote(p.lines[p.at]))
	}
	return c, unified.Errorf(c.at, "the hunk has no lines")
}

// isHunkMarker accepts @@ alone and @@ with a context after a space.
func isHunkMarker(l string) bool {
	return l == "@@" || strings.HasPrefix(l, "@@ ") || strings.HasPrefix(l, "@@\t")
}
