// Package grants names what Landlock has to be told so that all can be read but what a
// plan hides: Landlock grants whole trees, and takes nothing back.
package grants

import (
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
)

// Readable are the files and directories that have to be granted for reading under the
// mounts of a plan. A grant is about a directory, under whichever name: one that holds
// something hidden is not granted by the name of a bind mount either.
func Readable(mounts []boundary.Mount) []string {
	g := newGranter(mounts)
	return g.readable("/", true)
}

func newGranter(mounts []boundary.Mount) granter {
	g := granter{mounts: mounts, above: make(map[boundary.FileID]bool), hidden: make(map[boundary.FileID]bool)}
	for _, m := range mounts {
		if !hides(m) {
			continue
		}
		if id, dir := g.identity(m.Path); dir {
			g.hidden[id] = true
		}
		for at := filepath.Dir(m.Path); ; at = filepath.Dir(at) {
			if id, dir := g.identity(at); dir {
				g.above[id] = true
			}
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	return g
}

// granter gathers what is granted.
type granter struct {
	mounts []boundary.Mount
	// above are the directories above something hidden, hidden the directories that are it.
	above, hidden map[boundary.FileID]bool
}

func hides(m boundary.Mount) bool {
	return m.Kind == boundary.MountHideFile || m.Kind == boundary.MountHideDir || m.Kind == boundary.MountTmp
}

func (g *granter) identity(path string) (id boundary.FileID, dir bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return id, false
	}
	id, _ = boundary.IdentityOf(info)
	return id, id != boundary.FileID{}
}

// readable names what has to be granted so that everything below path can be read but for
// what is hidden: path itself, or, when something below is hidden, what lies in it, one by one.
// What is known to be no directory is not asked.
func (g *granter) readable(path string, maybe bool) []string {
	i := slices.IndexFunc(g.mounts, func(m boundary.Mount) bool { return m.Path == path })
	if i >= 0 && hides(g.mounts[i]) {
		return g.opened(path)
	}
	var id boundary.FileID
	dir := false
	if maybe {
		id, dir = g.identity(path)
	}
	if dir && g.hidden[id] {
		return nil
	}
	below := func(m boundary.Mount) bool { return m.Path != path && pathname.Under(path, m.Path) && hides(m) }
	if !(dir && g.above[id]) && !slices.ContainsFunc(g.mounts, below) {
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, g.readable(filepath.Join(path, e.Name()), e.IsDir())...)
	}
	return all
}

// opened names what a rule opens again below something hidden.
func (g *granter) opened(hidden string) []string {
	var all []string
	for _, m := range g.mounts {
		if m.Kind == boundary.MountRead && m.Path != hidden && pathname.Under(hidden, m.Path) &&
			!slices.ContainsFunc(all, func(a string) bool { return pathname.Under(a, m.Path) }) {
			all = append(all, g.readable(m.Path, true)...)
		}
	}
	return all
}
