// Package profile makes of the table of families what a model is offered and told: tools
// under its names and with its parameters, the manner of results, instructions. It is pure.
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
	"kerf/internal/model/family"
)

// Profile is how one model is worked with: its family, and what follows from the way in
// which it changes files. It is not changed.
type Profile struct {
	family.Family
	// instead is that of the family and of the way to change files, words likewise.
	instead map[string]string
	words   string
}

// Models tells what is known of models, by the names that sessions give them.
type Models interface {
	Bare(name string) string
	Facts(name string) (facts family.Facts, known bool)
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
func For(name string, facts family.Facts, known bool, window int) Profile {
	if window > 0 && window <= family.SmallWindow {
		return Profile{Family: family.Small, words: family.Small.Words}
	}
	p := Profile{Family: family.Of(name)}
	p.words = p.Words
	if !known {
		return p
	}
	way := family.Editing(facts.EditTool)
	p.instead = maps.Clone(way.Instead)
	maps.Copy(p.instead, p.Tools.Instead)
	p.words = way.Words + p.words
	return p
}

// Manner is how results are written for the models.
func (p Profile) Manner() tool.Manner {
	return tool.Manner{Short: true, Tab: true, Versions: p.Tools.Versions, Lenient: true}
}

//go:embed strong.md
var strongWords string

//go:embed small.md
var smallWords string

// Instructions are what the models are told before everything else.
func (p Profile) Instructions() string {
	words := strongWords
	if p.Few {
		words = smallWords
	}
	return p.named(words + p.words)
}

// named is a text of ours with the names that the tools have here.
func (p Profile) named(text string) string {
	if len(p.Tools.Names) == 0 {
		return text
	}
	var pairs []string
	for from, to := range p.Tools.Names {
		pairs = append(pairs, from, to)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Offer returns the tools of a list as the models get them. What is not among Kerf's own
// tools stays as it is.
func (p Profile) Offer(specs []tool.Spec) []tool.Spec {
	has := func(name string) bool {
		return slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == name }) &&
			(p.Tools.Only == nil || slices.Contains(p.Tools.Only, name))
	}
	var list []tool.Spec
	for _, s := range specs {
		_, own := tools.Lookup(s.Name)
		switch {
		case !own:
			list = append(list, s)
			continue
		case p.Tools.Only != nil && !slices.Contains(p.Tools.Only, s.Name), p.instead[s.Name] != "" && has(p.instead[s.Name]):
			continue
		}
		brief := tools.Brief(s, p.Tools.Names[s.Name], p.Tools.Fields[s.Name], p.Few)
		brief.Description = p.named(brief.Description)
		list = append(list, brief)
	}
	return list
}
