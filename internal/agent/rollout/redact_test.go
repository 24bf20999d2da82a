package rollout

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/redact"
)

// TestRedactKeepsJSON has secrets that look like the JSON around them.
func TestRedactKeepsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[n"\\{}:,0-9a-cu<\n]{8,12}`).Draw(t, "secret")
		text := rapid.StringMatching(`[n"\\{}:,0-9a-cu<\n]{0,9}`).Draw(t, "before") + secret +
			rapid.StringMatching(`[nu0-9"]{0,3}`).Draw(t, "after")
		r := redact.New([]string{"A_KEY=" + secret, "B_KEY=12345678", `C_KEY="result"`, `D_KEY={"n":12345678`})
		b, err := encode(Entry{"x", map[string]any{"text": text, "n": 12345678, "result": []string{text}, text: 1}}, r.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		flat := strings.Join(stringsOf(got), "\x00")
		if strings.Contains(flat, secret) || strings.Contains(flat, "12345678") && !strings.Contains(secret, "[redacted]") {
			t.Fatalf("secret %q in %s", secret, b)
		}
	})
}

func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, stringsOf(x)...)
		}
		return out
	case map[string]any:
		var out []string
		for k, x := range v {
			out = append(append(out, k), stringsOf(x)...)
		}
		return out
	}
	return nil
}
