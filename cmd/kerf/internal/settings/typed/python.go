package typed

import (
	"fmt"
	"slices"
	"strings"
)

// python writes declarations as a module for Python 3.11 and later.
func python(title string, decls []decl) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by kerf schema --as python; do not edit.\n\"\"\"%s.\"\"\"\n\n"+
		"from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union\n", title)
	for _, d := range decls {
		switch {
		case !d.object:
			fmt.Fprintf(&b, "\n%s%s: TypeAlias = %s\n", remark("", d.about), d.name, quoted(pyType(d.is)))
		case functional(d):
			fmt.Fprintf(&b, "\n%s = TypedDict(%s, {\n", d.name, quoted(d.name))
			for _, m := range d.members {
				fmt.Fprintf(&b, "    %s: %s,\n", quoted(m.name), pyMember(m))
			}
			b.WriteString("})\n")
		default:
			fmt.Fprintf(&b, "\n\nclass %s(TypedDict):\n", d.name)
			if d.about != "" {
				fmt.Fprintf(&b, "    \"\"\"%s\"\"\"\n\n", docWords.Replace(oneLine(d.about)))
			}
			for _, m := range d.members {
				fmt.Fprintf(&b, "%s    %s: %s\n", remark("    ", m.about), m.name, pyMember(m))
			}
			if len(d.members) == 0 && d.about == "" {
				b.WriteString("    pass\n")
			}
		}
	}
	return b.String()
}

// docWords keep a text inside a docstring.
var docWords = strings.NewReplacer(`\`, `\\`, `"""`, "'''")

func remark(indent, about string) string {
	if about == "" {
		return ""
	}
	return indent + "# " + oneLine(about) + "\n"
}

// functional reports whether a member has a name that no attribute can have.
func functional(d decl) bool {
	for _, m := range d.members {
		if !plainName(m.name) {
			return true
		}
	}
	return false
}

func pyMember(m member) string {
	is := pyType(m.is)
	if refers(m.is) { // perhaps to what comes later
		is = `"` + strings.ReplaceAll(is, `"`, "'") + `"`
	}
	if m.required {
		return is
	}
	return "NotRequired[" + is + "]"
}

func refers(t typ) bool { return t.kind == ref || slices.ContainsFunc(t.of, refers) }

func pyType(t typ) string {
	var all []string
	for _, of := range t.of {
		all = append(all, pyType(of))
	}
	switch t.kind {
	case text:
		return "str"
	case integer:
		return "int"
	case number:
		return "float"
	case boolean:
		return "bool"
	case null:
		return "None"
	case ref:
		return t.name
	case literal:
		for _, v := range t.values {
			all = append(all, pyValue(v))
		}
		return "Literal[" + strings.Join(all, ", ") + "]"
	case list:
		return "list[" + all[0] + "]"
	case tuple:
		return "tuple[" + strings.Join(all, ", ") + "]"
	case table:
		return "dict[str, " + all[0] + "]"
	case either:
		return "Union[" + strings.Join(all, ", ") + "]"
	case anything:
	}
	return "Any"
}

func pyValue(v any) string {
	switch v {
	case true:
		return "True"
	case false:
		return "False"
	case nil:
		return "None"
	}
	return quoted(v)
}
