package wire

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"kerf/internal/model"
)

// CallIDs gives the calls of one response ids that no other call of the
// conversation has. Servers leave ids out, repeat them within a response, and
// count from one again in the next.
//
// The same response to the same request gets the same ids.
type CallIDs struct {
	taken map[string]bool
	base  string
	next  int
}

// NewCallIDs returns the ids that are free behind items.
func NewCallIDs(items []*model.Item) *CallIDs {
	c := &CallIDs{taken: map[string]bool{}}
	h := fnv.New64a()
	for _, i := range items {
		if i.Kind == model.Call {
			c.taken[i.CallID] = true
		}
	}
	if n := len(items); n > 0 {
		last := items[n-1]
		_, _ = h.Write([]byte(strconv.Itoa(n) + last.CallID + last.Text() + last.Input)) // a hash takes everything
	}
	c.base = strconv.FormatUint(h.Sum64(), 36)
	return c
}

// Take returns id if it is free, and another one if it is not, or empty.
func (c *CallIDs) Take(id string) string {
	for id == "" || c.taken[id] {
		c.next++
		id = madeUp + c.base + "_" + strconv.Itoa(c.next)
	}
	c.taken[id] = true
	return id
}

// Object returns the arguments of a call as a JSON object: what a freeform call,
// or a model that got its JSON wrong, wrote becomes the member input.
func Object(call *model.Item) string {
	s := strings.TrimSpace(call.Input)
	switch {
	case call.Style == model.Freeform:
	case s == "":
		return "{}"
	case s[0] == '{' && json.Valid([]byte(s)):
		return s
	}
	return string(append(AppendString([]byte(`{"input":`), call.Input), '}'))
}

// inputSchema is that of a freeform tool where tools take JSON only.
const inputSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

// ToolSchema is the JSON schema of a tool, also of a freeform one.
func ToolSchema(t model.Tool) json.RawMessage {
	if t.Schema == nil {
		return json.RawMessage(inputSchema)
	}
	return t.Schema
}

// AppendTool appends name, description and schema of a tool to an object. The
// protocol names the schema's member.
func AppendTool(dst []byte, t model.Tool, schema string) ([]byte, error) {
	dst = AppendField(dst, "name", t.Name)
	dst = AppendField(dst, "description", t.Description)
	dst, err := AppendRaw(AppendName(dst, schema), ToolSchema(t))
	if err != nil {
		return nil, fmt.Errorf("schema of tool %s: %w", t.Name, err)
	}
	return dst, nil
}

// AppendSchema appends the schema of the final message.
func AppendSchema(dst []byte, schema json.RawMessage) ([]byte, error) {
	dst, err := AppendRaw(dst, schema)
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return dst, nil
}

// NoImage stands for a picture that the model cannot see.
const NoImage = "[an image stood here; this model takes no images]"

// DataURL splits a data: URL with base64 content.
func DataURL(url string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	mime, data, ok = strings.Cut(rest, ";base64,")
	return mime, data, ok
}

// Sealed returns what an item carries for a protocol under a tag: reasoning of
// another protocol has another tag and stays at home.
func Sealed(i *model.Item, tag string) (string, bool) {
	if i.Kind != model.Reasoning {
		return "", false
	}
	sealed, ok := strings.CutPrefix(i.Encrypted, tag+":")
	if !ok {
		return "", false
	}
	return sealed, true
}

// Tokens makes a count of what a server told as one.
func Tokens(n float64) int {
	const most = 1 << 40
	return int(min(max(n, 0), most))
}

// Tags of what reasoning items carry. The Responses protocol was first and has
// none.
const (
	ChatTag      = "chat"
	AnthropicTag = "anthropic"
	RedactedTag  = "anthropic-redacted"
	GeminiTag    = "gemini"
	// BlockTag is that of a block of the Messages protocol which goes back as it came.
	BlockTag = "anthropic-block"
)

// Tagged reports whether the reasoning belongs to a protocol with a tag.
func Tagged(encrypted string) bool {
	tag, _, ok := strings.Cut(encrypted, ":")
	return ok && (tag == ChatTag || tag == AnthropicTag || tag == RedactedTag || tag == GeminiTag ||
		tag == BlockTag)
}
