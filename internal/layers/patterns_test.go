package layers

import (
	"regexp"
	"strings"
	"testing"
)

// atStart is a regular expression that is compiled before main runs: a variable of a package.
var atStart = regexp.MustCompile(`(?m)^(?:var\s+|\t)\w+\s*=\s*regexp\.MustCompile\(`)

// TestPatternsAreCompiledWhenUsed: each start of the program would pay for it; text/pattern does
// not. An indented line of a function that assigns to a local variable uses :=.
func TestPatternsAreCompiledWhenUsed(t *testing.T) {
	for _, f := range sources(t) {
		if strings.Contains(f.path, "/"+testkit+"/") {
			continue
		}
		if m := atStart.Find(f.text); m != nil {
			t.Errorf("%s: %s…: use pattern.Lazy", f.path, strings.TrimSpace(string(m)))
		}
	}
}
