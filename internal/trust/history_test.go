//go:build linux

package trust

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// evidence is what is known of one history, for the laws to judge.
type evidence struct {
	number   uint64
	dir      string
	turns    [][]command
	began    []tree  // the tree before each turn, and when it was read
	read     []int64 // in nanoseconds
	deeds    []deed  // of the writer
	final    tree    // after the last turn, when nobody writes any more
	entries  []entry
	diff     string          // of the last turn
	left     map[string]bool // what was said to be left out of it: nobody saw who did it
	rebuilt  tree            // base of the last turn with the diff applied, apart from what the writer touched
	dropped  map[string]bool
	undos    []undone
	redone   tree // after undo and redo, if that was tried
	redoable bool
	calls    []string
}

// undone is one step of taking back.
type undone struct {
	args   []string
	turns  []int // of all steps so far, from 0
	calls  bool  // single calls of a turn with several
	path   string
	all    bool // everything is taken back now
	dry    *report
	report report
	tree   tree
}

// history is a random sequence of turns, with or without a writer beside it.
type history struct {
	number uint64
	turns  [][]command
	writer time.Duration // its pause; 0 for none
	r      *rand.Rand
}

// newHistory makes the history of a number.
func newHistory(number uint64) history {
	h := history{number: number, r: rand.New(rand.NewPCG(number, 1))}
	for range 1 + h.r.IntN(3) {
		var calls []command
		for range 1 + h.r.IntN(3) {
			calls = append(calls, cook(h.r))
		}
		h.turns = append(h.turns, calls)
	}
	if own := rand.New(rand.NewPCG(number, 7)); own.IntN(4) == 0 {
		h.turns[len(h.turns)-1] = cookSteadily(own)
	}
	switch h.r.IntN(8) {
	case 0, 1:
	case 2, 3:
		h.writer = time.Millisecond
	case 4, 5:
		h.writer = 6 * time.Millisecond
	default:
		h.writer = 30 * time.Millisecond
	}
	return h
}

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "history %d, writer's pause %v", h.number, h.writer)
	for i, calls := range h.turns {
		for j, c := range calls {
			fmt.Fprintf(&b, "\n  t%dc%d  %s", i+1, j+1, c.text)
		}
	}
	return b.String()
}

// run plays the history in a copy of the base, and takes some of it back.
func (h history) run(base, kerf, dir string) (e *evidence, err error) {
	p, err := newPlace(kerf, dir)
	if err != nil {
		return nil, err
	}
	if r := p.command("cp", "-a", base+"/.", p.dir); r.code != 0 {
		return nil, fmt.Errorf("copy: %v", r)
	}
	e = &evidence{number: h.number, dir: p.dir, turns: h.turns}
	if err := h.play(p, e); err != nil {
		return nil, err
	}
	if e.entries, err = p.log(); err != nil {
		return nil, err
	}
	r := p.run("diff")
	if r.code != 0 {
		return nil, fmt.Errorf("diff: %v", r)
	}
	e.diff, e.left = r.out, map[string]bool{}
	if _, list, ok := strings.Cut(r.err, "unproven: the diff leaves out changes of these files of which nobody saw who made them\n"); ok {
		for l := range strings.Lines(list) {
			if path, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "  "); ok {
				path, _, _ = strings.Cut(path, " (")
				e.left[path] = true
			}
		}
	}
	if _, list, ok := strings.Cut(r.err, "not whole: the diff leaves out "); ok {
		for l := range strings.Lines(list) {
			path, _, _ := strings.Cut(strings.TrimSpace(l), " (")
			e.left[e.short(name(path))] = true
		}
	}
	if err := e.rebuild(p); err != nil {
		return nil, err
	}
	return e, h.back(p, e)
}

