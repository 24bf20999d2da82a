// Package profile says how the models of a family are worked with: which tools they are
// offered under which names and with which parameters, how results are written for them,
// and what they are told. It is a table, and pure.
//
// A profile changes what is offered, never what is accepted: every tool answers to all of
// its names, with all of its parameters.
package profile

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/model"
)

// smallWindow is the size of a context, in tokens, up to which a model gets few tools and
// few words.
const smallWindow = 32_768

// Profile is how the models of one family are worked with. It is not changed.
type Profile struct {
	Family string
	// models are the beginnings of the names of its models.
	models []string
	// names are what tools are called, where it is not by their own names.
	names map[string]string
	// searches is set where commands are the way to search.
	searches bool
	// instead names, for a tool that is left out, the one that does its work. Where that
	// is not offered, the tool is.
	instead map[string]string
	// only, if not nil, are the tools that are offered, beside those of MCP servers.
	only []string
	// fields are the parameters that are offered, of the tools that are here.
	fields map[string][]string
	// versions has results name versions, which calls may be bound to.
	versions bool
	small    bool
	words    string // what its models are told beside the others
}

// Models tells what is known of models, by the names that sessions give them.
type Models interface {
	Bare(name string) string
	Facts(name string) (facts model.Facts, known bool)
	Limits(name string) (window, compactAt int)
}

// Profiles are those of the models of a session. Results is "short" or "full" and Lines
// "tab" or "bar" where the user says so, and otherwise empty.
type Profiles struct {
	Models         Models
	Results, Lines string
}

// Of returns the profile of a model.
func (p Profiles) Of(name string) Profile {
	facts, known := p.Models.Facts(name)
	window, _ := p.Models.Limits(name)
	return For(p.Models.Bare(name), facts, known, window)
}

// Offer makes of tools what a model is offered.
func (p Profiles) Offer(name string, tools []tool.Spec) []tool.Spec { return p.Of(name).Offer(tools) }

// Manner is how results are written for a model.
func (p Profiles) Manner(name string) tool.Manner {
	m := p.Of(name).Manner()
	if p.Results != "" {
		m.Short = p.Results == "short"
	}
	if p.Lines != "" {
		m.Tab = p.Lines == "tab"
	}
	return m
}

// For returns the profile of a model. Facts are what is known of it, known whether that is
// more than an assumption. Window is the size of its context, 0 if that is not known.
func For(name string, facts model.Facts, known bool, window int) Profile {
	if window > 0 && window <= smallWindow {
		return small
	}
	p := generic
	bare := model.Bare(name)
	for _, f := range families {
		if slices.ContainsFunc(f.models, func(s string) bool { return strings.HasPrefix(bare, s) }) {
			p = f
			break
		}
	}
	if !known {
		return p
	}
	way := patching
	if facts.EditTool == model.Replacements {
		way = quoting
	}
	p.instead = maps.Clone(way.instead)
	if p.searches {
		maps.Copy(p.instead, searching)
	}
	p.words = way.words + p.words
	return p
}

// Manner is how results are written for the models.
func (p Profile) Manner() tool.Manner {
	return tool.Manner{Short: true, Tab: true, Versions: p.versions, Lenient: true}
}

//go:embed strong.md
var strongWords string

//go:embed small.md
var smallWords string

// Instructions are what the models are told before everything else.
func (p Profile) Instructions() string {
	words := strongWords
	if p.small {
		words = smallWords
	}
	return p.named(words + p.words)
}

// named is a text of ours with the names that the tools have here.
func (p Profile) named(text string) string {
	if len(p.names) == 0 {
		return text
	}
	var pairs []string
	for from, to := range p.names {
		pairs = append(pairs, from, to)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Offer returns the tools of a list as the models get them. What is not among Kerf's own
// tools stays as it is.
func (p Profile) Offer(specs []tool.Spec) []tool.Spec {
	has := func(name string) bool {
		return slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == name }) &&
			(p.only == nil || slices.Contains(p.only, name))
	}
	var list []tool.Spec
	for _, s := range specs {
		_, own := tools.Lookup(s.Name)
		switch {
		case !own:
			list = append(list, s)
			continue
		case p.only != nil && !slices.Contains(p.only, s.Name), p.instead[s.Name] != "" && has(p.instead[s.Name]):
			continue
		}
		brief := tools.Brief(s, p.names[s.Name], p.fields[s.Name], p.small)
		brief.Description = p.named(brief.Description)
		list = append(list, brief)
	}
	return list
}
