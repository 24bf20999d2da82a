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

// Entry is a tool that can be found without making its schema. Every [Tool] is one.
type Entry interface {
	tool.Tool
	Answers(name string) bool
	Schema(name string) json.RawMessage
	Brief(fields []string) json.RawMessage
	Plain(c tool.Call) (json.RawMessage, []string)
	Renamed(name string) bool
	Title() string
	Words() string
}

// Alias is another name of a tool, with arguments of its own; see [As] and [Same].
type Alias[A any] struct {
	name   string
	args   reflect.Type
	decode func(r *arguments.Reader, name string, raw []byte) (A, error)
}

// As makes an alias whose arguments are the struct B.
func As[A, B any](name string, convert func(B) (A, error)) Alias[A] {
	return Alias[A]{name, reflect.TypeFor[B](), func(r *arguments.Reader, name string, raw []byte) (A, error) {
		var b B
		if err := r.Decode(name, raw, &b); err != nil {
			var none A
			return none, err
		}
		return convert(b)
	}}
}

// Title is the name of the tool.
func (d Tool[A]) Title() string { return d.Name }

// Renamed reports whether an alias takes the tool's own arguments.
func (d Tool[A]) Renamed(name string) bool {
	return slices.ContainsFunc(d.Aliases, func(a Alias[A]) bool {
		return a.name == name && a.args == reflect.TypeFor[A]()
	})
}

// Words are those about the tool, with the mark in them that stands before what is for
// programs.
func (d Tool[A]) Words() string { return strings.TrimSuffix(d.Text, "\n") }

// Brief is the schema of some of the arguments, see [arguments.Brief].
func (d Tool[A]) Brief(fields []string) json.RawMessage {
	return arguments.Brief(reflect.TypeFor[A](), fields)
}

// Same is an alias with the tool's own arguments.
func Same[A any](name string) Alias[A] {
	return As(name, func(a A) (A, error) { return a, nil })
}

// Schema is that of the arguments which the tool takes under a name.
func (d Tool[A]) Schema(name string) json.RawMessage {
	for _, a := range d.Aliases {
		if a.name == name {
			return arguments.Schema(a.args)
		}
	}
	return arguments.Schema(reflect.TypeFor[A]())
}

// Answers reports whether the tool has a name or an alias.
func (d Tool[A]) Answers(name string) bool {
	if name == d.Name {
		return true
	}
	for _, a := range d.Aliases {
		if a.name == name {
			return true
		}
	}
	return false
}

// Spec describes the tool.
func (d Tool[A]) Spec() tool.Spec {
	s := tool.Spec{Name: d.Name, Description: strings.Replace(d.Text, ForPrograms, "\n\n", 1), Grammar: d.Grammar, Parallel: d.Parallel,
		Schema: arguments.Schema(reflect.TypeFor[A]())}
	for _, a := range d.Aliases {
		s.Aliases = append(s.Aliases, a.name)
	}
	return s
}

// Prepare decodes the arguments in the shape that the call's name promises.
func (d Tool[A]) Prepare(ctx context.Context, env tool.Env, c tool.Call) (tool.Action, error) {
	args, err := d.Args(c)
	if err != nil {
		return nil, err
	}
	return d.Plan(ctx, env, c, args)
}

// Args decodes the arguments of a call.
func (d Tool[A]) Args(c tool.Call) (A, error) {
	r := arguments.Reader{Lenient: c.Manner.Lenient}
	return d.read(&r, c)
}

// Plain returns the arguments of a call as they were understood, under their own names, and
// notes on what was left out; those of the call where they are refused.
func (d Tool[A]) Plain(c tool.Call) (json.RawMessage, []string) {
	r := arguments.Reader{Lenient: c.Manner.Lenient}
	if _, err := d.read(&r, c); err != nil || !r.Lenient {
		return c.Args, nil
	}
	return r.Plain(), r.Notes
}

func (d Tool[A]) read(r *arguments.Reader, c tool.Call) (A, error) {
	for _, a := range d.Aliases {
		if a.name == c.Name {
			return a.decode(r, c.Name, c.Args)
		}
	}
	var args A
	if err := r.Decode(d.Name, c.Args, &args); err != nil {
		return args, err
	}
	return args, nil
}
