package pathname

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

func FuzzPathSurvivesJSON(f *testing.F) {
	f.Add("/a/b")
	f.Add("\xff\x00\"")
	f.Add("\ufffd<")
	f.Add("a\\b\t\u2028\x7f&")
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(Path(s))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := json.Marshal(s); err != nil || utf8.ValidString(s) && string(b) != string(plain) {
			t.Fatalf("%q is %s, and as a string %s (%v)", s, b, plain, err)
		}
		var p Path
		if err := json.Unmarshal(b, &p); err != nil || string(p) != s {
			t.Fatalf("%q became %q (%v)", s, p, err)
		}
	})
}

func TestBothFormsFitTheSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(Schema), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Path{"/a", "/\xff"} {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
	if r.Validate(7.0) == nil {
		t.Error("a number passes for a path")
	}
}
