package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// A text that a server cuts between any two bytes, or between any two units of UTF-16, comes
// out as it was.
func TestHalvesAreJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aä世🎉\"\\\n\u0000\ufffd𝄞"))).Draw(t, "text")
		var pieces []string
		if rapid.Bool().Draw(t, "by units") {
			for units := utf16.Encode([]rune(text)); len(units) > 0; {
				n := rapid.IntRange(1, len(units)).Draw(t, "n")
				var b strings.Builder
				for _, u := range units[:n] {
					b.WriteString(`\u` + string("0123456789abcdef"[u>>12]) + string("0123456789abcdef"[u>>8&15]) +
						string("0123456789abcdef"[u>>4&15]) + string("0123456789abcdef"[u&15]))
				}
				pieces, units = append(pieces, `"`+b.String()+`"`), units[n:]
			}
		} else {
			for rest := text; rest != ""; {
				n := rapid.IntRange(1, len(rest)).Draw(t, "n")
				quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\x00", `\u0000`).Replace(rest[:n])
				pieces, rest = append(pieces, `"`+quoted+`"`), rest[n:]
			}
		}
		var got strings.Builder
		var h Halves
		for _, p := range pieces {
			var v struct{ P Piece }
			if err := json.Unmarshal([]byte(`{"P":`+p+`}`), &v); err != nil {
				t.Fatal(err)
			}
			got.WriteString(h.Join(string(v.P)))
		}
		got.WriteString(h.Rest())
		if got.String() != text {
			t.Errorf("got %q, want %q, from %q", got.String(), text, pieces)
		}
	})
}

// What is no text in the end becomes the sign for that, and nothing is kept for ever.
func TestHalvesThatStayAlone(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`"a\ud83c"`, "a\ufffd"}, {`"\udf89b"`, "\ufffdb"}, {`"\ud83c\ud83c\udf89"`, "\ufffd🎉"}, {"\"\xc3\"", "\ufffd"},
		{"\"\xff\xfea\"", "\ufffda"}, {`"\u00e4\ud83cx"`, "ä\ufffdx"}, {`7`, ""}, {`null`, ""}, {`{"a":1}`, ""}, {"\"\xf0\x9fx\"", "\ufffdx"},
	} {
		var p Piece
		if err := json.Unmarshal([]byte(c.raw), &p); err != nil {
			t.Fatal(err)
		}
		var h Halves
		if got := h.Join(string(p)) + h.Rest(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestDecodeLeavesOutOtherTypes(t *testing.T) {
	var v struct {
		A string
		B []int
		C Index
		D struct{ E int }
		F string
	}
	err := Decode([]byte(`{"A":5,"B":{},"C":"3","D":{"E":"x"},"F":"f"}`), &v)
	if err != nil || v.A != "" || v.B != nil || v.C != (Index{3, true}) || v.D.E != 0 || v.F != "f" {
		t.Errorf("%+v, %v", v, err)
	}
	if Decode([]byte(`{"A":`), &v) == nil {
		t.Error("half an object is read")
	}
}
