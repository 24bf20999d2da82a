package markup

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"text/template/parse"
)

// run fills in templates.
type run struct {
	*Templates
	w     io.Writer
	depth int
	vars  []variable // the innermost last
}

type variable struct {
	name  string
	value reflect.Value
}

// deepest bounds templates that call each other.
const deepest = 100

func (x *run) template(tree *parse.Tree, dot reflect.Value) error {
	if x.depth++; x.depth > deepest {
		return errors.New("templates call each other without end")
	}
	outer := x.vars
	x.vars = []variable{{"$", dot}}
	err := x.list(tree.Root, dot)
	x.vars = outer
	x.depth--
	return err
}

func (x *run) list(l *parse.ListNode, dot reflect.Value) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := x.node(n, dot); err != nil {
			return err
		}
	}
	return nil
}

func (x *run) node(n parse.Node, dot reflect.Value) error {
	switch n := n.(type) {
	case *parse.TextNode:
		_, err := x.w.Write(n.Text)
		return err
	case *parse.ActionNode:
		v, err := x.pipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		s, err := x.places[n].escaped(v)
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		_, err = io.WriteString(x.w, s)
		return err
	case *parse.TemplateNode:
		with := reflect.Value{}
		if n.Pipe != nil {
			var err error
			if with, err = x.pipe(n.Pipe, dot); err != nil {
				return err
			}
		}
		return x.template(x.trees[n.Name], with)
	case *parse.IfNode:
		return x.choose(&n.BranchNode, dot, false)
	case *parse.WithNode:
		return x.choose(&n.BranchNode, dot, true)
	case *parse.RangeNode:
		return x.each(n, dot)
	}
	return nil // a comment
}

// choose takes one of two ways; with says that the value becomes the dot.
func (x *run) choose(b *parse.BranchNode, dot reflect.Value, with bool) error {
	v, err := x.pipe(b.Pipe, dot)
	if err != nil {
		return err
	}
	if !truth(v) {
		return x.list(b.ElseList, dot)
	}
	if with {
		dot = v
	}
	return x.list(b.List, dot)
}

func (x *run) each(n *parse.RangeNode, dot reflect.Value) error {
	v, err := x.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	v = inside(v)
	if v.IsValid() && v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return fmt.Errorf("%s is no list", n.Pipe)
	}
	if !v.IsValid() || v.Len() == 0 {
		return x.list(n.ElseList, dot)
	}
	outer := len(x.vars)
	defer func() { x.vars = x.vars[:outer] }()
	for i := range v.Len() {
		x.vars = x.vars[:outer]
		switch decl := n.Pipe.Decl; len(decl) {
		case 1:
			x.vars = append(x.vars, variable{decl[0].Ident[0], v.Index(i)})
		case 2:
			x.vars = append(x.vars, variable{decl[0].Ident[0], reflect.ValueOf(i)}, variable{decl[1].Ident[0], v.Index(i)})
		}
		if err := x.list(n.List, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// pipe is the value of one command.
func (x *run) pipe(p *parse.PipeNode, dot reflect.Value) (reflect.Value, error) {
	args := p.Cmds[0].Args
	if f, ok := args[0].(*parse.IdentifierNode); ok {
		v, err := x.call(f.Ident, args[1:], dot)
		if err != nil {
			return v, fmt.Errorf("%s: %w", p, err)
		}
		return v, nil
	}
	if len(args) > 1 {
		return reflect.Value{}, fmt.Errorf("%s is no function", args[0])
	}
	return x.value(args[0], dot)
}

func (x *run) value(n parse.Node, dot reflect.Value) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(x.vars) - 1; i >= 0; i-- {
			if x.vars[i].name == n.Ident[0] {
				return fields(x.vars[i].value, n.Ident[1:])
			}
		}
	case *parse.ChainNode:
		v, err := x.value(n.Node, dot)
		if err != nil {
			return v, err
		}
		return fields(v, n.Field)
	case *parse.PipeNode:
		return x.pipe(n, dot)
	case *parse.IdentifierNode:
		return x.call(n.Ident, nil, dot)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), nil
	case *parse.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64)), nil
		}
	}
	return reflect.Value{}, fmt.Errorf("%s is not known here", n)
}

// inside is what interfaces and pointers lead to, nothing for nil.
func inside(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

func fields(v reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		s := inside(v)
		if s.Kind() != reflect.Struct {
			return s, fmt.Errorf("there is no .%s in nothing and in what has no fields", name)
		}
		f, ok := s.Type().FieldByName(name)
		if !ok || !f.IsExported() {
			return s, fmt.Errorf("%s has no field %s", s.Type(), name)
		}
		var err error
		if v, err = s.FieldByIndexErr(f.Index); err != nil {
			return v, err
		}
	}
	return v, nil
}

// truth reports whether a value is more than the empty one of its type.
func truth(v reflect.Value) bool {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}
