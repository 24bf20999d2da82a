package typed

import (
	"encoding/json"
	"fmt"
	"strings"
)

// typescript writes declarations as a module of types.
func typescript(title string, decls []decl) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s. Made by kerf schema --as typescript; do not edit.\n", title)
	for _, d := range decls {
		b.WriteByte('\n')
		comment(&b, "", d.about)
		if !d.object {
			is := tsType(d.is, true)
			if d.is.kind != either {
				is = " " + is
			}
			fmt.Fprintf(&b, "export type %s =%s;\n", d.name, is)
			continue
		}
		fmt.Fprintf(&b, "export interface %s {\n", d.name)
		for _, m := range d.members {
			comment(&b, "  ", m.about)
			name, mark := m.name, "?"
			if !plainName(name) {
				name = quoted(name)
			}
			if m.required {
				mark = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", name, mark, tsType(m.is, false))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// comment writes what a schema says of a type.
func comment(b *strings.Builder, indent, about string) {
	if about != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(oneLine(about), "*/", "* /"))
	}
}

func tsType(t typ, top bool) string {
	var all []string
	for _, of := range t.of {
		all = append(all, tsType(of, false))
	}
	switch t.kind {
	case text:
		return "string"
	case integer, number:
		return "number"
	case boolean:
		return "boolean"
	case null:
		return "null"
	case ref:
		return t.name
	case literal:
		for _, v := range t.values {
			all = append(all, quoted(v))
		}
		return strings.Join(all, " | ")
	case list:
		if k := t.of[0].kind; k == either || k == literal {
			return "(" + all[0] + ")[]"
		}
		return all[0] + "[]"
	case tuple:
		return "[" + strings.Join(all, ", ") + "]"
	case table:
		return "Record<string, " + all[0] + ">"
	case either:
		if top { // on lines of their own
			return "\n  | " + strings.Join(all, "\n  | ")
		}
		return strings.Join(all, " | ")
	case anything:
	}
	return "unknown"
}

// quoted is a value as both languages write it; there are no others than strings, numbers
// and truth values, which Python spells in its own way.
func quoted(v any) string {
	b, _ := json.Marshal(v) // made of JSON
	return string(b)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
