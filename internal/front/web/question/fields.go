package question

import (
	"fmt"
	"html"
	"net/url"
	"strconv"

	"kerf/internal/front/web/form"
	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
)

// Field is a field of a form as templates draw it. What a server wrote in it is exact.
type Field struct {
	ID, Key, Value         string
	Type, Keyboard, Digits string // of the element
	Name, Title, About     markup.HTML
	Notes                  []markup.HTML
	Required, Long         bool
	Choices                []FieldChoice
	Several, Optional      bool
	Chosen                 bool // one of Choices is chosen from the start
}

// FieldChoice is a value that can be chosen: what is sent, and what the server calls it.
type FieldChoice struct {
	Number       string
	Value, Title markup.HTML
	Chosen       bool
}

// inputs are the elements in which formats are typed, and keyboards the keys of a phone.
var (
	inputs    = map[string]string{"date": "date"}
	keyboards = map[string]string{"email": "email", "uri": "url"}
)

func fields(question string, f *form.Form) []Field {
	all := make([]Field, 0, len(f.Fields))
	for i, from := range f.Fields {
		v := Field{ID: fmt.Sprintf("q-%s-%d", question, i), Key: form.Key(i), Name: render.Exact(from.Name),
			Title: render.Exact(from.Title), About: render.Exact(from.About), Required: from.Required, Type: "text",
			Several: from.Kind == form.Several}
		if from.Bounds != "" {
			v.Notes = append(v.Notes, markup.HTML(html.EscapeString(from.Bounds)))
		}
		v.proposed(from)
		switch from.Kind {
		case form.Text:
			v.Keyboard = keyboards[from.Format]
			if t := inputs[from.Format]; t != "" {
				v.Type = t
			}
			v.Long = from.MaxLength != nil && *from.MaxLength > 200 && from.Format == ""
		case form.Whole:
			v.Keyboard, v.Digits = "numeric", "-?[0-9]+"
		case form.Number:
			v.Keyboard, v.Digits = "decimal", `-?[0-9]+(\.[0-9]+)?([eE][\-+]?[0-9]+)?`
		}
		all = append(all, v)
	}
	return all
}

// proposed fills in what the server proposes, where it looks as it is, and says what becomes
// of a field that is left empty.
func (v *Field) proposed(from form.Field) {
	if from.Given && len(from.Choices) == 0 && render.Clear(from.Default) {
		v.Value = from.Default
	}
	if from.Given && (!from.Required || from.Default != v.Value) && len(from.Choices) == 0 {
		words := "left empty, the server is given its own value: "
		if from.Required {
			words = "the server proposes: "
		}
		v.Notes = append(v.Notes, markup.HTML(words)+"<code>"+render.Exact(from.Default)+"</code>")
	}
	for i, c := range from.Choices {
		out := FieldChoice{Number: strconv.Itoa(i), Value: render.Exact(c.Value), Chosen: c.Default}
		if c.Title != "" {
			out.Title = render.Exact(c.Title)
		}
		v.Choices, v.Chosen = append(v.Choices, out), v.Chosen || c.Default
	}
	// A list without a choice is left out, and so is an optional value.
	v.Optional = len(v.Choices) > 0 && !v.Required && !v.Several && !from.Given
}

// filledIn adds what a form says to an answer.
func filledIn(ans protocol.Answer, q *protocol.Question, values url.Values) (protocol.Answer, error) {
	if len(q.Schema) == 0 {
		return ans, nil
	}
	f, err := form.Parse(q.Schema)
	if err != nil {
		return ans, Misuse("this form cannot be filled in here: " + err.Error())
	}
	if ans.Content, err = f.Read(values); err != nil {
		return ans, Misuse("nothing was sent. " + err.Error())
	}
	return ans, nil
}
