package markup

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"text/template/parse"
)

// builtin are the functions that every template has; the parser wants to know their names.
var builtin = map[string]any{"and": true, "or": true, "not": true, "eq": true, "ne": true, "lt": true, "gt": true,
	"len": true, "index": true, "print": true}

// call is the value of a function. Those that choose between their arguments look at no more
// of them than they need.
func (x *run) call(name string, args []parse.Node, dot reflect.Value) (reflect.Value, error) {
	if name == "and" || name == "or" {
		var v reflect.Value
		for _, a := range args {
			var err error
			if v, err = x.value(a, dot); err != nil || truth(v) == (name == "or") {
				return v, err
			}
		}
		return v, nil
	}
	var values []reflect.Value
	for _, a := range args {
		v, err := x.value(a, dot)
		if err != nil {
			return v, err
		}
		for v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		values = append(values, v)
	}
	if f, ok := x.functions[name]; ok {
		return invoke(f, values)
	}
	want := map[string]int{"not": 1, "len": 1}[name]
	if want == 0 {
		want = 2
	}
	if name != "print" && len(values) != want {
		return reflect.Value{}, fmt.Errorf("has %d arguments, want %d", len(values), want)
	}
	return own(name, values)
}

// own is the value of a function that every template has.
func own(name string, values []reflect.Value) (reflect.Value, error) {
	switch name {
	case "print":
		var all []any
		for _, v := range values {
			all = append(all, v.Interface())
		}
		return reflect.ValueOf(fmt.Sprint(all...)), nil
	case "not":
		return reflect.ValueOf(!truth(values[0])), nil
	case "len":
		if v := inside(values[0]); v.Kind() == reflect.Slice || v.Kind() == reflect.String {
			return reflect.ValueOf(v.Len()), nil
		}
		return reflect.Value{}, errors.New("this has no length")
	case "index":
		list, i := inside(values[0]), values[1]
		if list.Kind() != reflect.Slice || !i.CanInt() || i.Int() < 0 || int(i.Int()) >= list.Len() {
			return reflect.Value{}, errors.New("there is no such element")
		}
		return list.Index(int(i.Int())), nil
	}
	order, err := compare(values[0], values[1])
	is := map[string]bool{"eq": order == 0, "ne": order != 0, "lt": order < 0, "gt": order > 0}[name]
	return reflect.ValueOf(is), err
}

func compare(a, b reflect.Value) (int, error) {
	switch {
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String()), nil
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int()), nil
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float()), nil
	case a.Kind() == reflect.Bool && b.Kind() == reflect.Bool && a.Bool() == b.Bool():
		return 0, nil
	case a.Kind() == reflect.Bool && b.Kind() == reflect.Bool:
		return 1, nil
	}
	return 0, errors.New("these cannot be compared")
}

// invoke calls a function of Go.
func invoke(f reflect.Value, values []reflect.Value) (reflect.Value, error) {
	t := f.Type()
	if len(values) != t.NumIn() {
		return reflect.Value{}, fmt.Errorf("has %d arguments, want %d", len(values), t.NumIn())
	}
	for i, v := range values {
		if !v.IsValid() || !v.Type().AssignableTo(t.In(i)) {
			return reflect.Value{}, fmt.Errorf("argument %d is no %s", i+1, t.In(i))
		}
	}
	out := f.Call(values)
	if len(out) == 2 && !out[1].IsNil() {
		return out[0], out[1].Interface().(error)
	}
	return out[0], nil
}
