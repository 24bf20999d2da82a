package changes

import (
	"path"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/together"
	"kerf/internal/work/ledger"
)

// stepsOfEntry are the changes of e that take wants, those of directories among them. A
// directory that came or went with files does so again with any of them.
func stepsOfEntry(e *ledger.Entry, take func(path string) bool) []step {
	made, gone := present.Dirs(e)
	var steps []step
	carried := together.Carried(e)
	add := func(p string, pre, post *delta.Image, from, to string) {
		steps = append(steps, step{p, pre, post, from, to, e.Seq, e.Seq, e.Exact, carried[p]})
	}
	above := map[string]bool{}
	files := map[string]bool{}
	for _, c := range e.Set() {
		files[c.Path] = true
		if !take(c.Path) {
			continue
		}
		for dir := path.Dir(c.Path); dir != path.Dir(dir) && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
		if c.Pre == nil {
			c.Pre = gone[c.Path]
		}
		if c.Post == nil {
			c.Post = made[c.Path]
		}
		add(c.Path, c.Pre, c.Post, c.From, c.To)
	}
	alone := e.Alone()
	dir := func(p ledger.Path) {
		if d := string(p); !files[d] && (above[d] || alone[d] && take(d)) {
			files[d] = true
			add(d, gone[d], made[d], "", "")
		}
	}
	for _, d := range e.Dirs {
		dir(d)
	}
	for _, d := range e.Gone {
		dir(d.Path)
	}
	for _, m := range e.Modes {
		if d := string(m.Path); !files[d] && take(d) {
			add(d, present.Dir(m.Pre), present.Dir(m.Post), "", "")
		}
	}
	return steps
}
