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
		g.hidden[identity(m.Path)] = true
		for at := filepath.Dir(m.Path); ; at = filepath.Dir(at) {
			g.above[identity(at)] = true
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	delete(g.hidden, boundary.FileID{})
	delete(g.above, boundary.FileID{})
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

// identity is that of a directory, and zero for what is none.
func identity(path string) (id boundary.FileID) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		id, _ = boundary.IdentityOf(info)
	}
	return id
}

// readable names what has to be granted so that everything below path can be read but for
// what is hidden: path itself, or, when something below is hidden, what lies in it, one by one.
// What is known to be no directory is not asked.
func (g *granter) readable(path string, maybe bool) []string {
	if slices.ContainsFunc(g.mounts, func(m boundary.Mount) bool { return m.Path == path && hides(m) }) {
		return g.opened(path)
	}
	var id boundary.FileID
	if maybe {
		id = identity(path)
	}
	if g.hidden[id] {
		return nil
	}
	below := func(m boundary.Mount) bool { return pathname.Under(path, m.Path) && hides(m) }
	if !g.above[id] && !slices.ContainsFunc(g.mounts, below) {
		return []string{path}
	}
	entries, _ := os.ReadDir(path) // what cannot be listed is not granted
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
