package wire

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/model"
)

// maxName is the longest name of a tool that all providers take.
const maxName = 64

// ToolName makes a name fit for a history. Models invent names, and providers refuse every
// later request that repeats one with other characters than letters, digits, - and _. Names
// that fit stay as they are.
func ToolName(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if fit == "" {
		return "unnamed"
	}
	if c := fit[0]; c >= '0' && c <= '9' || c == '-' {
		fit = "_" + fit
	}
	return fit[:min(len(fit), maxName)]
}

// spaces are what models put before the name of a tool, as their templates have it.
var spaces = []string{"functions.", "tools.", "default_api.", "default_api:", "multi_tool_use."}

// Offered finds a tool by the name a model gave it, with what its template put around it:
// a namespace before it, and control tokens or tags behind it. It is nil if none is meant.
func Offered(name string, tools []model.Tool) *model.Tool {
	find := func(name string) *model.Tool {
		i := slices.IndexFunc(tools, func(t model.Tool) bool { return t.Name == name })
		if i < 0 {
			return nil
		}
		return &tools[i]
	}
	name = strings.TrimSpace(name)
	if t := find(name); t != nil {
		return t
	}
	for _, mark := range []string{"<", " to="} {
		name, _, _ = strings.Cut(name, mark)
	}
	for _, space := range spaces {
		name = strings.TrimPrefix(name, space)
	}
	return find(strings.TrimSpace(name))
}

// MeantTool returns a call under the name of the offered tool that it means. Other items
// come back as they are.
func MeantTool(i *model.Item, tools []model.Tool) *model.Item {
	if i == nil || i.Kind != model.Call || i.Name == "" {
		return i
	}
	t := Offered(i.Name, tools)
	if t == nil || t.Name == i.Name {
		return i
	}
	meant := *i
	meant.Name = t.Name
	return &meant
}

// madeUp begins the ids that Kerf makes up for calls that came without one.
const madeUp = "made_"

// MadeUp reports whether Kerf made up the id of a call.
func MadeUp(id string) bool { return strings.HasPrefix(id, madeUp) }

// CallID makes an id fit for a provider that takes letters, digits, - and _, up to a number
// of characters. Ids that differ stay different.
func CallID(id string, most int) string {
	fit := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if strings.IndexFunc(id, func(r rune) bool { return !fit(r) }) < 0 && id != "" && len(id) <= most {
		return id
	}
	return "call_" + strconv.FormatUint(hashOf(id), 36)
}

// shortID is the length of an id where ids are short.
const shortID = 9

// ShortCallID makes an id of nine letters and digits, which is all that some providers take.
func ShortCallID(id string) string {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	if len(id) == shortID && strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) < 0 {
		return id
	}
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	h := hashOf(id)
	var short [shortID]byte
	for i := range short {
		short[i] = letters[h%uint64(len(letters))]
		h /= uint64(len(letters))
	}
	return string(short[:])
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash takes everything
	return h.Sum64()
}
