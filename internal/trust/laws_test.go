//go:build linux

package trust

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// laws are what must hold of every history.
var laws = []struct {
	name  string
	judge func(*evidence) []string
}{
	{"bytes", keepsBytes}, {"exact", comesBack}, {"diff", diffIsTree}, {"listed", listedIsReal},
	{"claims", claimsOnlyItsOwn}, {"dry run", dryRunAgrees}, {"named", refusalNames}, {"redo", redoComesBack},
}

// touched tells the paths that the writer had its hands on: by name, below a directory
// that it moved, or another name of a file that it wrote to.
func (e *evidence) touched() func(string) bool {
	names, inodes := map[string]bool{}, map[uint64]bool{}
	var moved []string
	for _, d := range e.deeds {
		names[d.Path], names[d.Path+".swp"] = true, true
		if d.To != "" {
			names[d.To] = true
			moved = append(moved, d.Path, d.To)
		}
		inodes[uint64(d.Before.Inode)], inodes[uint64(d.After.Inode)] = true, true //nolint:gosec // not negative
	}
	delete(inodes, 0)
	trees := append([]tree{e.final}, e.began...)
	for _, t := range trees {
		for p, n := range t {
			if names[p] {
				inodes[n.inode] = true
			}
		}
	}
	for _, t := range trees {
		for p, n := range t {
			if n.kind.IsRegular() && inodes[n.inode] {
				names[p] = true
			}
		}
	}
	return func(path string) bool {
		// The file beside, of an edit that came to nothing, is in no deed.
		return names[path] || len(e.deeds) > 0 && strings.HasSuffix(path, ".swp") || slices.ContainsFunc(moved, func(m string) bool { return below(path, m) })
	}
}

// owned are the tokens in the final tree that nobody wrote after the writer did, with
// the path where each is. A file is followed back through the writer's edits as long as
// it was, before each of them, as the writer had left it.
func (e *evidence) owned() map[string]string {
	edits := map[uint64][]deed{}
	for _, d := range e.deeds {
		if d.After.Inode != 0 {
			edits[uint64(d.After.Inode)] = append(edits[uint64(d.After.Inode)], d) //nolint:gosec // not negative
		}
	}
	own := map[string]string{}
	for path, n := range e.final {
		if !n.kind.IsRegular() {
			continue
		}
		is := ident{int64(n.inode), n.mtime, int64(len(n.data))} //nolint:gosec // inodes are small
		for _, d := range slices.Backward(edits[n.inode]) {
			if d.After != is {
				break
			}
			for _, t := range d.Tokens {
				if strings.Contains(n.data, t) {
					own[t] = path
				}
			}
			if d.Whole {
				break
			}
			is = d.Before
		}
	}
	return own
}

// carried are the tokens in the final tree at the path where the writer put them, with
// what it did; a command may have written them anew since. What the writer itself took away later
// is not among them: then it is the command's that it is there again.
func (e *evidence) carried() map[string]deed {
	got := map[string]deed{}
	for i, d := range e.deeds {
		if d.After.Inode == 0 || !strings.Contains(e.final[d.Path].data, d.Tokens[0]) {
			continue
		}
		if !slices.ContainsFunc(e.deeds[i:], func(m deed) bool { return m.takes(d) }) {
			got[d.Tokens[0]] = d
		}
	}
	return got
}

// takes reports whether the writer took away by m what it had written by d.
func (m deed) takes(d deed) bool {
	switch {
	case m.To != "":
		return below(d.Path, m.Path) || below(d.Path, m.To)
	case m.Op == "delete":
		return m.Path == d.Path
	}
	return slices.Contains(m.Took, d.Tokens[0])
}

