package protocol

import "testing"

func TestExpand(t *testing.T) {
	for _, x := range []struct{ body, words, want string }{
		{"Ship $1 to $2: $ARGUMENTS", "v1 prod", "Ship v1 to prod: v1 prod"},
		{"Ship $1$2", "v1", "Ship v1"},
		{"Ship it.", "now", "Ship it.\n\nnow"},
		{"Ship it.", "", "Ship it."},
		{"$1", "$2 x", "$2"}, // words are not expanded again
		{"Ship $FILE to $1", `FILE="a b" c`, "Ship a b to FILE=a b"},
		{"$1|$2|$3", `"a b" 'c' d'e`, "a b|c|d'e"},
		{"$A", "ARGUMENTS=x a=b", "$A\n\nARGUMENTS=x a=b"},
	} {
		if got := (Prompt{Body: x.body}).Expand(x.words); got != x.want {
			t.Errorf("%q with %q: %q, want %q", x.body, x.words, got, x.want)
		}
	}
}
