package wire

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/model"
)

// TestNamesAndIDsFit wants names and ids that every provider takes, the same for the same
// text, and those that fit left alone.
func TestNamesAndIDsFit(t *testing.T) {
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	id := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	short := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z_.:<|>/ -]{0,80}`), rapid.StringMatching(`[a-zA-Z0-9]{9}`)).Draw(t, "s")
		got := ToolName(s)
		switch {
		case !name.MatchString(got):
			t.Fatalf("ToolName(%q) = %q", s, got)
		case name.MatchString(s) && got != s, ToolName(got) != got:
			t.Fatalf("ToolName(%q) = %q, which changes a name that fits", s, got)
		}
		if got := CallID(s, 40); !id.MatchString(got) || id.MatchString(s) && got != s {
			t.Fatalf("CallID(%q) = %q", s, got)
		}
		if got := ShortCallID(s); !short.MatchString(got) || short.MatchString(s) && got != s {
			t.Fatalf("ShortCallID(%q) = %q", s, got)
		}
		other := rapid.String().Draw(t, "other")
		if s != other && (ShortCallID(s) == ShortCallID(other) || CallID(s, 40) == CallID(other, 40)) {
			t.Fatalf("%q and %q have one id", s, other)
		}
	})
}

func TestOffered(t *testing.T) {
	tools := []model.Tool{{Name: "read_file"}, {Name: "a.b"}}
	for name, want := range map[string]string{"read_file": "read_file", "functions.read_file": "read_file",
		"read_file<|channel|>commentary": "read_file", "read_file</arg_value>": "read_file", " read_file\n": "read_file",
		"default_api:read_file": "read_file", "a.b": "a.b", "functions.a.b": "a.b", "": "", "read": "", "read_file2": "",
		"<|channel|>read_file": "", "assistant<|channel|>analysis": ""} {
		got := ""
		if tool := Offered(name, tools); tool != nil {
			got = tool.Name
		}
		if got != want {
			t.Errorf("Offered(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestWordsTellTheKind holds the sentences against what they must not be taken for.
func TestWordsTellTheKind(t *testing.T) {
	for _, tt := range []struct {
		words  string
		status int
		want   model.ErrorKind
	}{
		{"prompt token count of 74490 exceeds the limit of 72000", 400, model.Context},
		{"Prompt 超长", 400, model.Context},
		{"max_tokens: 250000 > 128000, which is the maximum allowed number of output tokens", 400, model.BadCall},
		{"Too many tokens, please wait before trying again.", 429, model.RateLimit},
		{"Rate limit reached: the context window of 5000 is exceeded per minute", 400, model.BadCall},
		{"The model `context-large` does not exist", 404, model.BadCall},
		{"tools[0].description is too long, the maximum is 1024", 400, model.BadCall},
		{"Insufficient Balance", 403, model.Quota},
		{"the balance of the tree is insufficient", 400, model.BadCall},
		{"", 413, model.Context},
		{"the file is too large", 413, model.BadCall},
	} {
		if got := kind(&Failure{Message: tt.words}, tt.status); got != tt.want {
			t.Errorf("%q under %d is %s, want %s", tt.words, tt.status, got, tt.want)
		}
	}
}
