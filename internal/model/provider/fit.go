package provider

import (
	"slices"

	"kerf/internal/model"
	"kerf/internal/model/family"
)

// fit gives a request the tools of its model: a patch as free text only where that
// is known to work, and never no way to edit.
func (r *Registry) fit(provider string, req *model.Request) {
	facts, known := r.catalog.Facts(provider, req.Model)
	req.Parallel = req.Parallel && facts.Parallel
	if w := r.o.WebSearch; w != "disabled" && len(req.Tools) > 0 {
		req.WebSearch = w
	}
	req.Tools = slices.Clone(req.Tools)
	patch := slices.IndexFunc(req.Tools, func(t model.Tool) bool { return t.Name == r.o.Patch.Name })
	if patch < 0 {
		return
	}
	if r.freeform(provider, req.Model) {
		req.Tools[patch].Schema, req.Tools[patch].Grammar = nil, r.o.Patch.Grammar
	} else {
		if req.Tools[patch].Schema == nil {
			req.Tools[patch].Schema = r.o.Patch.Schema
		}
		req.Tools[patch].Grammar = ""
	}
	quotes := slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == "edit_file" })
	if known && facts.EditTool == family.Replacements && quotes {
		req.Tools = slices.Delete(req.Tools, patch, patch+1)
	}
}

// freeform reports whether a model takes patches as free text.
func (r *Registry) freeform(provider, name string) bool {
	facts, _ := r.catalog.Facts(provider, name)
	return facts.EditTool == family.FreeformPatch && r.o.Providers[provider].API == "responses"
}
