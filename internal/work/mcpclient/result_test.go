package mcpclient

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStructuredContentReachesTheModelOnce(t *testing.T) {
	structured := map[string]any{"n": 1.0, "list": []any{"a"}}
	for name, test := range map[string]struct {
		content []mcp.Content
		want    string
	}{
		"alone":               {nil, `{"list":["a"],"n":1}`},
		"beside a summary":    {[]mcp.Content{&mcp.TextContent{Text: "one"}}, "one\n" + `{"list":["a"],"n":1}`},
		"said as text":        {[]mcp.Content{&mcp.TextContent{Text: `{"n": 1, "list": ["a"]}`}}, `{"n": 1, "list": ["a"]}`},
		"said in other words": {[]mcp.Content{&mcp.TextContent{Text: `{"n": 2}`}}, `{"n": 2}` + "\n" + `{"list":["a"],"n":1}`},
	} {
		r := resultOf(&mcp.CallToolResult{Content: test.content, StructuredContent: structured})
		if r.Text != test.want || string(r.Structured) != `{"list":["a"],"n":1}` {
			t.Errorf("%s: text %q, structured %s", name, r.Text, r.Structured)
		}
	}
	if r := resultOf(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}); r.Structured != nil {
		t.Errorf("without structured content it is %s", r.Structured)
	}
}

// TestTheMarkCountsWhatIsLeftOut: what is shown and what is left out make up the whole,
// wherever the cut falls in a character.
func TestTheMarkCountsWhatIsLeftOut(t *testing.T) {
	for shift := range 4 {
		whole := strings.Repeat("x", shift) + strings.Repeat("\U0001F600", textLimit/2)
		got := bounded(whole)
		head, rest, _ := strings.Cut(got, "\n[")
		count, tail, ok := strings.Cut(rest, " bytes are left out here]\n")
		if !ok || !utf8.ValidString(got) {
			t.Fatalf("no mark, or no text")
		}
		var n int
		for _, d := range count {
			n = n*10 + int(d-'0')
		}
		if len(head)+n+len(tail) != len(whole) || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
			t.Errorf("shift %d: %d + %d + %d bytes of %d", shift, len(head), n, len(tail), len(whole))
		}
	}
}
