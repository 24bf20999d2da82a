// Package tools holds the tools that are offered to the model.
//
// A tool turns arguments into a [tool.Action] and never acts itself. There is one
// file per tool, and beside it the words that the model reads about it. Refusals
// are prompts: they say what is true now and which step would succeed.
package tools

import (
	"context"
	"encoding/json"
	"reflect"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/arguments"
)

// All returns the tools, in the order in which they are offered.
func All() []tool.Tool {
	entries := entries()
	all := make([]tool.Tool, len(entries))
	for i, e := range entries {
		all[i] = e
	}
	return all
}

// Lookup returns the tool with a name or an alias.
func Lookup(name string) (tool.Tool, bool) {
	for _, e := range entries() {
		if e.answers(name) {
			return e, true
		}
	}
	return nil, false
}

// Schema returns the JSON schema of the arguments that a name, an alias perhaps,
// takes.
func Schema(name string) (json.RawMessage, bool) {
	for _, e := range entries() {
		if e.answers(name) {
			return e.schema(name), true
		}
	}
	return nil, false
}

// Names returns the names of the tools, without aliases, in their order.
func Names() []string {
	var names []string
	for _, e := range entries() {
		names = append(names, e.title())
	}
	return names
}

// entry is a tool that can be found without making its schema.
type entry interface {
	tool.Tool
	answers(name string) bool
	schema(name string) json.RawMessage
	title() string
}

func entries() []entry {
	return []entry{
		readFile(), writeFile(), editFile(), applyPatch(), execCommand(), writeStdin(),
		listDir(), globTool(), grepTool(), updatePlan(), viewImage(), undoTool(), requestUserInput(),
		spawnAgent(), sendInput(), waitTool(), closeAgent(), listAgents(), resumeAgent(),
	}
}

// definition is a tool whose arguments are the struct A.
type definition[A any] struct {
	name     string
	words    string // what the model reads
	grammar  string
	parallel bool
	aliases  []alias[A]
	prepare  func(ctx context.Context, env tool.Env, c tool.Call, args A) (tool.Action, error)
}

// alias is another name of a tool, with arguments of its own.
type alias[A any] struct {
	name   string
	args   reflect.Type
	decode func(name string, raw []byte) (A, error)
}

// as makes an alias whose arguments are the struct B.
func as[A, B any](name string, convert func(B) (A, error)) alias[A] {
	return alias[A]{name, reflect.TypeFor[B](), func(name string, raw []byte) (A, error) {
		var b B
		if err := arguments.Decode(name, raw, &b); err != nil {
			var none A
			return none, err
		}
		return convert(b)
	}}
}

func (d definition[A]) title() string { return d.name }

func (d definition[A]) schema(name string) json.RawMessage {
	for _, a := range d.aliases {
		if a.name == name {
			return arguments.Schema(a.args)
		}
	}
	return arguments.Schema(reflect.TypeFor[A]())
}

func (d definition[A]) answers(name string) bool {
	if name == d.name {
		return true
	}
	for _, a := range d.aliases {
		if a.name == name {
			return true
		}
	}
	return false
}

// Spec describes the tool.
func (d definition[A]) Spec() tool.Spec {
	s := tool.Spec{Name: d.name, Description: d.words, Grammar: d.grammar, Parallel: d.parallel,
		Schema: arguments.Schema(reflect.TypeFor[A]())}
	for _, a := range d.aliases {
		s.Aliases = append(s.Aliases, a.name)
	}
	return s
}

// Prepare decodes the arguments in the shape that the call's name promises.
func (d definition[A]) Prepare(ctx context.Context, env tool.Env, c tool.Call) (tool.Action, error) {
	args, err := d.args(c)
	if err != nil {
		return nil, err
	}
	return d.prepare(ctx, env, c, args)
}

func (d definition[A]) args(c tool.Call) (A, error) {
	for _, a := range d.aliases {
		if a.name == c.Name {
			return a.decode(c.Name, c.Args)
		}
	}
	var args A
	if err := arguments.Decode(d.name, c.Args, &args); err != nil {
		return args, err
	}
	return args, nil
}