func (h history) play(p *place, e *evidence) (err error) {
	turns := make([][]call, len(h.turns))
	for i, cmds := range h.turns {
		for j, c := range cmds {
			wait := 10000
			if c.trait&later != 0 {
				wait = 250
			}
			turns[i] = append(turns[i], sh(fmt.Sprintf("t%dc%d", i+1, j+1), c.text, wait))
		}
	}
	s, err := p.open(turns...)
	if err != nil {
		return err
	}
	if h.writer > 0 {
		w, err := startWriter(p.dir, h.number, h.writer)
		if err != nil {
			return s.end(err)
		}
		defer func() {
			var stopped error
			e.deeds, stopped = w.stop()
			err = errors.Join(err, stopped)
			if e.final, stopped = look(p.dir); stopped != nil {
				err = errors.Join(err, stopped)
			}
		}()
		for w.count() == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	for i := range turns {
		e.read = append(e.read, time.Now().UnixNano())
		before, err := look(p.dir)
		if err != nil {
			return s.end(err)
		}
		e.began = append(e.began, before)
		if err := s.turn(fmt.Sprintf("turn %d", i+1)); err != nil {
			return s.end(err)
		}
	}
	err = s.end(nil)
	e.calls = s.calls
	if err == nil && h.writer == 0 {
		e.final, err = look(p.dir)
	}
	return err
}

// turnIDs are the ids of the turns that changed something, by their number.
func (e *evidence) turnIDs() map[int]string {
	ids := map[int]string{}
	for _, c := range e.entries {
		if turn, _, ok := c.place(); ok && len(c.Changes) > 0 && c.Turn != "" {
			ids[turn] = c.Turn
		}
	}
	return ids
}

// back takes back some of the history.
func (h history) back(p *place, e *evidence) error {
	ids := e.turnIDs()
	var known []int
	for i := range h.turns {
		if ids[i] != "" {
			known = append(known, i)
		}
	}
	if len(known) == 0 {
		return nil
	}
	var steps []undone
	whole := true // no other turn changed anything
	for _, c := range e.entries {
		if turn, _, ok := c.place(); ok && ids[turn] == "" &&
			len(c.DirectoriesMade)+len(c.DirectoriesRemoved) > 0 {
			whole = false // directories alone
		}
	}
	add := func(u undone, turn int, more ...string) {
		u.all = u.all && whole
		u.args = append(u.args, more...)
		u.turns = append(u.turns, turn)
		if len(steps) > 0 {
			u.turns = append(u.turns, steps[len(steps)-1].turns...)
		}
		steps = append(steps, u)
	}
	one := known[h.r.IntN(len(known))]
	switch h.r.IntN(6) {
	case 0, 1: // everything, the last turn first
		for i := len(known) - 1; i >= 0; i-- {
			add(undone{all: i == 0}, known[i])
		}
	case 2: // everything, in any order
		h.r.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		for _, i := range known {
			add(undone{}, i, "--turn", ids[i])
		}
	case 3:
		add(undone{all: len(known) == 1}, one, "--turn", ids[one])
	case 4: // one call
		var calls []string
		for _, c := range e.entries {
			if len(c.Changes) > 0 && c.Call != "" {
				calls = append(calls, c.Call)
			}
		}
		id := calls[h.r.IntN(len(calls))]
		var turn, nth int
		if _, err := fmt.Sscanf(id, "t%dc%d", &turn, &nth); err != nil {
			return err
		}
		add(undone{calls: len(h.turns[turn-1]) > 1, all: len(known) == 1 && len(h.turns[turn-1]) == 1}, turn-1, "--call", id)
	default: // one path
		var paths []string
		for _, c := range e.entries {
			for _, c2 := range c.Changes {
				if c.Turn == ids[one] {
					paths = append(paths, p.short(c2.Path))
				}
			}
		}
		path := paths[h.r.IntN(len(paths))]
		add(undone{path: path}, one, "--turn", ids[one], path)
	}
	for i := range steps {
		u := &steps[i]
		if i == 0 {
			dry, err := p.undo(append([]string{"undo", "--dry-run"}, u.args...)...)
			if err != nil {
				return err
			}
			u.dry = &dry
		}
		var err error
		if u.report, err = p.undo(append([]string{"undo"}, u.args...)...); err != nil {
			return err
		}
		if u.tree, err = look(p.dir); err != nil {
			return err
		}
		e.undos = append(e.undos, *u)
		if u.report.result.code != 0 && u.all {
			e.undos[i].all = false
		}
		if u.report.result.code != 0 && i < len(steps)-1 {
			steps[len(steps)-1].all = false
		}
	}
	if len(e.undos) == 1 && e.undos[0].report.result.code == 0 && len(e.undos[0].report.Files) > 0 {
		r, err := p.undo("redo")
		if err != nil {
			return err
		}
		e.redoable = true
		if e.redone, err = look(p.dir); err != nil {
			return err
		}
		if r.result.code != 0 {
			return fmt.Errorf("redo after %v: %v", e.undos[0].report.result, r.result)
		}
	}
	return nil
}

// section is the part of a diff about one file.
type section struct {
	paths []string
	text  string
}

// holdsNew reports whether the file, before the change, held what the writer wrote since it was as old.
func (s section) holdsNew(old string) bool {
	for l := range strings.Lines(s.text) {
		if t := token.FindString(l); t != "" && (l[0] == '-' || l[0] == ' ') && !strings.Contains(old, t) {
			return true
		}
	}
	return false
}

// sections takes a git diff apart.
func sections(diff string) []section {
	var list []section
	for l := range strings.Lines(diff) {
		if strings.HasPrefix(l, "diff --git ") {
			list = append(list, section{})
		}
		if len(list) == 0 {
			continue
		}
		s := &list[len(list)-1]
		s.text += l
		l = strings.TrimSuffix(l, "\n")
		if both, ok := strings.CutPrefix(l, "diff --git a/"); ok {
			if a, b, ok := strings.Cut(both, " b/"); ok {
				s.paths = []string{a, b}
			}
		}
	}
	return list
}

// rebuild applies the diff of the last turn to what was there before it, leaving out
// what the writer touched.
func (e *evidence) rebuild(p *place) error {
	touched := e.touched()
	e.dropped = map[string]bool{}
	base := e.began[len(e.began)-1]
	holds := func(dir string) bool { // something of the writer's, which goes on to be there
		for p := range base {
			if p != dir && below(p, dir) && touched(p) {
				return true
			}
		}
		return false
	}
	inTheWay := func(path string) bool { // what was left out, or the writer took away, is a file where a directory would have to be
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			if n, ok := base[dir]; ok && !n.kind.IsDir() && (e.dropped[dir] || touched(dir)) {
				return true
			}
		}
		return false
	}
	list := sections(e.diff)
	fits := func(s section) bool {
		a, b := s.paths[0], s.paths[1]
		// What is left out in part need not fit what was there before the turn.
		last := len(e.turns) - 1
		left := e.left[a] || e.left[b] || e.late(last, a) || e.late(last, b)
		return !touched(a) && !touched(b) && !holds(a) && !holds(b) && !inTheWay(a) && !inTheWay(b) && !s.holdsNew(base[a].data) && !left
	}
	for range 2 { // of a move that is left out, what was moved away stays in the way
		for _, s := range list { // by their paths: what is above comes first
			if len(s.paths) != 2 {
				return fmt.Errorf("diff: a part of it has no paths: %s", s.text)
			}
			if !fits(s) {
				e.dropped[s.paths[0]], e.dropped[s.paths[1]] = true, true
			}
		}
	}
	var patch strings.Builder
	for _, s := range list {
		if a, b := s.paths[0], s.paths[1]; fits(s) && !(inGit(a) && inGit(b)) {
			patch.WriteString(s.text)
		}
	}
	dir := filepath.Join(p.base, "rebuilt")
	for path, n := range base {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		var err error
		switch {
		case n.kind.IsRegular():
			if err = os.WriteFile(full, []byte(n.data), 0o600); err == nil {
				err = os.Chmod(full, n.mode|0o600)
			}
		case n.kind == os.ModeSymlink:
			err = os.Symlink(n.data, full)
		}
		if err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if patch.Len() > 0 {
		file := filepath.Join(p.base, "patch")
		if err := os.WriteFile(file, []byte(patch.String()), 0o600); err != nil {
			return err
		}
		if r := p.command("git", "-C", dir, "-c", "core.fileMode=true", "apply", "--whitespace=nowarn", file); r.code != 0 {
			return fmt.Errorf("diff: git does not take it: %v\n%s", r, patch.String())
		}
	}
	var err error
	if e.rebuilt, err = look(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
