package unified

import (
	"bytes"
	"fmt"
	"strings"

	"kerf/internal/text/order"
)

// image is a text while hunks are applied to it. Lines keep their line feeds.
type image struct {
	lines []string
	done  []bool // written by an earlier hunk; later ones must not match there
}

// Apply applies the hunks of a diff, each at its line or the nearest place
// where all its old lines stand. As in git, a hunk for the first line must match
// there, one without context after it must match at the end, and no hunk matches
// what another wrote. Fuzz allows for hunks that fit nowhere.
func Apply(data []byte, hunks []Hunk, fuzz int) ([]byte, *Error) {
	img := newImage(data)
	for i, h := range hunks {
		if err := img.apply(h, fuzz); err != nil {
			err.Hunk, err.Line = i+1, h.at
			return nil, err
		}
	}
	var b bytes.Buffer
	b.Grow(len(data) + 256)
	for _, l := range img.lines {
		b.WriteString(l)
	}
	return b.Bytes(), nil
}

func newImage(data []byte) *image {
	img := &image{}
	if len(data) > 0 {
		img.lines = strings.SplitAfter(string(data), "\n")
		if n := len(img.lines) - 1; img.lines[n] == "" {
			img.lines = img.lines[:n]
		}
	}
	img.done = make([]bool, len(img.lines))
	return img
}

// piece is what a hunk replaces by what; fuzz makes it smaller.
type piece struct {
	old, new          []string
	leading, trailing int
	pos               int
	atStart, atEnd    bool
}

func newPiece(h Hunk) piece {
	w := piece{pos: max(h.newPos-1, 0)}
	for _, l := range h.Lines {
		if l.Op != '+' {
			w.old = append(w.old, l.Text)
		}
		if l.Op != '-' {
			w.new = append(w.new, l.Text)
		}
	}
	w.leading, w.trailing = contextOf(h.Lines)
	w.atStart, w.atEnd = h.oldPos <= 1, w.trailing == 0
	return w
}

func (img *image) apply(h Hunk, fuzz int) *Error {
	w := newPiece(h)
	at, ok := img.find(w)
	if !ok {
		if other, changed := img.adapt(w); changed {
			if at, ok = img.find(other); ok {
				w = other
			}
		}
	}
	for !ok && w.relax(&fuzz) {
		at, ok = img.find(w)
	}
	if !ok {
		return &Error{Message: img.misfit(newPiece(h))}
	}
	img.replace(at, w)
	return nil
}

// relax makes the piece match more: first anywhere, then with less context.
func (w *piece) relax(fuzz *int) bool {
	if *fuzz <= 0 {
		return false
	}
	if w.atStart || w.atEnd {
		w.atStart, w.atEnd = false, false
		return true
	}
	if w.leading == 0 && w.trailing == 0 {
		return false
	}
	*fuzz--
	leading, trailing := w.leading, w.trailing
	if leading > 0 && leading >= trailing {
		w.old, w.new = w.old[1:], w.new[1:]
		w.leading--
		w.pos++
	}
	if trailing > 0 && trailing >= leading {
		w.old, w.new = w.old[:len(w.old)-1], w.new[:len(w.new)-1]
		w.trailing--
	}
	return len(w.old) > 0
}

// find looks for the old lines at the expected place and then ever farther from
// it, by turns after and before.
func (img *image) find(w piece) (int, bool) {
	last := len(img.lines) - len(w.old)
	if last < 0 {
		return 0, false
	}
	from, to := 0, last
	if w.atStart {
		to = 0
	}
	if w.atEnd {
		from = last
	}
	if from > to {
		return 0, false
	}
	start := min(max(w.pos, from), to)
	left := 2*len(img.lines) + 2*len(w.old) // comparisons before the slow search
	for d := 0; start-d >= from || start+d <= to; d++ {
		if left <= 0 {
			return img.nearest(w.old, from, start, to)
		}
		if start+d <= to && img.matches(start+d, w.old, &left) {
			return start + d, true
		}
		if d > 0 && start-d >= from && img.matches(start-d, w.old, &left) {
			return start - d, true
		}
	}
	return 0, false
}

