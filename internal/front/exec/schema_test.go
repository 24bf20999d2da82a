package exec

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
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
	others := []string{"web_search", "reasoning", "collab_tool_call", "review"} // see the next test
	for _, s := range slices.Concat(Schema().OneOf, Schema().Defs["item"].OneOf) {
		if !kinds[s.Title] && !slices.Contains(others, s.Title) {
			t.Errorf("no golden line is a %s", s.Title)
		}
	}
}

// TestEveryItemIsInTheSchema prints an item of each kind that there is.
func TestEveryItemIsInTheSchema(t *testing.T) {
	r := closed(t)
	kinds := wire.Schema()["$defs"].(map[string]any)["body"].(map[string]any)["oneOf"].([]any)
	n := 0
	for _, kind := range kinds {
		name := strings.TrimPrefix(kind.(map[string]any)["$ref"].(string), "#/$defs/body_")
		for _, members := range []string{"", `,"agents":[{"id":"a","state":"running"}],"findings":[{"title":"x"}],"error":"x"`} {
			var i protocol.Item
			if err := wire.Unmarshal([]byte(`{"type":"`+name+`"`+members+`}`), &i.Body); err != nil {
				t.Fatal(err)
			}
			p := payload(i, "")
			if p == nil {
				continue
			}
			n++
			b, err := json.Marshal(map[string]any{"type": "item.completed", "item": p.named("item_0")})
			if err != nil {
				t.Fatal(err)
			}
			var v map[string]any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatal(err)
			}
			if err := r.Validate(v); err != nil {
				t.Errorf("%s: %v: %s", name, err, b)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d items were printed", n)
	}
}
