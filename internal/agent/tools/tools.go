// Package tools holds the tools that are offered to the model.
//
// A tool turns arguments into a [tool.Action] and never acts itself. There is one
// file per tool, and beside it the words that the model reads about it. Refusals
// are prompts: they say what is true now and which step would succeed.
package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/code"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/delegate"
)

// All returns the tools that need nothing else, in the order in which they are offered.
func All() []tool.Tool {
	return asTools(offered())
}

// Told describes the tools of All without their schemas. What a model is offered has others,
// see [Brief], and to make them all takes a good part of a start.
func Told() []tool.Spec {
	var specs []tool.Spec
	for _, e := range offered() {
		specs = append(specs, e.Told())
	}
	return specs
}

// Code returns the tools that ask language servers. They are offered beside the others where
// there is a server.
func Code() []tool.Tool { return asTools(code.Tools()) }

func asTools(entries []entry) []tool.Tool {
	all := make([]tool.Tool, len(entries))
	for i, e := range entries {
		all[i] = e
	}
	return all
}

// Lookup returns the tool with a name or an alias.
func Lookup(name string) (tool.Tool, bool) {
	for _, e := range entries() {
		if e.Answers(name) {
			return e, true
		}
	}
	return nil, false
}

// Name is the name of the tool that is called name, which may be one of its profile in
// place of its own. Other aliases stay: their arguments are their own.
func Name(name string) string {
	for _, e := range entries() {
		if e.Answers(name) && e.Renamed(name) {
			return e.Title()
		}
	}
	return name
}

// Plain returns the arguments of a call as its tool understands them, under their own
// names, and lines, each begun by a line end, about those that it left out.
func Plain(c tool.Call) (args json.RawMessage, notes string) {
	for _, e := range entries() {
		if e.Answers(c.Name) {
			plain, left := e.Plain(c)
			for _, n := range left {
				notes += "\n" + n
			}
			return plain, notes
		}
	}
	return c.Args, ""
}

// Schema returns the JSON schema of the arguments that a name, an alias perhaps,
// takes.
func Schema(name string) (json.RawMessage, bool) {
	for _, e := range entries() {
		if e.Answers(name) {
			return e.Schema(name), true
		}
	}
	return nil, false
}

// Patch describes the tool that takes patches.
func Patch() tool.Spec { return applyPatch().Spec() }

// Names returns the names of the tools that are offered everywhere, without aliases, in
// their order.
func Names() []string {
	var names []string
	for _, e := range offered() {
		names = append(names, e.Title())
	}
	return names
}

// Brief is s, the spec of one of the tools, in the words for models, under another of its
// names unless as is empty, with some of its parameters, all if fields is nil. The least
// is its first paragraph.
func Brief(s tool.Spec, as string, fields []string, least bool) tool.Spec {
	for _, e := range entries() {
		if e.Title() != s.Name {
			continue
		}
		words, _, _ := strings.Cut(e.Words(), define.ForPrograms)
		if least {
			words, _, _ = strings.Cut(words, "\n\n")
		}
		s.Description = words + strings.TrimPrefix(s.Description, e.Told().Description)
		s.Schema = e.Brief(fields)
	}
	if as != "" {
		s.Name = as
	}
	s.Aliases = nil
	return s
}

type entry = define.Entry

// entries are all.
var entries = sync.OnceValue(func() []entry { return slices.Concat(offered(), code.Tools()) })

// offered are those that need nothing else.
var offered = sync.OnceValue(func() []entry {
	return append([]entry{
		readFile(), writeFile(), editFile(), applyPatch(), execCommand(), writeStdin(),
		listDir(), globTool(), grepTool(), updatePlan(), viewImage(), webFetch(), undoTool(), requestUserInput(),
	}, delegate.Tools()...)
})
