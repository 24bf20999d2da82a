package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// leak is a call that a model wrote as text.
type leak struct{ name, args string }

// form is one way in which models write calls: what it begins with, and how the
// rest is read. read returns what is left behind the calls.
type form struct {
	open string
	read func(s string, tools []model.Tool) (calls []leak, rest string)
}

// forms are told by the templates of the models: Hermes, Qwen and GLM; Qwen
// coder; Mistral; Kimi; DeepSeek; Llama; the XML of others; Gemma; and gpt-oss.
var forms = []form{
	{"<tool_call>", readTagged("</tool_call>")},
	{"<function_call>", readTagged("</function_call>")},
	{"<tools>", readTagged("</tools>")},
	{"<|python_tag|>", readTagged("<|eom_id|>")},
	{"<function=", readFunction},
	{"[TOOL_CALLS]", readMistral},
	{"<|tool_calls_section_begin|>", readKimi},
	{"<｜tool▁calls▁begin｜>", readDeepSeek},
	{"<function_calls>", readInvokes("</function_calls>")},
	{"<minimax:tool_call>", readInvokes("</minimax:tool_call>")},
	{"<invoke name=", readInvokes("")},
	{"<|tool_call>", readGemma},
	{"```tool_code", readTool},
	{harmonyStart, readNothing},
	{harmonyChannel, readNothing},
}

// findLeaks takes the calls out of a text whose first bytes were shown already,
// which are no call. It finds none rather than a doubtful one: the tool must be
// one that was offered.
func findLeaks(text string, from int, tools []model.Tool) (said string, calls []leak) {
	if from == 0 {
		if calls := readWhole(text, tools); len(calls) > 0 {
			return "", calls
		}
	}
	said = text[:from]
	rest := text[from:]
	for rest != "" {
		at, f := firstForm(said, rest)
		if f == nil {
			break
		}
		found, behind := f.read(rest[at+len(f.open):], tools)
		if len(found) == 0 {
			said += rest[:at+len(f.open)]
			rest = rest[at+len(f.open):]
			continue
		}
		said += rest[:at]
		rest = behind
		calls = append(calls, found...)
	}
	if len(calls) == 0 {
		return text, nil
	}
	return strings.TrimRight(said+rest, " \t\r\n"), calls
}

// TextCall is a call that a model wrote as text.
type TextCall struct{ Name, Args string }

// TextCalls takes the calls of offered tools out of a whole text, in all the ways in which
// models write them. Without one, said is the text.
func TextCalls(text string, tools []model.Tool) (said string, calls []TextCall) {
	said, found := findLeaks(text, 0, tools)
	for _, l := range found {
		calls = append(calls, TextCall{l.name, l.args})
	}
	return said, calls
}

// firstForm is the first opening in rest that is not quoted code.
func firstForm(said, rest string) (int, *form) {
	best, which := -1, (*form)(nil)
	for i := range forms {
		for from := 0; from < len(rest); {
			at := strings.Index(rest[from:], forms[i].open)
			if at < 0 {
				break
			}
			at += from
			if !quoted(said + rest[:at]) {
				if best < 0 || at < best {
					best, which = at, &forms[i]
				}
				break
			}
			from = at + 1
		}
	}
	return best, which
}

// readWhole reads a text that is nothing but a call in JSON, perhaps in a fence.
func readWhole(text string, tools []model.Tool) []leak {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		if inner, ok = strings.CutSuffix(inner, "```"); !ok {
			return nil
		}
		text = strings.TrimSpace(strings.TrimPrefix(inner, "json"))
	}
	if calls, rest := bareCall(text, tools); len(calls) > 0 && strings.TrimSpace(rest) == "" {
		return calls
	}
	if text == "" || (text[0] != '{' && text[0] != '[') {
		return nil
	}
	calls, rest := readJSON(text, tools)
	if strings.TrimSpace(rest) != "" {
		return nil
	}
	return calls
}

// readTagged reads calls up to a closing tag, which may be missing at the end.
func readTagged(closing string) func(string, []model.Tool) ([]leak, string) {
	return func(s string, tools []model.Tool) ([]leak, string) {
		inner, rest, _ := strings.Cut(s, closing)
		inner = strings.TrimSpace(inner)
		if after, ok := strings.CutPrefix(inner, "<function="); ok {
			calls, _ := readFunction(after, tools)
			return calls, rest
		}
		if strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
			calls, _ := readJSON(inner, tools)
			return calls, rest
		}
		if calls := pythonCalls(inner, tools); len(calls) > 0 {
			return calls, rest
		}
		return readPairs(inner, tools), rest
	}
}

