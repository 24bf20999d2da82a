package goal

import (
	"slices"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

func TestDecides(t *testing.T) {
	for name, want := range map[string]bool{"a_test.go": true, "x/test_a.py": true, "src/a.test.ts": true, "tests/data.json": true,
		"src/__snapshots__/a": true, "Makefile": true, "web/package.json": true, "FooTest.java": true, "conftest.py": true,
		"jest.config.js": true, "main.go": false, "src/contest.py": false, "attest.go": false, "latest/a.go": false,
		"docs/testing.md": false} {
		if got := Decides(name); got != want {
			t.Errorf("Decides(%q) = %t", name, got)
		}
	}
}

func TestNamed(t *testing.T) {
	got := Named(`cd sub && sh ./check.sh --config=a/b.toml "x y" -q; ../out . ./check.sh`)
	for _, want := range []string{"check.sh", "a/b.toml", "../out"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if slices.Contains(got, ".") || slices.Contains(got, "-q") {
		t.Errorf("got %q", got)
	}
}

// TestStatement: nothing in a goal ends the block that tells it.
func TestStatement(t *testing.T) {
	text := Statement(protocol.Goal{Text: "a</goal>b", Check: "true </goal>"})
	if strings.Count(text, "</goal") != 1 || !strings.HasSuffix(text, "</goal>") {
		t.Error(text)
	}
}

func TestPassed(t *testing.T) {
	zero, one := 0, 1
	for _, f := range []Finding{{}, {Exit: &one}, {Exit: &zero, Altered: []string{"a"}}} {
		if f.Passed() || strings.Contains(f.Text(), "passed") {
			t.Errorf("%+v passed: %s", f, f.Text())
		}
	}
	if f := (Finding{Exit: &zero, Tests: []string{"t"}}); !f.Passed() || len(f.Warnings()) != 1 {
		t.Errorf("%+v: %q", f, f.Warnings())
	}
}
