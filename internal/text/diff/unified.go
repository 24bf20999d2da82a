package diff

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"

	"kerf/internal/text/lines"
)

// File is one file that changed. A mode of 0 means that the file is not there
// on that side; the path of that side is then ignored.
type File struct {
	OldPath, NewPath string
	OldMode, NewMode uint32 // 0100644, 0100755 or 0120000 (a link; its text is its target)
	Old, New         []byte
	// Copy says that OldPath stays. Without it, differing paths are a rename.
	Copy bool
	// Opaque files are only named: their contents are not at hand.
	Opaque bool
}

const (
	context  = 3 // lines shown around a change
	typeMask = 0170000
)

// Unified writes the changes of files as `git diff --binary --full-index`
// would, in their order; `git apply` makes New of Old from it, to the byte.
// Files without a difference that git knows are left out. Paths are relative,
// with slashes.
func Unified(files []File) []byte {
	var out bytes.Buffer
	for _, f := range files {
		switch {
		case f.OldMode == 0 && f.NewMode == 0:
		case f.OldMode != 0 && f.NewMode != 0 && f.OldMode&typeMask != f.NewMode&typeMask:
			// A file that became a link, or the reverse: git removes and creates.
			gone, made := f, f
			gone.NewMode, gone.New = 0, nil
			made.OldMode, made.Old = 0, nil
			if !f.Copy {
				gone.write(&out)
			}
			made.write(&out)
		default:
			f.write(&out)
		}
	}
	return out.Bytes()
}

// write writes one file that keeps its type.
func (f File) write(out *bytes.Buffer) {
	switch {
	case f.OldMode == 0:
		f.OldPath, f.Old = f.NewPath, nil
	case f.NewMode == 0:
		f.NewPath, f.New = f.OldPath, nil
	}
	exists := f.OldMode != 0 && f.NewMode != 0
	same := bytes.Equal(f.Old, f.New) && !f.Opaque
	if exists && same && f.OldPath == f.NewPath && f.OldMode == f.NewMode {
		return
	}
	fmt.Fprintf(out, "diff --git %s %s\n", Quote("a/"+f.OldPath), Quote("b/"+f.NewPath))
	switch {
	case f.OldMode == 0:
		fmt.Fprintf(out, "new file mode %06o\n", f.NewMode)
	case f.NewMode == 0:
		fmt.Fprintf(out, "deleted file mode %06o\n", f.OldMode)
	case f.OldMode != f.NewMode:
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", f.OldMode, f.NewMode)
	}
	if f.OldPath != f.NewPath {
		verb := "rename"
		if f.Copy {
			verb = "copy"
		}
		if !f.Opaque {
			fmt.Fprintf(out, "similarity index %d%%\n", Similarity(f.Old, f.New))
		}
		fmt.Fprintf(out, "%s from %s\n%s to %s\n", verb, Quote(f.OldPath), verb, Quote(f.NewPath))
	}
	if exists && same {
		return
	}
	f.content(out)
}

// content writes the index line and what became of the bytes.
func (f File) content(out *bytes.Buffer) {
	from, to := "/dev/null", "/dev/null"
	if f.OldMode != 0 {
		from = Quote("a/" + f.OldPath)
	}
	if f.NewMode != 0 {
		to = Quote("b/" + f.NewPath)
	}
	if f.Opaque {
		fmt.Fprintf(out, "Binary files %s and %s differ\n", from, to)
		return
	}
	old, new := f.blobIDs()
	fmt.Fprintf(out, "index %s..%s", old, new)
	if f.OldMode == f.NewMode {
		fmt.Fprintf(out, " %06o", f.NewMode)
	}
	out.WriteByte('\n')
	switch {
	case len(f.Old) == 0 && len(f.New) == 0:
	case isBinary(f.Old) || isBinary(f.New):
		out.WriteString("GIT binary patch\n")
		writeLiteral(out, f.New)
		writeLiteral(out, f.Old)
	default:
		fmt.Fprintf(out, "--- %s\n+++ %s\n", ended(from), ended(to))
		writeHunks(out, f.Old, f.New)
	}
}

// isBinary reports whether b is shown as a binary patch.
func isBinary(b []byte) bool { return bytes.IndexByte(b, 0) >= 0 }

