// Package changes is the page on which the user goes through what a session changed: its
// files, their edits and single lines, to keep them, to take them back or to open them.
package changes

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// Options are what the page needs of its surroundings.
type Options struct {
	// Undo takes back, or brings back, what the user chose; it asks first.
	Undo func(protocol.Undo) tea.Cmd
	// Open opens a file at a line, which may be 0, in the user's editor.
	Open func(path string, line int) tea.Cmd
	// Diff shows a whole diff.
	Diff func(title, diff string)
	// Name shortens a path.
	Name func(path string) string
	Now  func() time.Time
	// Kept are the edits that the user keeps, by their keys. The page adds to them.
	Kept map[string]bool
	// Left is called when the page is closed.
	Left func()
}

// level says what the keys move through.
type level int

const (
	files level = iota
	edits
	lines
)

// View is the page. Make it with [New].
type View struct {
	o     Options
	files []file
	level level
	file  int
	edit  int          // of the file
	line  int          // of the edit's changed lines
	marks map[int]bool // lines of the edit that are chosen
	top   int          // the first row of the diff that is shown
	note  string
	drawn drawn
}

// file is a file with all that was done to it.
type file struct {
	path, name     string
	parts          []part // newest first
	edits          []edit // in the order of the parts
	added, removed int
}

// part is what one entry did to a file.
type part struct {
	entry  protocol.ChangeEntry
	change protocol.PathChange
	diff   diffview.File
}

// edit is one edit of a part: lines next to each other that go and come, or all of the part
// where its lines cannot be taken back one by one.
type edit struct {
	part   int
	number int // among the edits of the part, -1 for all of it
	lines  []int
	first  int // the number of its first changed line in the part's diff
	line   int // of the file, where the editor goes
}

// New returns the page of the changes of a session, which are given oldest first.
func New(o Options, list []protocol.ChangeEntry) *View {
	v := &View{o: o}
	v.Set(list)
	return v
}

// Set has the page show a newer list of changes; what is marked stays marked.
func (v *View) Set(list []protocol.ChangeEntry) {
	path, key := "", ""
	if v.file < len(v.files) {
		f := &v.files[v.file]
		path, key = f.path, f.key(f.edits[v.edit])
	}
	v.files, v.drawn = read(list, v.o.Name), drawn{}
	v.file = max(0, slices.IndexFunc(v.files, func(f file) bool { return f.path == path }))
	if v.level != files && len(v.files) > 0 {
		f := &v.files[v.file]
		v.edit = max(0, slices.IndexFunc(f.edits, func(e edit) bool { return f.key(e) == key }))
	}
	v.clamp()
}

// Tell shows a text in the last row until the next key.
func (v *View) Tell(text string) { v.note = text }

// read sorts changes by file: the files that changed last first.
func read(list []protocol.ChangeEntry, name func(string) string) []file {
	var all []file
	at := map[string]int{}
	for _, e := range slices.Backward(list) {
		diffs := diffview.Parse(e.Diff)
		for _, c := range e.Changes {
			path := cmp.Or(c.Moved, c.Path)
			i, ok := at[path]
			if !ok {
				i = len(all)
				at[path] = i
				all = append(all, file{path: path, name: name(path)})
			}
			p := part{entry: e, change: c}
			if k := slices.IndexFunc(diffs, func(f diffview.File) bool { return names(path, f.Name) }); k >= 0 {
				p.diff = diffs[k]
			}
			all[i].add(p)
		}
	}
	for i := range all {
		all[i].count()
	}
	return all
}

// count counts the lines that are changed now. An undo, or a redo, and what it took back cancel
// each other out.
func (f *file) count() {
	var counted []part
	for _, p := range slices.Backward(f.parts) {
		if p.entry.Cause == "undo" || p.entry.Cause == "redo" {
			if i := lastIndex(counted, func(q part) bool {
				return q.entry.Undone && q.diff.Added == p.diff.Removed && q.diff.Removed == p.diff.Added
			}); i >= 0 {
				counted = slices.Delete(counted, i, i+1)
				continue
			}
		}
		counted = append(counted, p)
	}
	f.added, f.removed = 0, 0
	for _, p := range counted {
		if !p.entry.Undone {
			f.added, f.removed = f.added+p.diff.Added, f.removed+p.diff.Removed
		}
	}
}

// lastIndex is the index of the last part that is so, or -1.
func lastIndex(list []part, is func(part) bool) int {
	for i, p := range slices.Backward(list) {
		if is(p) {
			return i
		}
	}
	return -1
}

// names reports whether a path ends in the name that a diff gives a file.
func names(path, name string) bool {
	slashed := filepath.ToSlash(path)
	return slashed == name || strings.HasSuffix(slashed, "/"+name)
}

