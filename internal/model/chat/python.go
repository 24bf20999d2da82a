package chat

import (
	"encoding/json"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// gemmaQuote stands for a quotation mark where Gemma writes a call of its own kind.
const gemmaQuote = `<|"|>`

// readTool reads a fence of Python calls, as Gemma writes them.
func readTool(s string, tools []model.Tool) ([]leak, string) {
	code, rest, _ := strings.Cut(s, "```")
	return pythonCalls(code, tools), rest
}

// readGemma reads calls of the shape call:NAME{key:value} up to a closing token.
func readGemma(s string, tools []model.Tool) ([]leak, string) {
	inner, rest, _ := strings.Cut(s, "<tool_call|>")
	call, _ := bareCall(inner, tools)
	return call, rest
}

// bareCall reads one call of the shape call:NAME{…} or call:NAME(…), and what is behind it.
func bareCall(s string, tools []model.Tool) ([]leak, string) {
	after, ok := strings.CutPrefix(strings.TrimSpace(s), "call:")
	at := strings.IndexAny(after, "{(")
	if !ok || at < 0 {
		return nil, s
	}
	tool := wire.Offered(after[:at], tools)
	if tool == nil {
		return nil, s
	}
	p := &python{s: after[at+1:], bare: true}
	args, ok := p.members(closing(after[at]))
	if !ok {
		return nil, s
	}
	return one(tool, args), p.s
}

// pythonCalls reads calls, one behind the other, each perhaps within print.
func pythonCalls(s string, tools []model.Tool) []leak {
	var calls []leak
	for {
		s = strings.TrimLeft(s, " \t\r\n;)")
		s = strings.TrimPrefix(s, "print(")
		at := strings.IndexByte(s, '(')
		if at < 0 {
			return calls
		}
		tool := wire.Offered(s[:at], tools)
		if tool == nil {
			return calls
		}
		p := &python{s: s[at+1:]}
		args, ok := p.members(')')
		if !ok {
			return calls
		}
		calls = append(calls, one(tool, args)...)
		s = p.s
	}
}

func closing(open byte) byte {
	return map[byte]byte{'(': ')', '{': '}', '[': ']'}[open]
}

// python reads values as Python and Gemma write them. s is what is not read yet.
type python struct {
	s    string
	bare bool // texts may stand without quotes
}

func (p *python) skip() { p.s = strings.TrimLeft(p.s, " \t\r\n") }

// take takes token off the front.
func (p *python) take(token string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.s, token)
	p.s = rest
	return ok
}

// members reads names with their values up to end, which is taken.
func (p *python) members(end byte) (map[string]any, bool) {
	all := map[string]any{}
	for {
		if p.take(string(end)) {
			return all, true
		}
		name, ok := p.text()
		if !ok {
			at := strings.IndexAny(p.s, "=:"+string(end))
			if at <= 0 {
				return nil, false
			}
			name, p.s = strings.TrimSpace(p.s[:at]), p.s[at:]
		}
		if !p.take("=") && !p.take(":") {
			return nil, false
		}
		v, ok := p.value(end)
		if !ok {
			return nil, false
		}
		all[name] = v
		if !p.take(",") && !strings.HasPrefix(p.s, string(end)) {
			return nil, false
		}
	}
}

// list reads values up to end, which is taken.
func (p *python) list(end byte) ([]any, bool) {
	all := []any{}
	for {
		if p.take(string(end)) {
			return all, true
		}
		v, ok := p.value(end)
		if !ok {
			return nil, false
		}
		all = append(all, v)
		if !p.take(",") && !strings.HasPrefix(p.s, string(end)) {
			return nil, false
		}
	}
}

func (p *python) value(end byte) (any, bool) {
	if s, ok := p.text(); ok {
		return s, true
	}
	switch {
	case p.take("["):
		return p.list(']')
	case p.take("("):
		return p.list(')')
	case p.take("{"):
		return p.members('}')
	}
	at := strings.IndexAny(p.s, ",\n"+string(end))
	if at < 0 {
		return nil, false
	}
	word := strings.TrimSpace(p.s[:at])
	p.s = p.s[at:]
	switch word {
	case "True", "true":
		return true, true
	case "False", "false":
		return false, true
	case "None", "null":
		return nil, true
	}
	if json.Valid([]byte(word)) {
		return json.RawMessage(word), true
	}
	return word, p.bare && word != ""
}

// escapes are those of Python's texts that mean another character.
var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, `'`)

// text reads a quoted text.
func (p *python) text() (string, bool) {
	p.skip()
	for _, quote := range []string{gemmaQuote, `"""`, `'''`, `"`, `'`} {
		rest, ok := strings.CutPrefix(p.s, quote)
		if !ok {
			continue
		}
		for at := 0; at < len(rest); at++ {
			if rest[at] == '\\' && quote != gemmaQuote {
				at++
				continue
			}
			if strings.HasPrefix(rest[at:], quote) {
				p.s = rest[at+len(quote):]
				if quote == gemmaQuote {
					return rest[:at], true
				}
				return escapes.Replace(rest[:at]), true
			}
		}
		return "", false
	}
	return "", false
}
