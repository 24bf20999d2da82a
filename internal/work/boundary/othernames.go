package boundary

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
)

// MountPoint is a place where a part of a file system is mounted.
type MountPoint struct {
	Path   string // where
	Device string // which file system
	Root   string // which part of it
}

// alsoKnownAs gives the other names of what is closed the same access: those that mounts
// make, and those of files that have several names.
func (r *resolver) alsoKnownAs() {
	mounts := r.view.Mounts()
	wanted := make(map[FileID]bool)
	byID := make(map[FileID]string)
	for _, path := range slices.Sorted(maps.Keys(r.access)) {
		if r.access[path] == Write {
			continue
		}
		for _, alias := range otherMounts(mounts, path) {
			r.alias(path, alias)
		}
		if id, several := r.view.Identity(path); several && id != (FileID{}) {
			wanted[id], byID[id] = true, path
		}
		inside := func(root string) bool { return pathname.Under(root, path) }
		if r.access[path] == None && slices.ContainsFunc(r.places, inside) {
			for _, id := range r.view.Multiples(path) {
				wanted[id], byID[id] = true, path
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	for id, names := range r.view.Names(wanted, r.places) {
		for _, name := range names {
			if !pathname.Under(byID[id], name) {
				r.alias(byID[id], name)
			}
		}
	}
}

func (r *resolver) isRoot(path string) bool { return slices.Contains(r.roots, path) }

// alias gives name what path has, where that is less.
func (r *resolver) alias(path, name string) {
	if name == path || r.isRoot(name) || r.access[name] != "" && r.access[name] != Write {
		return // what the policy names itself is more specific
	}
	access := r.access[path]
	if now := r.effective(name); now == None || access == Read && now == Read {
		return
	}
	if _, err := r.view.Lstat(name); err != nil {
		return // another mount lies over it
	}
	r.access[name], r.closed[name] = access, r.closed[path]
	r.why[name] = r.why[path] + " (it is also " + path + ")"
}

// otherMounts are the other paths of what has the real path, by the mounts of the
// machine.
func otherMounts(mounts []MountPoint, path string) []string {
	var at MountPoint
	for _, m := range mounts { // the last of those that fit as closely lies on top
		if pathname.Under(m.Path, path) && len(m.Path) >= len(at.Path) {
			at = m
		}
	}
	if at.Path == "" {
		return nil
	}
	inside := filepath.Join(at.Root, strings.TrimPrefix(path, at.Path))
	var names []string
	for _, m := range mounts {
		switch {
		case m.Device != at.Device || m == at:
		case pathname.Under(m.Root, inside):
			names = append(names, filepath.Join(m.Path, strings.TrimPrefix(inside, strings.TrimSuffix(m.Root, "/"))))
		case pathname.Under(inside, m.Root):
			names = append(names, m.Path)
		}
	}
	return names
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
		why := r.why[m.Path]
		if why == "" {
			why = whyProtected(filepath.ToSlash(m.Path))
		}
		if why == "" {
			why = "git runs or follows what is there"
		}
		a.entries[m.Path] = entry{Read, true, why}
	}
	for _, path := range r.plan.Untouched {
		a.entries[path] = entry{Read, true, r.why[path]}
	}
	for path, e := range a.entries {
		if e.access == Write {
			continue
		}
		a.folded[folded(filepath.ToSlash(path))] = path
		if e.access == None {
			a.closes = append(a.closes, path)
		}
	}
	for _, p := range r.patterns {
		if p.rule.Access == None {
			a.closes = append(a.closes, p.base)
		}
	}
	return a
}