// keepsBytes is the first law: what the writer wrote last is there after any undo. A file
// of which nobody saw who wrote it is taken back when it is named itself; that is told.
func keepsBytes(e *evidence) []string {
	var faults []string
	moved := map[string]bool{}
	mover := false
	for _, turn := range e.turns {
		for _, c := range turn {
			mover = mover || c.trait&moves != 0
		}
	}
	for _, entry := range e.entries {
		for _, c := range entry.Changes {
			if c.MovedFrom != "" || c.MovedTo != "" {
				moved[e.short(c.Path)] = true
			}
		}
	}
	own, carried := e.owned(), e.carried()
	var undone []int
	for _, u := range e.undos {
		if u.report.result.code == 0 {
			undone = append(undone, u.turns[0])
		}
		at := where(u.tree)
		kept := func(t, path string) bool {
			if strings.Contains(u.tree[path].data, t) || u.path == path && u.told(e, path) {
				return true
			}
			return (mover || moved[path]) && len(at[t]) > 0
		}
		for t, path := range own {
			if !kept(t, path) && !e.onlyLinked(t, path) && !e.takenSince(t, path, undone) {
				faults = append(faults, fmt.Sprintf("undo %v: %s of the writer is gone from %s (it is now %q, at %v)\n%v",
					u.args, t, path, u.tree[path].data, at[t], u.report.result))
			}
		}
		for t, d := range carried {
			if !u.calls && e.there(t, d, u.turns) && !kept(t, d.Path) {
				faults = append(faults, fmt.Sprintf("undo %v: %s of the writer (%s), there before, is gone from %s (it is now %q, at %v)\n%v",
					u.args, t, d.Op, d.Path, u.tree[d.Path].data, at[t], u.report.result))
			}
		}
	}
	return faults
}

// onlyLinked reports whether a command gave the file in which the writer put a token the
// name path, and the writer put it there by another name, where it is no more: to undo that
// command takes a name away, not what was in the file.
func (e *evidence) onlyLinked(t, path string) bool {
	for _, turn := range e.turns {
		for _, c := range turn {
			from, to := c.link()
			if from == "" || to != path {
				continue
			}
			return slices.ContainsFunc(e.deeds, func(d deed) bool {
				return d.Path == from && slices.Contains(d.Tokens, t) && !strings.Contains(e.final[from].data, t)
			})
		}
	}
	return false
}

// takenSince reports whether a command moved the file with a token out of the way, to path, the token went on to be in
// what came in its place, and a command of a later turn took it from there: to undo that brings it back.
func (e *evidence) takenSince(t, path string, undone []int) bool {
	took := func(from string, after int) bool {
		for _, entry := range e.entries {
			turn, _, ok := entry.place()
			if ok && turn > after && entry.proven() && !slices.Contains(undone, turn) &&
				strings.Contains(e.began[turn][from].data, t) && !strings.Contains(e.final[from].data, t) &&
				slices.ContainsFunc(entry.Changes, func(c change) bool { return e.short(c.Path) == from }) {
				return true
			}
		}
		return false
	}
	for _, entry := range e.entries {
		turn, _, ok := entry.place()
		for _, c := range entry.Changes {
			if ok && c.MovedFrom != "" && e.short(c.Path) == path && took(e.short(c.MovedFrom), turn) {
				return true
			}
		}
	}
	return false
}

// told reports whether it was said that a file may hold what others wrote.
func (u *undone) told(e *evidence, path string) bool {
	return slices.ContainsFunc(u.report.Files, func(f fileOutcome) bool {
		return e.short(f.Path) == path && strings.Contains(f.Note, "nobody saw who changed it")
	})
}

// there reports whether a token was there before each of the turns, or is newer.
func (e *evidence) there(t string, d deed, turns []int) bool {
	for _, turn := range turns {
		if d.At < e.read[turn] && !strings.Contains(e.began[turn][d.Path].data, t) {
			return false
		}
	}
	return true
}

func where(t tree) map[string][]string {
	at := map[string][]string{}
	for p, n := range t {
		for _, tok := range token.FindAllString(n.data, -1) {
			at[tok] = append(at[tok], p)
		}
	}
	return at
}

