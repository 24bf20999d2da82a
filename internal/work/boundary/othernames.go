package boundary

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/boundary/names"
)

// alsoMounted gives the other places where what is closed is mounted the same access. done is what it
// passes over; what is closed now comes to it.
func (r *resolver) alsoMounted(done map[string]bool) {
	for _, path := range r.paths() {
		if r.access[path] != Write && !done[path] {
			for _, alias := range mounts.Others(r.table, path) {
				r.alias(path, alias)
			}
		}
	}
	for path, a := range r.access {
		done[path] = a != Write
	}
}

// paths are those that have an access of their own, in order.
func (r *resolver) paths() []string { return slices.Sorted(maps.Keys(r.access)) }

// alsoKnownAs gives the other names of files that have several the same access.
func (r *resolver) alsoKnownAs() {
	wanted := make(map[FileID]bool)
	byID := make(map[FileID]string)
	also := func(id FileID, path string) {
		if !wanted[id] || r.access[path] == None { // what hides a file under one name wins
			wanted[id], byID[id] = true, path
		}
	}
	for _, path := range r.paths() {
		if r.access[path] == Write {
			continue
		}
		if id, several := r.view.Identity(path); several && id != (FileID{}) {
			also(id, path)
		}
		inside := func(root string) bool { return pathname.Under(root, path) }
		limit := 0
		switch within := slices.ContainsFunc(r.places, inside); {
		case within && (r.access[path] == None || r.closed[path]):
			limit = namesLimit
		case !within && r.access[path] == None: // a place of keys: the user may have given one a name in the workspace
			limit = outsideLimit
		}
		if limit == 0 {
			continue
		}
		for _, m := range r.view.Multiples(path, limit) {
			if nearest(r.access, m.Path) == path {
				also(m.ID, path)
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	for id, others := range r.view.Names(wanted, r.places) {
		for _, name := range others {
			r.alias(byID[id], name)
		}
	}
}

// nearest is the place of the entry that holds for path.
func nearest[E any](entries map[string]E, path string) string {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, there := entries[at]; there {
			return at
		}
	}
	return ""
}

// pinClosed keeps what is closed in its place: the directories above it, within what is
// writable, cannot be renamed. Their next name would be in no rule. It comes last, since a
// mount of its own would stay open in what is closed later, and would pass for guarded.
func (r *resolver) pinClosed() {
	for _, path := range r.paths() {
		if r.access[path] == Write {
			continue
		}
		top := ""
		for _, root := range r.roots {
			if root != path && pathname.Under(root, path) && len(root) > len(top) {
				top = root
			}
		}
		if top != "" {
			r.pin(top, filepath.Dir(path))
		}
	}
	for _, p := range r.pins {
		for dir := p.dir; dir != p.root && pathname.Under(p.root, dir); dir = filepath.Dir(dir) {
			if r.effective(dir) == Write {
				r.access[dir], r.why[dir] = Write, r.why[nearest(r.access, dir)]
			}
		}
	}
}

func (r *resolver) isRoot(path string) bool { return slices.Contains(r.roots, path) }

// alias gives name what path has, where that is less. What hides a file, or keeps it as it is,
// holds under all its names, whatever rules say of these: a file tool that opens it could not
// tell them apart.
func (r *resolver) alias(path, name string) {
	info, err := r.view.Lstat(name)
	if name == path || err != nil { // another mount lies over it
		return
	}
	access, now := r.access[path], r.effective(name)
	if info.IsDir() && (r.isRoot(name) || r.access[name] != "" && r.access[name] != Write && !r.aliased[name]) {
		return // what the policy names itself is more specific
	}
	if now == None || access == Read && now == Read {
		return
	}
	r.access[name], r.closed[name], r.aliased[name] = access, r.closed[path], true
	r.why[name] = r.why[path] + " (it is also " + path + ")"
}

// answers is what the resolver found, as it is asked for.
func (r *resolver) answers() *answers {
	a := &answers{entries: make(map[string]entry, len(r.access)+len(r.plan.Masks)), patterns: r.patterns,
		roots: r.roots, folded: make(map[string]string), view: r.view}
	for path, access := range r.access {
		a.entries[path] = entry{access, r.closed[path], r.why[path]}
	}
	if r.tmp != nil && r.access[r.tmp.Path] == "" {
		a.tmp = r.tmp.Path
		a.entries[r.tmp.Path] = entry{access: None, why: "commands have a directory of their own in its place"}
	}
	for _, m := range r.plan.Masks {
		why := cmp.Or(r.why[m.Path], whyProtected(filepath.ToSlash(m.Path)), "git runs or follows what is there")
		a.entries[m.Path] = entry{Read, true, why}
	}
	for _, n := range r.plan.Untouched {
		a.entries[n.Path] = entry{Read, true, r.why[n.Path]}
	}
	maps.DeleteFunc(r.later, func(path string, _ entry) bool { return a.entries[path].access == None })
	maps.Copy(a.entries, r.later)
	for _, path := range slices.Sorted(maps.Keys(r.later)) { // under all its names it has what is strictest
		for _, name := range mounts.Others(r.table, path) {
			now := a.entries[nearest(a.entries, name)].access
			if now == Write || now != None && r.later[path].access == None {
				a.entries[name] = r.later[path]
			}
		}
	}
	for path, e := range a.entries {
		if e.access == Write {
			continue
		}
		fold := names.Fold(filepath.ToSlash(path))
		a.folded[fold] = path
		if e.access == None {
			a.closes = append(a.closes, fold)
		}
	}
	return a
}