// add appends a part with its edits.
func (f *file) add(p part) {
	n := len(f.parts)
	f.parts = append(f.parts, p)
	if p.change.Kind != protocol.Update || p.change.Moved != "" || p.diff.Added+p.diff.Removed == 0 {
		all := edit{part: n, number: -1, line: 1}
		for i := range p.diff.Lines {
			all.lines = append(all.lines, i)
		}
		f.edits = append(f.edits, all)
		return
	}
	for number, e := range p.diff.Edits() {
		f.edits = append(f.edits, edit{part: n, number: number, lines: e.Lines, first: e.First, line: e.Line})
	}
}

// key names an edit among those that are kept.
func (f *file) key(e edit) string {
	p := f.parts[e.part]
	return strings.Join([]string{string(p.entry.Call), p.entry.Time.String(), f.path, strconv.Itoa(e.number)}, "\x00")
}

// clamp keeps the marks within what there is.
func (v *View) clamp() {
	v.file = max(0, min(v.file, len(v.files)-1))
	n := 0
	if len(v.files) > 0 {
		n = len(v.files[v.file].edits)
	}
	v.edit = max(0, min(v.edit, n-1))
	if n == 0 {
		v.level = files
		return
	}
	if e := v.files[v.file].edits[v.edit]; v.level == lines && (e.number < 0 || v.line >= len(e.lines)) {
		v.level, v.line, v.marks = edits, 0, nil
	}
}

// Page says that it takes the whole screen.
func (v *View) Page() {}

// Lines is empty: in plain mode changes are a list.
func (v *View) Lines() []style.Line { return nil }

// Line does nothing.
func (v *View) Line(string) (c tea.Cmd, stay, again bool) { return nil, false, false }

// Key moves, goes into a file or an edit and out again, or acts on what is marked.
func (v *View) Key(k panels.Key) (tea.Cmd, bool) {
	v.note = ""
	switch k.Name {
	case "q", "ctrl+c":
		v.o.Left()
		return nil, false
	case "esc", "left", "h":
		if v.level == files {
			if k.Name == "esc" {
				v.o.Left()
			}
			return nil, k.Name != "esc"
		}
		v.level--
		v.marks = nil
		return nil, true
	case "r":
		return v.o.Undo(protocol.Undo{Redo: true}), true
	}
	if len(v.files) == 0 {
		return nil, true
	}
	if by, ok := v.moves(k.Name); ok {
		v.move(by)
		return nil, true
	}
	return v.act(k.Name), true
}

// moves is by how many a key moves the mark.
func (v *View) moves(key string) (by int, ok bool) {
	const far = 1 << 30
	by, ok = map[string]int{"up": -1, "k": -1, "ctrl+p": -1, "down": 1, "j": 1, "ctrl+n": 1, "pgup": -8, "pgdown": 8,
		"home": -far, "g": -far, "end": far, "G": far, "shift+g": far}[key]
	return by, ok
}

// move moves the mark; an edit before the first of a file, or after its last, is that of the
// file beside it.
func (v *View) move(by int) {
	f := &v.files[v.file]
	switch v.level {
	case files:
		v.file = max(0, min(v.file+by, len(v.files)-1))
		v.edit, v.top = 0, 0
	case edits:
		switch to := v.edit + by; {
		case by == -1 && to < 0 && v.file > 0:
			v.file--
			v.edit = len(v.files[v.file].edits) - 1
		case by == 1 && to >= len(f.edits) && v.file < len(v.files)-1:
			v.file, v.edit, v.top = v.file+1, 0, 0
		default:
			v.edit = max(0, min(to, len(f.edits)-1))
		}
	case lines:
		v.line = max(0, min(v.line+by, len(f.edits[v.edit].lines)-1))
	}
}

// act does what a key asks for to the file, edit or line that is marked.
func (v *View) act(key string) tea.Cmd {
	f := &v.files[v.file]
	switch key {
	case "enter", "right", "l", "tab":
		v.enter(f)
	case "space":
		v.keep(f)
	case "n":
		v.next()
	case "o":
		if f.parts[0].change.Kind == protocol.Delete {
			v.note = f.name + " was removed; there is nothing to open"
			return nil
		}
		return v.o.Open(f.path, v.at(f))
	case "d":
		p := f.parts[v.part(f)]
		v.o.Diff(f.name, p.entry.Diff)
	case "u":
		return v.undo(f)
	case "c", "t":
		p := f.parts[v.part(f)]
		if !v.undoable(p) {
			return nil
		}
		op := protocol.Undo{Turn: p.entry.Turn}
		if key == "c" {
			op.Call = p.entry.Call
		}
		return v.o.Undo(op)
	}
	return nil
}