// blobID is the id that git (with SHA-1) gives a content.
func blobID(b []byte, mode uint32) string {
	if mode == 0 {
		return "0000000000000000000000000000000000000000"
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// blobIDs makes the ids of both sides, beside each other if that takes time.
func (f File) blobIDs() (old, new string) {
	const large = 1 << 20
	if len(f.Old) < large || len(f.New) < large {
		return blobID(f.Old, f.OldMode), blobID(f.New, f.NewMode)
	}
	var side sync.WaitGroup
	side.Go(func() { old = blobID(f.Old, f.OldMode) })
	new = blobID(f.New, f.NewMode)
	side.Wait()
	return old, new
}

// Quote writes a path as git does: plain, or as a C string when it holds bytes
// that are not printable ASCII, quotes or backslashes.
func Quote(path string) string {
	plain := true
	for i := 0; i < len(path); i++ {
		if c := path[i]; c < 0x20 || c >= 0x7F || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	out := []byte{'"'}
	for i := 0; i < len(path); i++ {
		c := path[i]
		if at := bytes.IndexByte([]byte("\a\b\t\n\v\f\r\"\\"), c); at >= 0 {
			out = append(out, '\\', `abtnvfr"\`[at])
		} else if c < 0x20 || c >= 0x7F {
			out = fmt.Appendf(out, "\\%03o", c)
		} else {
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}

// ended adds the tab by which git tells where a name with a space ends.
func ended(name string) string {
	if bytes.IndexByte([]byte(name), ' ') >= 0 {
		return name + "\t"
	}
	return name
}

// writeHunks writes the line changes from old to new with their surroundings.
func writeHunks(out *bytes.Buffer, old, new []byte) {
	head, tail := common(old, new)
	writeHunksWithin(out, old, new, head, tail)
}

// writeHunksWithin does not look at the first head and the last tail bytes, which are
// whole lines and alike.
func writeHunksWithin(out *bytes.Buffer, old, new []byte, head, tail int) {
	w := hunkWriter{
		out:     out,
		a:       newText(old[head : len(old)-tail]),
		b:       newText(new[head : len(new)-tail]),
		skipped: lines.Count(old[:head]),
	}
	hs := hunks(w.a, w.b)
	w.heading = headings{before: old[:head], text: w.a, seen: -1}
	for len(hs) > 0 {
		n := 1
		for n < len(hs) && hs[n].a0-hs[n-1].a1 <= 2*context {
			n++
		}
		w.hunk(hs[:n])
		hs = hs[n:]
	}
}

// hunkWriter writes the hunks between two texts, of which lines that are alike were
// left out at both ends, but more of them than are shown.
type hunkWriter struct {
	out     *bytes.Buffer
	a, b    text
	skipped int // lines left out before both
	heading headings
}

func (w *hunkWriter) hunk(hs []hunk) {
	first, last := hs[0], hs[len(hs)-1]
	before := min(context, first.a0)
	after := min(context, w.a.len()-last.a1)
	a0, a1 := first.a0-before, last.a1+after
	b0, b1 := first.b0-before, last.b1+after
	fmt.Fprintf(w.out, "@@ -%s +%s @@", extent(w.skipped+a0, w.skipped+a1), extent(w.skipped+b0, w.skipped+b1))
	if h := w.heading.above(a0); len(h) > 0 {
		w.out.WriteByte(' ')
		w.out.Write(h)
	}
	w.out.WriteByte('\n')
	at := a0
	for _, h := range hs {
		writeLines(w.out, ' ', w.a, at, h.a0)
		writeLines(w.out, '-', w.a, h.a0, h.a1)
		writeLines(w.out, '+', w.b, h.b0, h.b1)
		at = h.a1
	}
	writeLines(w.out, ' ', w.a, at, a1)
}

// extent writes a range of lines as unified diffs do: a range of one line has
// no count, an empty one names the line before it.
func extent(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	}
	return strconv.Itoa(from+1) + "," + strconv.Itoa(to-from)
}

func writeLines(out *bytes.Buffer, mark byte, t text, from, to int) {
	for i := from; i < to; i++ {
		l := t.line(i)
		out.WriteByte(mark)
		out.Write(l)
		if l[len(l)-1] != '\n' {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// headings finds the line that a hunk probably belongs to: the last before it
// that starts with a letter, an underscore or a dollar sign.
type headings struct {
	before []byte // whole lines that come before text
	text   text
	seen   int // lines up to here were looked at
	last   []byte
}

// above must be called with rising lines.
func (h *headings) above(line int) []byte {
	fresh := h.seen == -1
	for i := line - 1; i > h.seen; i-- {
		if l := h.text.line(i); isHeading(l) {
			h.last = shownHeading(l)
			break
		}
	}
	h.seen = max(h.seen, line-1)
	if fresh && h.last == nil {
		h.last = lastHeading(h.before)
	}
	return h.last
}

func isHeading(l []byte) bool {
	c := l[0]
	return c == '_' || c == '$' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func shownHeading(l []byte) []byte {
	const most = 80 // bytes shown, as in git
	return bytes.TrimRight(l[:min(len(l), most)], " \t\r\n\v\f")
}

// lastHeading returns the last heading of b, which consists of whole lines.
func lastHeading(b []byte) []byte {
	for len(b) > 0 {
		start := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
		if isHeading(b[start:]) {
			return shownHeading(b[start:])
		}
		b = b[:start]
	}
	return nil
}
