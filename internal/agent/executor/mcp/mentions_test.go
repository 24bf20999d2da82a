package mcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMentions(t *testing.T) {
	servers := []string{"docs", "data-base"}
	for text, want := range map[string][]Mention{
		"":                              nil,
		"see @docs:file:///a/b.md.":     {{"docs", "file:///a/b.md"}},
		"@data-base:pg://t?x=1, please": {{"data-base", "pg://t?x=1"}},
		"(as in @docs:a, @docs:b)":      {{"docs", "a"}, {"docs", "b)"}},
		"(@docs:a)":                     {{"docs", "a"}},
		"`@docs:a` and \"@docs:a\"":     {{"docs", "a"}},
		"mail me@docs:a":                nil, // an address
		"@other:a @src/main.go @docs":   nil,
		"@docs: a":                      nil,
		"first\n@docs:x\n@docs:y!":      {{"docs", "x"}, {"docs", "y"}},
		"@docs:ü/é":                     {{"docs", "ü/é"}},
	} {
		if d := cmp.Diff(want, Mentions(text, servers)); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
	}
}