// readPairs reads the name of a tool and its arguments as tagged pairs.
func readPairs(s string, tools []model.Tool) []leak {
	const key, keyEnd, value, valueEnd = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"
	name, rest, _ := strings.Cut(s, key)
	tool := wire.Offered(strings.TrimSpace(name), tools)
	if tool == nil {
		return nil
	}
	args := map[string]any{}
	for more := rest != ""; more; {
		var k, v string
		k, rest, more = strings.Cut(rest, keyEnd)
		if !more {
			break
		}
		_, rest, _ = strings.Cut(rest, value)
		v, rest, _ = strings.Cut(rest, valueEnd)
		args[strings.TrimSpace(k)] = typed(tool, strings.TrimSpace(k), v)
		_, rest, more = strings.Cut(rest, key)
	}
	return one(tool, args)
}

// readFunction reads NAME>…</function> with tagged parameters or JSON.
func readFunction(s string, tools []model.Tool) ([]leak, string) {
	name, rest, ok := strings.Cut(s, ">")
	tool := wire.Offered(strings.Trim(name, `"' `), tools)
	if !ok || tool == nil {
		return nil, s
	}
	body, behind, _ := strings.Cut(rest, "</function>")
	behind = strings.TrimPrefix(strings.TrimLeft(behind, " \t\r\n"), "</tool_call>")
	if inner := strings.TrimSpace(body); strings.HasPrefix(inner, "{") {
		raw, _, ok := value(inner)
		if !ok {
			return nil, s
		}
		return []leak{{tool.Name, string(raw)}}, behind
	}
	args := map[string]any{}
	for {
		_, after, ok := strings.Cut(body, "<parameter=")
		if !ok {
			return one(tool, args), behind
		}
		k, after, _ := strings.Cut(after, ">")
		v, behind, closed := strings.Cut(after, "</parameter>")
		if next := strings.Index(v, "<parameter="); next >= 0 || !closed {
			if next < 0 {
				next = len(v)
			}
			v, behind = strings.TrimSpace(v[:next]), after[next:] // the closing tag is missing
		}
		body = behind
		k = strings.Trim(k, `"' `)
		args[k] = typed(tool, k, v)
	}
}

// readMistral reads a list of calls, or name[ARGS]{…} repeated.
func readMistral(s string, tools []model.Tool) ([]leak, string) {
	trimmed := strings.TrimLeft(s, " \n")
	if strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{") {
		return readJSON(trimmed, tools)
	}
	at := strings.IndexByte(trimmed, '{')
	if at < 0 {
		return nil, s
	}
	name, _, _ := strings.Cut(trimmed[:at], "[")
	tool := wire.Offered(strings.TrimSpace(name), tools)
	raw, rest, ok := value(trimmed[at:])
	if !ok || tool == nil {
		return nil, s
	}
	return []leak{{tool.Name, string(raw)}}, rest
}

func readKimi(s string, tools []model.Tool) ([]leak, string) {
	body, rest, _ := strings.Cut(s, "<|tool_calls_section_end|>")
	return readCalls(body, "<|tool_call_begin|>", "<|tool_call_argument_begin|>", tools), rest
}

func readDeepSeek(s string, tools []model.Tool) ([]leak, string) {
	body, rest, _ := strings.Cut(s, "<｜tool▁calls▁end｜>")
	return readCalls(body, "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", tools), rest
}

// readCalls reads calls of the shape OPEN name SEP arguments.
func readCalls(s, opening, sep string, tools []model.Tool) []leak {
	var calls []leak
	for _, piece := range strings.Split(s, opening)[1:] {
		name, rest, ok := strings.Cut(piece, sep)
		if !ok {
			continue
		}
		name = strings.TrimSpace(name)
		if name == "function" { // an older shape: function SEP name, then a fence
			name, rest, _ = strings.Cut(rest, "\n")
		}
		name, _, _ = strings.Cut(strings.TrimSpace(name), ":") // functions.NAME:0
		tool := wire.Offered(name, tools)
		at := strings.IndexByte(rest, '{')
		if tool == nil || at < 0 {
			continue
		}
		if raw, _, ok := value(rest[at:]); ok {
			calls = append(calls, leak{tool.Name, string(raw)})
		}
	}
	return calls
}