// enter goes from the files to the edits of one, and from the edits to the lines of one.
func (v *View) enter(f *file) {
	switch {
	case v.level == files:
		v.level = edits
	case v.level == edits && f.edits[v.edit].number < 0:
		v.note = "this change is of the whole file; u takes it back"
	case v.level == edits:
		v.level, v.line, v.marks = lines, 0, map[int]bool{}
	}
}

// part is the part that is marked: that of the edit, or the newest that still holds.
func (v *View) part(f *file) int {
	if v.level != files {
		return f.edits[v.edit].part
	}
	return max(0, slices.IndexFunc(f.parts, func(p part) bool { return !p.entry.Undone && !p.entry.Foreign() }))
}

// at is the line at which the editor opens a file.
func (v *View) at(f *file) int {
	e := f.edits[v.edit]
	if v.level == lines {
		if n := f.parts[e.part].diff.Lines[e.lines[v.line]].New; n > 0 {
			return n
		}
	}
	return e.line
}

// keep marks the file or edit as one that stays, or takes that mark away; a line is marked
// to be taken back.
func (v *View) keep(f *file) {
	switch v.level {
	case files:
		all := v.kept(f) < len(f.edits)
		for _, e := range f.edits {
			v.set(f.key(e), all)
		}
		if all {
			v.move(1)
		}
	case edits:
		key := f.key(f.edits[v.edit])
		v.set(key, !v.o.Kept[key])
		if v.o.Kept[key] {
			v.move(1)
		}
	case lines:
		v.marks[v.line] = !v.marks[v.line]
		v.move(1)
	}
}

func (v *View) set(key string, kept bool) {
	if kept {
		v.o.Kept[key] = true
	} else {
		delete(v.o.Kept, key)
	}
}

// kept is how many edits of a file the user keeps.
func (v *View) kept(f *file) int {
	n := 0
	for _, e := range f.edits {
		if v.o.Kept[f.key(e)] {
			n++
		}
	}
	return n
}

// next goes to the next edit that is neither kept nor taken back.
func (v *View) next() {
	open := func(f *file, e edit) bool { return !v.o.Kept[f.key(e)] && !f.parts[e.part].entry.Undone }
	i, k := v.file, v.edit+1
	if v.level == files {
		k = 0
	}
	for range len(v.files) + 1 {
		f := &v.files[i]
		for ; k < len(f.edits); k++ {
			if open(f, f.edits[k]) {
				v.level, v.file, v.edit, v.top, v.marks = edits, i, k, 0, nil
				return
			}
		}
		i, k = (i+1)%len(v.files), 0
	}
	v.note = "all edits are kept or taken back"
}

// undo takes back the lines, the edit, or what the last turn that changed it did to the file.
func (v *View) undo(f *file) tea.Cmd {
	p := f.parts[v.part(f)]
	if !v.undoable(p) {
		return nil
	}
	op := protocol.Undo{Turn: p.entry.Turn}
	if v.level == files {
		op.Paths = []string{f.path}
		return v.o.Undo(op)
	}
	e := f.edits[v.edit]
	op.Call = p.entry.Call
	switch {
	case e.number < 0:
		op.Paths = []string{f.path}
	case v.level == edits:
		op.Hunks = map[string][]int{f.path: {e.number}}
	default:
		var chosen []int
		for i := range e.lines {
			if v.marks[i] {
				chosen = append(chosen, e.first+i)
			}
		}
		if len(chosen) == 0 {
			chosen = e.pair(p.diff.Lines, v.line)
		}
		op.Lines = map[string][]int{f.path: chosen}
	}
	return v.o.Undo(op)
}

// pair is the line of an edit and the one that it replaces, or that replaces it, where each
// line that goes has one that comes; as numbers in the diff.
func (e edit) pair(all []diffview.Line, line int) []int {
	gone := 0
	for _, i := range e.lines {
		if all[i].Kind == '-' {
			gone++
		}
	}
	if 2*gone != len(e.lines) {
		return []int{e.first + line}
	}
	return []int{e.first + line%gone, e.first + line%gone + gone}
}

// undoable reports whether Kerf takes a part back, and tells why not.
func (v *View) undoable(p part) bool {
	switch {
	case p.entry.Foreign():
		v.note = "this change was made by neither tool nor command; Kerf does not undo it"
	case p.entry.Undone:
		v.note = "this change was already taken back; r brings back what was taken last"
	case p.entry.Running:
		v.note = "its command still runs"
	default:
		return true
	}
	return false
}
