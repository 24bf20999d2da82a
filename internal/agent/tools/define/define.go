// Package define makes tools of a name, words, and a struct of arguments.
package define

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/arguments"
)

// ForPrograms stands before the words about a tool that models are not offered: what only
// programs, which have all parameters and the versions, need to know.
const ForPrograms = "\n---\n\n"

// Tool is a tool whose arguments are the struct A.
type Tool[A any] struct {
	Name     string
	Text     string // what the model reads; see [ForPrograms]
	Grammar  string
	Parallel bool
	Aliases  []Alias[A]
	Plan     func(ctx context.Context, env tool.Env, c tool.Call, args A) (tool.Action, error)
}

// Entry is the tool as it is listed. It can be found without making its schema.
func (d Tool[A]) Entry() Entry {
	aliases := make([]alias, len(d.Aliases))
	for i := range d.Aliases {
		aliases[i] = d.Aliases[i].alias
	}
	plan := d.Plan
	return entry(d.Name, d.Text, d.Grammar, d.Parallel, reflect.TypeFor[A](), aliases,
		func(ctx context.Context, env tool.Env, c tool.Call, args any) (tool.Action, error) {
			return plan(ctx, env, c, *args.(*A))
		})
}

// Args decodes the arguments of a call, in the shape that its name promises.
func (d Tool[A]) Args(c tool.Call) (args A, err error) {
	e := d.Entry()
	read, err := e.decode(c)
	if err == nil {
		args = *read.(*A)
	}
	return args, err
}

// Alias is another name of a tool whose arguments are A, with arguments of its own; see [As]
// and [Same].
type Alias[A any] struct{ alias }

// As makes an alias whose arguments are the struct B.
func As[A, B any](name string, convert func(B) (A, error)) Alias[A] {
	return Alias[A]{alias{name, reflect.TypeFor[B](), func(args any) (any, error) {
		a, err := convert(*args.(*B))
		return &a, err
	}}}
}

// Same is an alias with the tool's own arguments.
func Same[A any](name string) Alias[A] {
	return Alias[A]{alias{name: name, args: reflect.TypeFor[A]()}}
}

// Entry is a tool whose type of arguments is known to it alone: methods of a generic type
// would be compiled once for each tool.
type Entry struct {
	name, text, grammar string
	parallel            bool
	args                reflect.Type
	aliases             []alias
	plan                func(ctx context.Context, env tool.Env, c tool.Call, args any) (tool.Action, error)
}

// entry makes one in code that is compiled once.
func entry(name, text, grammar string, parallel bool, args reflect.Type, aliases []alias,
	plan func(context.Context, tool.Env, tool.Call, any) (tool.Action, error)) Entry {
	return Entry{name: name, text: text, grammar: grammar, parallel: parallel, args: args, aliases: aliases, plan: plan}
}

// decode reads the arguments of a call.
func (e *Entry) decode(c tool.Call) (any, error) {
	return e.read(&arguments.Reader{Lenient: c.Manner.Lenient}, c)
}

// alias is another name, and the arguments that the tool takes under it.
type alias struct {
	name string
	args reflect.Type
	// convert makes a pointer to the tool's own arguments of one to these; nil if these are its own.
	convert func(args any) (any, error)
}

// Title is the name of the tool.
func (e Entry) Title() string { return e.name }

// Renamed reports whether an alias takes the tool's own arguments.
func (e Entry) Renamed(name string) bool {
	return slices.ContainsFunc(e.aliases, func(a alias) bool { return a.name == name && a.args == e.args })
}

// Words are those about the tool, with the mark in them that stands before what is for
// programs.
func (e Entry) Words() string { return strings.TrimSuffix(e.text, "\n") }

// Brief is the schema of some of the arguments, see [arguments.Brief].
func (e Entry) Brief(fields []string) json.RawMessage { return arguments.Brief(e.args, fields) }

// Schema is that of the arguments which the tool takes under a name.
func (e Entry) Schema(name string) json.RawMessage {
	for _, a := range e.aliases {
		if a.name == name {
			return arguments.Schema(a.args)
		}
	}
	return arguments.Schema(e.args)
}

// Answers reports whether the tool has a name or an alias.
func (e Entry) Answers(name string) bool {
	return name == e.name || slices.ContainsFunc(e.aliases, func(a alias) bool { return a.name == name })
}

// Spec describes the tool.
func (e Entry) Spec() tool.Spec {
	s := e.Told()
	s.Schema = arguments.Schema(e.args)
	return s
}

// Told is Spec without the schema.
func (e Entry) Told() tool.Spec {
	s := tool.Spec{Name: e.name, Description: strings.Replace(e.text, ForPrograms, "\n\n", 1), Grammar: e.grammar,
		Parallel: e.parallel}
	for _, a := range e.aliases {
		s.Aliases = append(s.Aliases, a.name)
	}
	return s
}

// Prepare decodes the arguments in the shape that the call's name promises.
func (e Entry) Prepare(ctx context.Context, env tool.Env, c tool.Call) (tool.Action, error) {
	args, err := e.decode(c)
	if err != nil {
		return nil, err
	}
	return e.plan(ctx, env, c, args)
}

// read returns a pointer to the tool's own arguments.
func (e Entry) read(r *arguments.Reader, c tool.Call) (any, error) {
	name, given, convert := e.name, e.args, (func(any) (any, error))(nil)
	for _, a := range e.aliases {
		if a.name == c.Name {
			name, given, convert = a.name, a.args, a.convert
			break
		}
	}
	args := reflect.New(given).Interface()
	if err := r.Decode(name, c.Args, args); err != nil {
		return nil, err
	}
	if convert == nil {
		return args, nil
	}
	return convert(args)
}

// Plain returns the arguments of a call as they were understood, under their own names, and
// notes on what was left out; those of the call where they are refused.
func (e Entry) Plain(c tool.Call) (json.RawMessage, []string) {
	r := arguments.Reader{Lenient: c.Manner.Lenient}
	if _, err := e.read(&r, c); err != nil || !r.Lenient {
		return c.Args, nil
	}
	return r.Plain(), r.Notes
}