// readInvokes reads <invoke name="…"> with tagged parameters. With an empty
// closing tag the first invoke was opened already.
func readInvokes(closing string) func(string, []model.Tool) ([]leak, string) {
	const opening = "<invoke name="
	return func(s string, tools []model.Tool) ([]leak, string) {
		body, rest := opening+s, ""
		if closing != "" {
			body, rest, _ = strings.Cut(s, closing)
		}
		var calls []leak
		for {
			_, after, ok := strings.Cut(body, opening)
			if !ok {
				break
			}
			name, after, _ := strings.Cut(after, ">")
			inner, behind, _ := strings.Cut(after, "</invoke>")
			tool := wire.Offered(strings.Trim(name, `"' `), tools)
			if tool == nil {
				return nil, s
			}
			args := map[string]any{}
			for _, p := range strings.Split(inner, "<parameter name=")[1:] {
				k, v, _ := strings.Cut(p, ">")
				k, _, _ = strings.Cut(strings.Trim(k, `"' `), `"`)
				v, _, _ = strings.Cut(v, "</parameter>")
				args[k] = typed(tool, k, v)
			}
			calls = append(calls, one(tool, args)...)
			body = behind
		}
		if closing == "" {
			rest = body
		}
		return calls, rest
	}
}

// readJSON reads objects that each hold a call, or a list of them.
func readJSON(s string, tools []model.Tool) ([]leak, string) {
	var calls []leak
	for {
		raw, rest, ok := value(s)
		if !ok {
			return calls, s
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			list = []json.RawMessage{raw}
		}
		for _, one := range list {
			l, ok := callIn(one, tools)
			if !ok {
				return nil, s
			}
			calls = append(calls, l)
		}
		s = strings.TrimLeft(rest, " \t\r\n;,")
		if !strings.HasPrefix(s, "{") {
			return calls, rest
		}
	}
}

// callIn reads the object of one call in the shapes that models know.
func callIn(raw json.RawMessage, tools []model.Tool) (leak, bool) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return leak{}, false
	}
	if inner, ok := o["function"]; ok {
		var nested map[string]json.RawMessage
		if json.Unmarshal(inner, &nested) == nil {
			o = nested
		} else {
			o["name"] = inner
		}
	}
	name := ""
	for _, key := range []string{"name", "tool", "tool_name"} {
		if json.Unmarshal(o[key], &name) == nil && name != "" {
			break
		}
	}
	tool := wire.Offered(name, tools)
	if tool == nil {
		return leak{}, false
	}
	for _, key := range []string{"arguments", "parameters", "args", "tool_input", "input"} {
		args, ok := o[key]
		if !ok {
			continue
		}
		var s string
		if json.Unmarshal(args, &s) == nil {
			args = json.RawMessage(s)
		}
		if !bytes.HasPrefix(bytes.TrimSpace(args), []byte("{")) || !json.Valid(args) {
			return leak{}, false
		}
		return leak{tool.Name, string(args)}, true
	}
	return leak{}, false
}

// value reads one JSON value. Line ends and tabs within strings, which small
// models do not escape, are mended.
func value(s string) (raw json.RawMessage, rest string, ok bool) {
	for _, text := range []string{s, mend(s)} {
		d := json.NewDecoder(strings.NewReader(text))
		var v json.RawMessage
		if d.Decode(&v) == nil {
			return v, text[d.InputOffset():], true
		}
	}
	return nil, s, false
}

func mend(s string) string {
	var b strings.Builder
	inString, escaped := false, false
	for i := range len(s) {
		c := s[i]
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = inString
		case c == '"':
			inString = !inString
		case inString && c == '\n':
			b.WriteString(`\n`)
			continue
		case inString && c == '\r':
			b.WriteString(`\r`)
			continue
		case inString && c == '\t':
			b.WriteString(`\t`)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// typed makes the value of an argument that was written as text: a text where
// the tool wants one, or else JSON if it is some.
func typed(t *model.Tool, name, text string) any {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.Schema, &schema) // without a type the text decides
	if schema.Properties[name].Type == "string" {
		return text
	}
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		return json.RawMessage(text)
	}
	return text
}

func one(t *model.Tool, args map[string]any) []leak {
	b, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return []leak{{t.Name, string(b)}}
}
