package pathname

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// Path is a path that survives JSON. One that is UTF-8 is written as a string, any
// other as {"b64": "..."}: its bytes in base64.
type Path string

// Schema is the JSON schema of a Path.
const Schema = `{"oneOf": [{"type": "string"}, {"type": "object", "title": "bytes", "required": ["b64"], "properties":
{"b64": {"type": "string", "contentEncoding": "base64"}},
"description": "a name that is not UTF-8: its bytes in base64"}]}`

type rawPath struct {
	B64 string `json:"b64"`
}

// MarshalJSON writes p as a string where that is exact.
func (p Path) MarshalJSON() ([]byte, error) {
	if p.plain() {
		return []byte(`"` + string(p) + `"`), nil
	}
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal(rawPath{base64.StdEncoding.EncodeToString([]byte(p))})
}

// plain reports whether p is written as it is, as most paths are. Changes of thousands of files have
// several each.
func (p Path) plain() bool {
	for i := range len(p) {
		switch c := p[i]; {
		case c < ' ' || c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// UnmarshalJSON reads both forms.
func (p *Path) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*p = Path(s)
		return nil
	}
	var raw rawPath
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	d, err := base64.StdEncoding.DecodeString(raw.B64)
	*p = Path(d)
	return err
}

// Paths returns list as paths that survive JSON.
func Paths(list []string) []Path {
	var paths []Path
	for _, p := range list {
		paths = append(paths, Path(p))
	}
	return paths
}
