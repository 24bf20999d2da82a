package host

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/junegunn/fzf/src/algo"
	"github.com/junegunn/fzf/src/util"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

var _ protocol.Desk = (*Host)(nil)

// maxFiles bounds the files that a fuzzy query looks at.
const maxFiles = 200_000

// Files finds files below cwd by a fuzzy query, best first, as paths relative to
// cwd. What ignore files exclude is left out. The words of the query must all
// fit; one with an upper-case letter minds case. An empty query finds the first
// files by name.
func (h *Host) Files(ctx context.Context, cwd, query string, limit int) ([]string, error) {
	cwd = cmp.Or(cwd, h.Config.Cwd)
	paths, err := h.paths.get(ctx, cwd)
	if err != nil {
		return nil, fmt.Errorf("find files: %w", err)
	}
	return fuzzy(paths, query, limit), ctx.Err()
}

// below names paths relative to cwd.
func below(cwd string, paths []string) []string {
	base := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(cwd)), "/") + "/"
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(p, base)
	}
	return paths
}

// pathScores makes fzf's scores fit paths. It keeps them for the whole program.
var pathScores = sync.OnceFunc(func() { algo.Init("path") })

// fuzzy returns the names that query fits, best first.
func fuzzy(names []string, query string, limit int) []string {
	if limit <= 0 {
		limit = len(names)
	}
	words := strings.Fields(query)
	if len(words) == 0 {
		return slices.Clone(names[:min(limit, len(names))])
	}
	type hit struct {
		name  string
		score int
	}
	var hits []hit
	pathScores()
	slab := util.MakeSlab(100<<10, 2<<10)
	for _, name := range names {
		chars := util.ToChars([]byte(name))
		sum := 0
		for _, w := range words {
			minds := w != strings.ToLower(w)
			r, _ := algo.FuzzyMatchV2(minds, true, true, &chars, []rune(w), false, slab)
			if r.Score <= 0 {
				sum = 0
				break
			}
			sum += r.Score
		}
		if sum > 0 {
			hits = append(hits, hit{name, sum})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	found := make([]string, 0, min(limit, len(hits)))
	for _, x := range hits[:min(limit, len(hits))] {
		found = append(found, x.name)
	}
	return found
}

// Models lists what the configured provider offers, the current model first.
func (h *Host) Models(ctx context.Context) ([]protocol.ModelInfo, error) {
	choice, err := h.choose(ctx, h.Config.Model)
	if err != nil {
		choice = h.Providers().Fixed(h.Config.Model)
	}
	known := choice.Models()
	list := make([]protocol.ModelInfo, 0, len(known))
	for _, m := range known {
		list = append(list, protocol.ModelInfo{Name: m.Name, Description: describe(m), Window: m.Facts.Window, Efforts: efforts(m.Facts)})
	}
	return list, nil
}

// describe is what a list says of a model.
func describe(m ModelInfo) string {
	var parts []string
	if m.Facts.Window > 0 {
		parts = append(parts, fmt.Sprintf("%dk tokens", m.Facts.Window/1000))
	}
	if p := m.Facts.Prices; p.Input > 0 || p.Output > 0 {
		parts = append(parts, fmt.Sprintf("$%g in, $%g out for a million", p.Input, p.Output))
	}
	if !m.Known {
		parts = append(parts, "not known to Kerf")
	}
	return strings.Join(parts, ", ")
}

// efforts are the words for the effort that a model takes.
func efforts(f model.Facts) []string {
	switch f.Reasoning {
	case model.NoReasoning:
		return nil
	case model.EffortReasoning:
		return []string{"minimal", "low", "medium", "high", "xhigh"}
	}
	return []string{"low", "medium", "high"}
}
