// Package form makes forms of the schemas that MCP servers ask with, and reads what the user
// filled in.
package form

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/text/order"
)

// The bounds of a form: more than that nobody reads before they answer.
const (
	maxFields  = 50
	maxChoices = 200
)

// Form is what a server wants to know. Its fields are in the order of their names: JSON has
// no other.
type Form struct {
	Fields []Field
	schema *jsonschema.Resolved
}

// Kind says how a field is filled in.
type Kind string

// The kinds of fields.
const (
	Text    Kind = "text"
	Whole   Kind = "whole number"
	Number  Kind = "number"
	YesNo   Kind = "yes or no"
	One     Kind = "one of these"
	Several Kind = "any of these"
)

// Field is one value of a form.
type Field struct {
	Name, Title, About string
	Kind               Kind
	// Format is email, uri, date, date-time or empty.
	Format   string
	Required bool
	Choices  []Choice
	// Bounds tells in words which values fit.
	Bounds string
	// Default is what the server takes where nothing is given, as text. Given says that
	// there is one.
	Default string
	Given   bool

	property
}

// Choice is a value that can be chosen. Title is what the server calls it, or empty.
type Choice struct {
	Value, Title string
	Default      bool
}

// property is a part of a schema, as the protocol allows it.
type property struct {
	Type, Title, Description, Format string
	Enum, EnumNames                  []string
	OneOf                            []titled
	Items                            *struct {
		Enum         []string
		AnyOf, OneOf []titled
	}
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	Minimum, Maximum     *json.Number
	Default              json.RawMessage
}

type titled struct{ Const, Title string }

// Parse reads a schema. The error says why no form can be made of it.
func Parse(schema json.RawMessage) (*Form, error) {
	var s struct {
		Type       string
		Properties map[string]property
		Required   []string
	}
	var whole jsonschema.Schema
	if err := cmp.Or(json.Unmarshal(schema, &s), json.Unmarshal(schema, &whole)); err != nil {
		return nil, errors.New("it asks for more than texts, numbers and choices")
	}
	resolved, err := whole.Resolve(nil)
	if err != nil || s.Type != "object" {
		return nil, errors.New("its schema is not one of a form")
	}
	f := &Form{schema: resolved}
	choices := 0
	for name, p := range s.Properties {
		field, err := p.field(name)
		if err != nil {
			return nil, err
		}
		field.Required = slices.Contains(s.Required, name)
		choices += len(field.Choices)
		f.Fields = append(f.Fields, field)
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return nil, errors.New("it wants a value that it does not describe")
		}
	}
	if len(f.Fields) > maxFields || choices > maxChoices {
		return nil, fmt.Errorf("it has more than %d fields, or %d choices", maxFields, maxChoices)
	}
	order.By(f.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return f, nil
}

// field makes a field of a part of a schema.
func (p property) field(name string) (Field, error) {
	f := Field{Name: name, Title: p.Title, About: p.Description, property: p}
	f.Given = len(p.Default) > 0 && string(p.Default) != "null"
	chosen := []string{f.text()}
	switch p.Type {
	case "string":
		f.Kind, f.Format = Text, p.Format
		if f.Choices = choicesOf(p.Enum, p.EnumNames, p.OneOf); len(f.Choices) > 0 {
			f.Kind, f.Format = One, ""
		}
	case "integer":
		f.Kind = Whole
	case "number":
		f.Kind = Number
	case "boolean":
		f.Kind, f.Choices = YesNo, []Choice{{Value: "true", Title: "yes"}, {Value: "false", Title: "no"}}
	case "array":
		if p.Items == nil {
			return f, errors.New("it asks for a list of anything")
		}
		f.Kind, f.Choices = Several, choicesOf(p.Items.Enum, nil, append(p.Items.AnyOf, p.Items.OneOf...))
		if len(f.Choices) == 0 {
			return f, errors.New("it asks for a list of anything")
		}
		chosen = nil
		_ = json.Unmarshal(p.Default, &chosen) // no list chooses nothing
	default:
		return f, errors.New("it asks for more than texts, numbers and choices")
	}
	f.Default, f.Bounds = strings.Join(chosen, ", "), p.bounds(f.Kind)
	for i, c := range f.Choices {
		f.Choices[i].Default = f.Given && slices.Contains(chosen, c.Value)
	}
	return f, nil
}

// text is the default as the user would write it.
func (p property) text() string {
	var s string
	if json.Unmarshal(p.Default, &s) == nil {
		return s
	}
	return string(p.Default)
}

func choicesOf(values, names []string, list []titled) (all []Choice) {
	for i, v := range values {
		c := Choice{Value: v}
		if i < len(names) && names[i] != v {
			c.Title = names[i]
		}
		all = append(all, c)
	}
	for _, t := range list {
		c := Choice{Value: t.Const}
		if t.Title != t.Const {
			c.Title = t.Title
		}
		all = append(all, c)
	}
	return all
}

// bounds tells which values fit.
func (p property) bounds(k Kind) string {
	var words []string
	between := func(least, most, of string) {
		switch {
		case least != "" && most != "":
			words = append(words, least+" to "+most+of)
		case least != "":
			words = append(words, "at least "+least+of)
		case most != "":
			words = append(words, "at most "+most+of)
		}
	}
	count := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	switch k {
	case Text:
		between(count(p.MinLength), count(p.MaxLength), " characters")
	case Several:
		between(count(p.MinItems), count(p.MaxItems), " of them")
	case Whole, Number:
		words = append(words, string(k))
		number := func(n *json.Number) string {
			if n == nil {
				return ""
			}
			return n.String()
		}
		between(number(p.Minimum), number(p.Maximum), "")
	}
	return strings.Join(append(words, formats[p.Format]...), ", ")
}

// Key is the name of the ith field in what a page sends. A choice is sent as its number.
func Key(i int) string { return "field." + strconv.Itoa(i) }

// Read is what the user filled in, as JSON that fits the schema. Fields that are empty and
// not required are left out. The error says what does not fit, a line for each field.
func (f *Form) Read(values url.Values) (json.RawMessage, error) {
	content, problems := map[string]any{}, []string{}
	for i, field := range f.Fields {
		v, err := field.read(values[Key(i)])
		if err != nil {
			problems = append(problems, field.Name+": "+err.Error())
		} else if v != nil {
			content[field.Name] = v
		}
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	if err := f.schema.Validate(content); err != nil {
		return nil, fmt.Errorf("this does not fit what the server asked for: %w", err)
	}
	return json.Marshal(content)
}
