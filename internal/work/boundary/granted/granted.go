// Package granted tells whose a program is: whether commands may change it.
package granted

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
)

// Trees are what a policy lets commands write, what is protected in them
// included. It is for those who ask whose a program is before there is a plan.
type Trees []string

// Of gives the trees of a policy by their names and by what these lead to. A root that is the
// whole disk is left out: it would tell nothing apart.
func Of(p boundary.Policy) Trees {
	dirs := slices.Clone(p.Roots)
	for _, r := range p.Rules {
		if r.Access == boundary.Write && !strings.ContainsAny(r.Path, "*?[{") {
			dirs = append(dirs, r.Path)
		}
	}
	if p.SharedTmp {
		dirs = append(dirs, "/tmp")
	}
	var g Trees
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir
		}
		for _, name := range []string{dir, real} {
			if filepath.Dir(name) != name && !slices.Contains(g, name) {
				g = append(g, name)
			}
		}
	}
	return g
}

// Covers reports whether commands may write at path, as it is spelled, in some way.
func (g Trees) Covers(path string) bool {
	return path != "" && slices.ContainsFunc(g, func(dir string) bool { return pathname.Inside(dir, path) })
}