func (e *evidence) short(n name) string { return strings.TrimPrefix(string(n), e.dir+"/") }

// comesBack says that an undo of everything brings back all that the writer left alone.
func comesBack(e *evidence) []string {
	var faults []string
	touched := e.alsoMoved(e.touched())
	for _, u := range e.undos {
		if !u.all || u.report.result.code != 0 {
			continue
		}
		for _, p := range differ(e.began[0], u.tree) {
			if touched(p) || e.holdsOthers(p, touched, u.tree) || e.lostTo(p) {
				continue
			}
			if u.tree[p].kind == fs.ModeNamedPipe {
				continue // that is no file: undo leaves it, and the log says so
			}
			faults = append(faults, fmt.Sprintf("undo of everything: %s\n%v", describe(p, e.began[0], u.tree), u.report.result))
		}
	}
	return faults
}

// lostTo reports whether the log says that a path went to where the writer took it away, in an entry of nothing else:
// no undo is asked for that.
func (e *evidence) lostTo(path string) bool {
	return len(e.deeds) > 0 && slices.ContainsFunc(e.entries, func(c entry) bool {
		return len(c.Changes) == 0 && strings.Contains(c.Note, e.dir+"/"+path+" (")
	})
}

// alsoMoved is touched for both names of what a command moved: the writer's edits of the
// one go along to the other.
func (e *evidence) alsoMoved(touched func(string) bool) func(string) bool {
	other := map[string]bool{}
	for _, entry := range e.entries {
		for _, c := range entry.Changes {
			for _, n := range []name{c.MovedFrom, c.MovedTo} {
				if n != "" && touched(e.short(c.Path)) {
					other[e.short(n)] = true
				}
			}
		}
	}
	return func(path string) bool { return touched(path) || other[path] }
}

// holdsOthers reports whether a directory has something of the writer's below it, now or before.
func (e *evidence) holdsOthers(path string, touched func(string) bool, now tree) bool {
	for _, t := range []tree{e.began[0], e.final, now} {
		for p := range t {
			if p != path && below(p, path) && touched(p) {
				return true
			}
		}
	}
	return slices.ContainsFunc(e.deeds, func(d deed) bool { return below(d.Path, path) })
}

// diffIsTree says that base and diff give the tree, for files that the writer left alone.
// Where there is a writer, and it took something away that the command had moved, a file
// may be left out that could be the only copy of that; then it is named.
func diffIsTree(e *evidence) []string {
	var faults []string
	for _, p := range slices.Sorted(maps.Keys(e.left)) {
		if len(e.deeds) == 0 && !e.shared(p) {
			faults = append(faults, fmt.Sprintf("the diff leaves out %s, and nobody else was there", p))
		}
	}
	touched := e.touched()
	for _, p := range differ(e.rebuilt, e.final) {
		a, b := e.rebuilt[p], e.final[p]
		if touched(p) || e.dropped[p] || e.left[p] || a.kind.IsDir() && b.kind.IsDir() || e.late(len(e.turns)-1, p) {
			continue
		}
		if !regular(e.rebuilt, p) && !regular(e.final, p) {
			continue
		}
		if a.kind == b.kind && a.data == b.data && (a.mode^b.mode)&0o111 == 0 {
			continue // git knows no other permissions
		}
		faults = append(faults, fmt.Sprintf("with the diff %s", describe(p, e.rebuilt, e.final)))
	}
	return faults
}

// regular reports whether a path is there and a plain file: a diff tells of no others.
func regular(t tree, path string) bool {
	n, ok := t[path]
	return ok && n.kind.IsRegular()
}

// inGit reports whether a path lies in a directory .git, which trees leave out.
func inGit(path string) bool {
	return strings.HasPrefix(path, ".git/") || strings.Contains(path, "/.git/")
}

