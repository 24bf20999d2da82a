package wire

import (
	"encoding/json"
	"strings"

	"kerf/internal/model"
	"kerf/internal/text/pattern"
)

// marks are what templates leave behind the arguments of a call: closing tags, control tokens,
// the end of a fence.
var marks = pattern.Lazy(`^(?:\s|</[\w:|.-]{1,40}>|<\|[^|<>]{1,40}\|>|</?s>|` + "```" + `)*$`)

// BareArguments returns a call without what stands around its JSON object: a fence of Markdown,
// and marks of a template. Other items, and what is no such object, come back as they are.
func BareArguments(i *model.Item) *model.Item {
	if i == nil || i.Kind != model.Call || i.Style == model.Freeform || i.Input == "" || json.Valid([]byte(i.Input)) {
		return i
	}
	s := strings.TrimSpace(i.Input)
	if fenced, ok := strings.CutPrefix(s, "```"); ok {
		first, rest, _ := strings.Cut(fenced, "\n")
		if strings.TrimSpace(first) == "" || strings.TrimSpace(first) == "json" {
			s = strings.TrimSpace(rest)
		}
	}
	var object map[string]json.RawMessage
	d := json.NewDecoder(strings.NewReader(s))
	if !strings.HasPrefix(s, "{") || d.Decode(&object) != nil || !marks().MatchString(s[d.InputOffset():]) {
		return i
	}
	bare := *i
	bare.Input = s[:d.InputOffset()]
	return &bare
}
