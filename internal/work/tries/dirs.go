package tries

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/overlay"
)

// mode notes what the try did to the mode of a directory that is there. Where nobody knows
// what it was before, and others changed something in the directory since, it stays.
func (p *planner) mode(path, upper string) {
	if ok, _ := p.wanted(path); !ok {
		return
	}
	mine, err := os.Stat(upper)
	if err != nil {
		return
	}
	st, err := os.Lstat(path)
	if err != nil {
		return
	}
	is, want := uint32(st.Mode().Perm()), uint32(mine.Mode().Perm())
	was, known := p.modes[path]
	if !known {
		was = is
		if overlay.Since(path).After(p.t.Meta.Started) {
			return
		}
	}
	if was != want && is == was {
		p.plan.Modes = append(p.plan.Modes, ledger.DirMode{Path: ledger.Path(path), Pre: is, Post: want})
	}
}

// inTheWay finds what stays where the try has something else: a directory with files where
// it has a file, or the other way round. Those rows have the outcome o then.
func (p *planner) inTheWay(o Outcome) {
	goes, pruned := p.goes(), map[string]bool{}
	for _, dir := range p.leaving(goes) {
		pruned[dir] = true
	}
	for i := range p.plan.Rows {
		r := &p.plan.Rows[i]
		if r.Next.Post == nil {
			continue
		}
		note := ""
		if file := p.above(r.Path, goes); file != "" {
			note = fmt.Sprintf("%s is a file that stays", file)
		} else if isDir(r.Path) && holds(r.Path, goes, pruned) {
			note = "it is a directory that stays, or has files that stay"
		}
		if note != "" {
			r.Outcome, r.Note, r.Next = o, note, delta.Change{}
		}
	}
	p.plan.Make = slices.DeleteFunc(p.plan.Make, func(d ledger.Dir) bool {
		path := string(d.Path)
		if st, err := p.lstat(path); (err != nil || st.IsDir() || goes[path]) && p.above(path, goes) == "" {
			return false
		}
		known := slices.ContainsFunc(p.plan.Rows, func(r Row) bool { return r.Path == path || pathname.Under(path, r.Path) })
		if !known {
			p.plan.Rows = append(p.plan.Rows, Row{Path: path, Change: delta.Change{Path: path}, Outcome: o,
				Note: "a file stays there, and the try made a directory"})
		}
		return true
	})
}

// goes are the files and links that are going to be removed.
func (p *planner) goes() map[string]bool {
	goes := map[string]bool{}
	for _, r := range p.plan.Rows {
		if r.Next.Pre != nil && r.Next.Post == nil {
			goes[r.Path] = true
		}
	}
	return goes
}

// above is what stays above a path and is no directory, or empty.
func (p *planner) above(path string, goes map[string]bool) string {
	for dir := range p.parents(path) {
		if st, err := os.Lstat(dir); err == nil && !st.IsDir() && !goes[dir] {
			return dir
		}
	}
	return ""
}

// holds reports whether a directory stays, or has something that stays.
func holds(dir string, goes, pruned map[string]bool) bool {
	found := false
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			found = found || !pruned[path]
		} else if err == nil {
			found = found || !goes[path]
		}
		if found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// directories leaves out new directories in which only what is left out would be, but for
// those to which a file gives way, and orders those that go.
func (p *planner) directories() {
	goes, left, used := p.goes(), map[string]bool{}, map[string]bool{}
	for _, r := range p.plan.Rows {
		in := left
		if r.Next.Post != nil {
			in = used
		}
		for dir := filepath.Dir(r.Path); !in[dir] && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			in[dir] = true
		}
	}
	p.plan.Make = slices.DeleteFunc(p.plan.Make, func(d ledger.Dir) bool {
		path := string(d.Path)
		return p.tree.CheckWrite(path, nil) != nil || (left[path] || p.was[path]) && !used[path] && !goes[path]
	})
	p.prune()
}

// leaving are the directories that the try removed. One that others made since, and that holds
// nothing of what the try removed, is theirs.
func (p *planner) leaving(goes map[string]bool) []string {
	used := map[string]bool{}
	for path := range goes {
		for dir := range p.parents(path) {
			used[dir] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(p.plan.Prune), func(dir string) bool { return p.young[dir] && !used[dir] })
}

// prune leaves those directories that will be empty, deepest first.
func (p *planner) prune() {
	goes := p.goes()
	all := p.leaving(goes)
	slices.Sort(all)
	all = slices.Compact(all)
	slices.Reverse(all)
	p.plan.Prune = nil
	for _, dir := range all {
		names, err := os.ReadDir(dir)
		stays := func(d fs.DirEntry) bool { return !goes[filepath.Join(dir, d.Name())] }
		if err == nil && !slices.ContainsFunc(names, stays) {
			p.plan.Prune = append(p.plan.Prune, dir)
			goes[dir] = true
		}
	}
}
