package exec

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// closed is the schema without room for fields that it does not name, so that
// tests see what it lacks.
func closed(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	s := Schema()
	shut(s)
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func shut(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	shut(s.Items)
	for _, list := range [][]*jsonschema.Schema{s.OneOf, slices.Collect(maps.Values(s.Properties)),
		slices.Collect(maps.Values(s.Defs))} {
		for _, sub := range list {
			shut(sub)
		}
	}
}

// printed are the lines of the golden files.
func printed(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"hello", "hostile", "plan", "retry", "work"} {
		b, err := os.ReadFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "-- json/stdout --\n")
		text, _, found := strings.Cut(rest, "-- json/stderr --\n")
		if !found {
			t.Fatalf("%s has no lines", name)
		}
		all = append(all, strings.Split(strings.TrimSpace(text), "\n")...)
	}
	return all
}

func TestLinesObeyTheSchema(t *testing.T) {
	r := closed(t)
	kinds := map[string]bool{}
	for _, line := range printed(t) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		kinds[v["type"].(string)] = true
		if item, ok := v["item"].(map[string]any); ok {
			kinds[item["type"].(string)] = true
		}
		for key := range v {
			less := maps.Clone(v)
			delete(less, key)
			if r.Validate(less) == nil && key != "undo" { // told when something changed
				t.Errorf("a line without %s obeys the schema: %s", key, line)
			}
			less["later"] = 1
			if r.Validate(less) == nil {
				t.Errorf("a line with another field for %s obeys the closed schema: %s", key, line)
			}
		}
	}
	for _, s := range slices.Concat(Schema().OneOf, Schema().Defs["item"].OneOf) {
		if !kinds[s.Title] && s.Title != "web_search" && s.Title != "reasoning" {
			t.Errorf("no golden line is a %s", s.Title)
		}
	}
}