func (img *image) matches(at int, old []string, left *int) bool {
	for i, l := range old {
		*left--
		if img.done[at+i] || img.lines[at+i] != l {
			return false
		}
	}
	return true
}

// nearest finds the place nearest to start, the later of two, in linear time.
func (img *image) nearest(old []string, from, start, to int) (int, bool) {
	same := func(i, j int) bool { return !img.done[i] && img.lines[i] == old[j] }
	twin := func(i, j int) bool { return old[i] == old[j] }
	after, found := Search(len(old), start, to, same, twin)
	end := start - 1
	if found {
		from = max(from, start-(after-start)+1)
	}
	// Backwards the text and the wanted lines are both read from their ends.
	n, size := len(old), len(img.lines)
	back, ok := Search(n, size-n-end, size-n-from,
		func(i, j int) bool { return same(size-1-i, n-1-j) },
		func(i, j int) bool { return twin(n-1-i, n-1-j) })
	if ok {
		return size - n - back, true
	}
	return after, found
}

// adapt gives the piece the line ends of the text, if that has only one kind:
// a diff often loses or gains carriage returns on its way.
func (img *image) adapt(w piece) (piece, bool) {
	crlf, lf := 0, 0
	for _, l := range img.lines {
		switch {
		case strings.HasSuffix(l, "\r\n"):
			crlf++
		case strings.HasSuffix(l, "\n"):
			lf++
		}
	}
	if crlf > 0 && lf > 0 || crlf+lf == 0 {
		return w, false
	}
	changed := false
	convert := func(ls []string) []string {
		out := make([]string, len(ls))
		for i, l := range ls {
			out[i] = l
			if body, ended := strings.CutSuffix(l, "\n"); ended {
				body = strings.TrimSuffix(body, "\r")
				if crlf > 0 {
					body += "\r"
				}
				out[i] = body + "\n"
			}
			changed = changed || out[i] != l
		}
		return out
	}
	w.old, w.new = convert(w.old), convert(w.new)
	return w, changed
}

func (img *image) replace(at int, w piece) {
	done := make([]bool, len(w.new))
	for i := range done {
		done[i] = true
	}
	img.lines = order.Replace(img.lines, at, at+len(w.old), w.new)
	img.done = order.Replace(img.done, at, at+len(w.old), done)
}

// misfit says why a hunk does not apply.
func (img *image) misfit(w piece) string {
	text := []byte(strings.Join(img.lines, ""))
	free := w
	free.atStart, free.atEnd = false, false
	if at, ok := img.find(free); ok && len(w.old) > 0 {
		switch {
		case w.leading == 0 && w.trailing == 0:
			return fmt.Sprintf("the hunk has no context, so it may only stand at the end of the file; its lines are at line "+
				"%d; make the diff with context (-U3)", at+1)
		case w.atEnd:
			return fmt.Sprintf("the hunk has no context after its changes, so it must match the end of the file (%d lines); "+
				"its lines are at line %d; add the lines that follow them", len(img.lines), at+1)
		}
		return fmt.Sprintf("the hunk is for the first line of the file, but its lines are at line %d; give the hunk that "+
			"line number", at+1)
	}
	if len(w.old) == 0 && len(img.lines) > 0 {
		return fmt.Sprintf("the hunk is for an empty file, this one has %d lines; add lines of the file as context",
			len(img.lines))
	}
	fresh := w
	fresh.old, fresh.atStart, fresh.atEnd = w.new, false, false
	if at, ok := newImage(text).find(fresh); ok && len(w.new) > 0 {
		return fmt.Sprintf("the old lines are not in the file, but the new ones are already at lines %d-%d; leave out the "+
			"hunk if nothing else is missing", at+1, at+len(w.new))
	}
	want := make([]string, len(w.old))
	for i, l := range w.old {
		want[i] = TrimLineEnd(l)
	}
	return "the old lines are not in the file:\n" + Excerpt(want, 1, false) + Nearest(text, want, "make the hunk from it")
}
