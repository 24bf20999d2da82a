// Package markup fills in HTML templates so that no value can change what the page around it
// means.
//
// Templates are written as for html/template, and come out as there. That package cannot be
// used: it finds methods by names that are known when it runs, so a program that has it keeps
// every exported method of every type that it uses, which is a twelfth of Kerf. Here a
// template names fields and functions, never methods, and has no pipes.
//
// A value stands in text, in a quoted value of an attribute, or in a style. All other places,
// and scripts, are refused when the templates are read.
package markup

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"text/template/parse"
)

// HTML is markup that is known to be safe. It is not escaped in text.
type HTML string

// URL is an address that is known to be safe, whatever it begins with.
type URL string

// CSS is a style sheet that is known to be safe. Nothing else stands in a style.
type CSS string

// Templates are templates that call each other by name. They may be used by several
// goroutines.
type Templates struct {
	trees     map[string]*parse.Tree
	functions map[string]reflect.Value
	places    map[*parse.ActionNode]place
}

// Parse reads the templates of the files that match. A function returns a value, or a value
// and an error.
func Parse(files fs.FS, pattern string, functions map[string]any) (*Templates, error) {
	t := &Templates{trees: map[string]*parse.Tree{}, functions: map[string]reflect.Value{},
		places: map[*parse.ActionNode]place{}}
	for name, f := range functions {
		t.functions[name] = reflect.ValueOf(f)
	}
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		trees, err := parse.Parse(name, string(text), "", "", functions, builtin)
		if err != nil {
			return nil, err
		}
		maps.Copy(t.trees, trees)
	}
	for name, tree := range t.trees {
		w := walker{t, name}
		end, err := w.list(tree.Root, place{})
		if err == nil && end != (place{}) {
			err = w.fault(tree.Root, "ends within a tag")
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Execute writes a template filled in with data.
func (t *Templates) Execute(w io.Writer, name string, data any) error {
	tree := t.trees[name]
	if tree == nil {
		return fmt.Errorf("there is no template %s", name)
	}
	x := &run{Templates: t, w: w}
	dot := reflect.ValueOf(data)
	return x.template(tree, dot)
}
