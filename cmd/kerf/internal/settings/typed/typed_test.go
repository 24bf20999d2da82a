package typed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written are the types of a schema without what stands above them.
func written(t *testing.T, schema, language string) string {
	t.Helper()
	text, err := Write([]byte(schema), "Whole", language)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, "\n\n")
	if language == "python" {
		_, text, _ = strings.Cut(text, "\n\n")
	}
	return strings.TrimSpace(text)
}

func TestTypes(t *testing.T) {
	for schema, want := range map[string][2]string{
		`{"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/a.b"}, "type": {"const": "x"}},
			"$defs": {"a.b": {"type": ["null", "string"]}}}`: {
			"export interface Whole {\n  type?: \"x\";\n  b: AB;\n}\n\nexport type AB =\n  | string\n  | null;",
			"class Whole(TypedDict):\n    type: NotRequired[Literal[\"x\"]]\n    b: \"AB\"\n\nAB: TypeAlias = \"Union[str, None]\""},
		`{"type": "object", "properties": {"from": {"enum": [true, "\"", 1]}}}`: {
			"export interface Whole {\n  \"from\"?: true | \"\\\"\" | 1;\n}",
			"Whole = TypedDict(\"Whole\", {\n    \"from\": NotRequired[Literal[True, \"\\\"\", 1]],\n})"},
		`{"type": "array", "items": {"oneOf": [{"type": "integer"}, {"type": "array", "prefixItems": [true, {"type": "number"}]}]}}`: {
			"export type Whole = (number | [unknown, number])[];",
			"Whole: TypeAlias = \"list[Union[int, tuple[Any, float]]]\""},
		// Objects that say the same are one, others of the name have that of their place.
		`{"type": "object", "properties": {"p": {"$ref": "#/$defs/p"}, "q": {"$ref": "#/$defs/q"}, "r": {"$ref": "#/$defs/r"}},
			"$defs": {"p": {"type": "object", "properties": {"x": {"type": "object", "properties": {"a": {"type": "string"}}}}},
			"q": {"type": "object", "properties": {"x": {"type": "object", "properties": {"a": {"type": "string"}}}}},
			"r": {"type": "object", "properties": {"x": {"type": "object", "properties": {"a": {"type": "boolean"}}}}}}}`: {
			"export interface Whole {\n  p?: P;\n  q?: Q;\n  r?: R;\n}\n\nexport interface P {\n  x?: X;\n}\n\nexport interface X {\n  a?: string;\n}\n\n" +
				"export interface Q {\n  x?: X;\n}\n\nexport interface R {\n  x?: RX;\n}\n\nexport interface RX {\n  a?: boolean;\n}", ""},
		// What a schema says cannot leave the comment that it is put in.
		`{"description": "a */ b\nc \"\"\" \\ d", "type": "object", "properties": {}}`: {
			"/** a * / b c \"\"\" \\ d */\nexport interface Whole {\n}",
			"class Whole(TypedDict):\n    \"\"\"a */ b c ''' \\\\ d\"\"\""},
	} {
		for i, language := range []string{"typescript", "python"} {
			if want[i] == "" {
				continue
			}
			if d := cmp.Diff(want[i], written(t, schema, language)); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", language, schema, d)
			}
		}
	}
}

func TestWhatHasNoTypesIsAnError(t *testing.T) {
	for _, schema := range []string{`7`, `{"$ref": "#/$defs/nosuch"}`, `{"$ref": "elsewhere.json"}`, `{"type": "strange"}`} {
		if text, err := Write([]byte(schema), "Whole", "python"); err == nil {
			t.Errorf("%s is %s", schema, text)
		}
	}
	if _, err := Write([]byte(`{}`), "Whole", "cobol"); err == nil {
		t.Error("there are types of cobol")
	}
}
