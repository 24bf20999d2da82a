package tries

import (
	"maps"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
	"kerf/internal/work/workspace"
)

// Between is the diff that leads from what one try would make of a directory to what another
// one would make of it, without what is not kept.
func Between(a, b *Plan, ws *workspace.Workspace, base string) (string, error) {
	var set delta.Set
	as, bs := a.results(), b.results()
	paths := map[string]bool{}
	for _, m := range []map[string]*delta.Image{as, bs} {
		for path := range m {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		c := delta.Change{Path: path}
		for _, side := range []struct {
			has map[string]*delta.Image
			to  **delta.Image
		}{{as, &c.Pre}, {bs, &c.Post}} {
			img, touched := side.has[path]
			if !touched && !isDir(path) {
				var err error
				if img, err = ws.Tree.ReadEntry(path, largest); err != nil {
					return "", err
				}
			}
			*side.to = img
		}
		if !c.Pre.Same(c.Post) {
			set = append(set, c)
		}
	}
	return string(diff.Unified(delta.Files(set, func(path string) string { return changes.Relative(base, path) }))), nil
}

// results are what a try has at the paths that it changed; nil is nothing.
func (p *Plan) results() map[string]*delta.Image {
	has := map[string]*delta.Image{}
	for _, r := range p.Rows {
		switch r.Outcome {
		case Ignored, Special, Git, Closed:
		default:
			has[r.Path] = r.Change.Post
		}
	}
	return has
}
