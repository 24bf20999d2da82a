package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

var _ protocol.WorkspaceQuery = (*Host)(nil)

// Files finds files below cwd by a fuzzy query, best first; see [fuzzy.Finder].
func (h *Host) Files(ctx context.Context, cwd, query string, limit int) ([]string, error) {
	return h.files.Find(ctx, cmp.Or(cwd, h.Config.Cwd), query, limit)
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
