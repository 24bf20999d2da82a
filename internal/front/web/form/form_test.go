package form_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"kerf/internal/front/web/form"
)

const everything = `{"type":"object","required":["age","colour","name","sure"],"properties":{
"name":{"type":"string","title":"Your name","minLength":2,"maxLength":5},
"age":{"type":"integer","minimum":0,"maximum":150},
"score":{"type":"number","minimum":-1.5},
"mail":{"type":"string","format":"email"},"page":{"type":"string","format":"uri"},
"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
"code":{"type":"string","pattern":"^[a-z]+$"},
"sure":{"type":"boolean"},
"colour":{"type":"string","enum":["red","green"],"enumNames":["Red","Green"]},
"size":{"type":"string","oneOf":[{"const":"s","title":"small"},{"const":"l","title":"large"}],"default":"l"},
"many":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}},
"any":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]}}}`

// answers are values by the names of fields; choices are given by their values.
func answers(t testing.TB, f *form.Form, given map[string]string) url.Values {
	t.Helper()
	out := url.Values{}
	for name, text := range given {
		at := -1
		for i, field := range f.Fields {
			if field.Name == name {
				at = i
			}
		}
		if at < 0 {
			t.Fatalf("there is no field %s", name)
		}
		field := f.Fields[at]
		for value := range strings.SplitSeq(text, "|") {
			for i, c := range field.Choices {
				if c.Value == value {
					value = fmt.Sprint(i)
					break
				}
			}
			out.Add(form.Key(at), value)
		}
	}
	return out
}

func TestReadWhatFits(t *testing.T) {
	f, err := form.Parse(json.RawMessage(everything))
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]string{"name": "Ann", "age": "7", "colour": "green", "sure": "false"}
	for _, test := range []struct {
		more map[string]string
		want string // the content, or what is wrong
	}{
		{nil, `{"age":7,"any":[],"colour":"green","name":"Ann","sure":false}`},
		{map[string]string{"score": "-1.5", "mail": "a@b.c", "page": "https://x.y/?z", "day": "2026-02-28",
			"at": "2026-02-28T10:00:00+01:00", "code": "abc", "size": "s", "many": "c|a", "any": "x"},
			`{"age":7,"any":["x"],"at":"2026-02-28T10:00:00+01:00","code":"abc","colour":"green","day":"2026-02-28",` +
				`"mail":"a@b.c","many":["c","a"],"name":"Ann","page":"https://x.y/?z","score":-1.5,"size":"s","sure":false}`},
		{map[string]string{"name": ""}, "name: fill this in"},
		{map[string]string{"name": "A"}, "name: give 2 to 5 characters; these are 1"},
		{map[string]string{"name": "Ännchen"}, "name: give 2 to 5 characters; these are 7"},
		{map[string]string{"name": "Änni👍"}, `"name":"Änni👍"`},
		{map[string]string{"age": "-1"}, "age: give a whole number, 0 to 150"},
		{map[string]string{"age": "151"}, "age: give a whole number, 0 to 150"},
		{map[string]string{"age": "7.0"}, "age: give a whole number"},
		{map[string]string{"age": "1e1"}, "age: give a whole number"},
		{map[string]string{"score": "NaN"}, "score: give a number such as 12.5"},
		{map[string]string{"score": "0x10"}, "score: give a number such as 12.5"},
		{map[string]string{"score": "1e999"}, "score: give a number such as 12.5"},
		{map[string]string{"score": "-2"}, "score: give a number, at least -1.5"},
		{map[string]string{"mail": "Ann <a@b.c>"}, "mail: give an email address"},
		{map[string]string{"page": "x.y"}, "page: give an address"},
		{map[string]string{"day": "2026-02-30"}, "day: give a date"},
		{map[string]string{"at": "2026-02-28 10:00"}, "at: give a time"},
		{map[string]string{"code": "ABC"}, "this does not fit what the server asked for"},
		{map[string]string{"colour": "7"}, "colour: choose one of the values that the form offers"},
		{map[string]string{"colour": "Red"}, "colour: choose one of the values that the form offers"},
		{map[string]string{"sure": ""}, "sure: fill this in"},
		{map[string]string{"many": "a|b|c"}, "many: choose 1 to 2 of them"},
		{map[string]string{"name": "", "age": "x"}, "age: give a whole number\nname: fill this in"},
	} {
		given := map[string]string{}
		for _, m := range []map[string]string{least, test.more} {
			for k, v := range m {
				given[k] = v
			}
		}
		content, err := f.Read(answers(t, f, given))
		got := string(content)
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (strings.HasPrefix(test.want, "{") || !strings.Contains(got, test.want)) {
			t.Errorf("%v:\n got %s\nwant %s", test.more, got, test.want)
		}
	}
	if _, err := f.Read(url.Values{form.Key(0): {"1", "2"}}); err == nil {
		t.Error("two values for one field are taken")
	}
}

func TestFormsThatAreNotSimple(t *testing.T) {
	for _, schema := range []string{`{"type":"object","properties":{"a":{"type":"object"}}}`, `[]`, `{"type":"string"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"}}}}`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","properties":{"a":{}}}`,
		`{"type":"object","properties":{"a":{"type":"number","enum":[1,2]}}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		`{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["` + strings.Repeat(`x","`, 300) + `"]}}}`, `{`} {
		if f, err := form.Parse(json.RawMessage(schema)); err == nil {
			t.Errorf("%.80s is a form of %d fields", schema, len(f.Fields))
		}
	}
	f, err := form.Parse(json.RawMessage(`{"type":"object","properties":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	content, err := f.Read(nil)
	if diff := cmp.Diff("{}", string(content)); diff != "" || err != nil {
		t.Errorf("a form without fields: %s %v", diff, err)
	}
}

// TestWhatIsReadFitsTheSchema types anything into the fields of a form: what is taken is what
// the schema allows.
func TestWhatIsReadFitsTheSchema(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(everything), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := form.Parse(json.RawMessage(everything))
	if err != nil {
		t.Fatal(err)
	}
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "0", "1", "-1", "2026-02-28", "a@b.c", "abc", "12"}), rapid.String())
	values := func(field form.Field) *rapid.Generator[[]string] {
		fits := map[string]string{"name": "abc", "age": "12", "colour": "1", "sure": "0"}[field.Name]
		empty := rapid.Just(strings.Fields(fits))
		return rapid.OneOf(empty, empty, empty, empty, empty, rapid.SliceOfN(text, 0, 2))
	}
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		given := url.Values{}
		for i := range f.Fields {
			given[form.Key(i)] = values(f.Fields[i]).Draw(t, f.Fields[i].Name)
		}
		content, err := f.Read(given)
		if err != nil {
			return
		}
		taken++
		var v map[string]any
		if err := json.Unmarshal(content, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Fatalf("%v gives %s: %v", given, content, err)
		}
	})
	if taken == 0 {
		t.Error("no form was taken")
	}
}