// late reports whether a command of an earlier turn may still have changed a path.
func (e *evidence) late(turn int, path string) bool {
	for _, calls := range e.turns[:turn] {
		for _, c := range calls {
			if c.trait&later != 0 && c.may(path) {
				return true
			}
		}
	}
	return false
}

// shared reports whether a command that ran on may have written a path at the same time as another one, so that
// it is not known which wrote what.
func (e *evidence) shared(path string) bool {
	goesOn := false
	for _, calls := range e.turns {
		for _, c := range calls {
			if c.may(path) && goesOn {
				return true
			}
			goesOn = goesOn || c.may(path) && c.trait&later != 0
		}
	}
	return false
}

// listedIsReal says, where there was no writer, that the log names what changed, with
// the content before and after, and nothing else.
func listedIsReal(e *evidence) []string {
	if len(e.deeds) > 0 {
		return nil
	}
	var faults []string
	type span struct{ before, after string }
	listed, doubted := map[string]span{}, map[string]bool{}
	for _, entry := range e.entries {
		if !entry.proven() {
			for _, c := range entry.Changes {
				doubted[e.short(c.Path)] = true // where that is no fault, it goes on from what is listed
				if !e.goesOnFrom(c.Path, c.After, entry.Call) && !e.shared(e.short(c.Path)) {
					faults = append(faults, fmt.Sprintf("%s of %s is not proven, and nobody else was there", e.short(c.Path), entry.Call))
				}
			}
			continue
		}
		for _, c := range entry.Changes {
			p := e.short(c.Path)
			if inGit(p) {
				continue
			}
			s, ok := listed[p]
			if !ok {
				s.before = c.Before
			}
			s.after = c.After
			listed[p] = s
		}
	}
	sum := func(t tree, p string) string {
		if regular(t, p) {
			return t[p].sum()
		}
		return ""
	}
	for _, p := range differ(e.began[0], e.final) {
		s, ok := listed[p]
		switch {
		case !regular(e.began[0], p) && !regular(e.final, p), doubted[p]:
		case !ok:
			faults = append(faults, "the log does not name "+describe(p, e.began[0], e.final))
		case s.before != sum(e.began[0], p) && regular(e.began[0], p), s.after != sum(e.final, p) && regular(e.final, p):
			faults = append(faults, fmt.Sprintf("the log tells %.12s to %.12s of %s", s.before, s.after, describe(p, e.began[0], e.final)))
		}
	}
	for p, s := range listed {
		if a, b := e.began[0][p], e.final[p]; a.same(b) && s.before != s.after && !doubted[p] {
			faults = append(faults, fmt.Sprintf("the log tells %.12s to %.12s of %s, which is as it was: %v", s.before, s.after, p, a))
		}
	}
	return faults
}

// goesOnFrom reports whether another call went on from where a change of a call ended: what that
// was before is not known then, since the user may have written between the two.
func (e *evidence) goesOnFrom(path name, after, call string) bool {
	for _, o := range e.entries {
		for _, c := range o.Changes {
			if o.proven() && o.Call != call && c.Path == path && c.Before == after {
				return true
			}
		}
	}
	return false
}

// names are a path and what it was called before the writer moved a directory that it lies
// in, while a command may have worked in that.
func (e *evidence) names(path string) []string {
	list := []string{path}
	for _, d := range slices.Backward(e.deeds) {
		if rest, ok := strings.CutPrefix(path, d.To+"/"); ok && d.Op == "move" {
			path = filepath.Join(d.Path, rest)
			list = append(list, path)
		}
	}
	return list
}

// link is the name of a file and the one that a command gave it besides; both are empty
// for other commands.
func (c command) link() (from, to string) {
	if f := strings.Fields(c.text); len(f) == 3 && f[0] == "ln" && f[1][0] != '-' {
		return f[1], f[2]
	}
	return "", ""
}

// linked adds to names of a file those by which earlier calls linked it: who changes a
// file in place changes it under all of them.
func (e *evidence) linked(names []string, turn, nth int) []string {
	for i, calls := range e.turns[:turn+1] {
		for j, c := range calls {
			if i == turn && j >= nth {
				break
			}
			from, to := c.link()
			switch {
			case from == "":
			case slices.Contains(names, to):
				names = append(names, from)
			case slices.Contains(names, from):
				names = append(names, to)
			}
		}
	}
	return names
}

// within adds to names of a file those of its directory, when an earlier call put a directory in the place of a file:
// commands that were meant for that file change what is in there.
func (e *evidence) within(names []string, turn, nth int) []string {
	for i, calls := range e.turns[:turn+1] {
		for j, c := range calls {
			if (i < turn || j < nth) && strings.Contains(c.text, " && mkdir ") {
				for _, n := range slices.Clone(names) {
					names = append(names, filepath.Dir(n))
				}
				return names
			}
		}
	}
	return names
}

// claimsOnlyItsOwn says that no proven entry names a path that its turn's commands
// cannot have changed, and that no line of the writer's is told as a command's that
// writes none.
func claimsOnlyItsOwn(e *evidence) []string {
	var faults []string
	for _, entry := range e.entries {
		turn, nth, ok := entry.place()
		if !ok || !entry.proven() {
			continue
		}
		c := e.turns[turn][nth]
		for _, change := range entry.Changes {
			p := e.short(change.Path)
			if !slices.ContainsFunc(e.within(e.linked(e.names(p), turn, nth), turn, nth), c.may) && !strings.HasPrefix(filepath.Base(p), "sed") {
				faults = append(faults, fmt.Sprintf("the log lays %s (%s) to %q, proven", p, change.Operation, c.text))
			}
		}
	}
	carrier := false
	for _, c := range e.turns[len(e.turns)-1] {
		carrier = carrier || c.trait != 0
	}
	if carrier {
		return faults
	}
	for _, s := range sections(e.diff) {
		if strings.Contains(s.text, "\nnew file") || strings.Contains(s.text, "\nrename ") {
			continue
		}
		for l := range strings.Lines(s.text) {
			if t := token.FindString(l); l[0] == '+' && t != "" && !strings.Contains(s.text, "\n-"+l[1:]) {
				// sed and others may change a line of the writer's, also at its beginning.
				if strings.HasSuffix(l, t+"\n") && (l == "+"+t+"\n" || !strings.Contains(s.text, "\n-"+t+"\n")) {
					faults = append(faults, fmt.Sprintf("the diff holds the writer's line %q of %v", l, s.paths))
				}
			}
		}
	}
	return faults
}

// dryRunAgrees says that a dry run tells what the run does.
func dryRunAgrees(e *evidence) []string {
	for _, u := range e.undos {
		if u.dry == nil {
			continue
		}
		if u.dry.result.code != u.report.result.code || !slices.Equal(u.dry.Files, u.report.Files) || u.dry.Problem != u.report.Problem {
			return []string{fmt.Sprintf("undo %v: the dry run told\n%v, the run\n%v", u.args, u.dry.result, u.report.result)}
		}
	}
	return nil
}

// refusalNames says that an undo that did not do everything names a file.
func refusalNames(e *evidence) []string {
	var faults []string
	for _, u := range e.undos {
		if u.report.result.code == 1 && !strings.Contains(u.report.result.String(), e.dir+"/") {
			faults = append(faults, fmt.Sprintf("undo %v: %v", u.args, u.report.result))
		}
	}
	return faults
}

// redoComesBack says that undo and then redo give the same tree.
func redoComesBack(e *evidence) []string {
	if !e.redoable {
		return nil
	}
	var faults []string
	for _, p := range differ(e.final, e.redone) {
		faults = append(faults, fmt.Sprintf("undo %v and redo: %s", e.undos[0].args, describe(p, e.final, e.redone)))
	}
	return faults
}
