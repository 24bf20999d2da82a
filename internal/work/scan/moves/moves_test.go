package moves

import (
	"fmt"
	"strings"
	"testing"

	"kerf/internal/text/delta"
)

// TestMovesIntoThePlacesOfOthers are found by their content, also one after the other.
func TestMovesIntoThePlacesOfOthers(t *testing.T) {
	file := func(text string) *delta.Image {
		if text == "" {
			return nil
		}
		return delta.NewFile([]byte(text), 0o644)
	}
	for changes, want := range map[string]string{
		"a:1>2 b:2>":               "a<b b>a",
		"a:1>2 b:2>3 c:3> n:>1":    "a<b b<c c>b n<a",
		"a:1>2 b:2> n:>2":          "b>n n<b",
		"a:1>2 b:2>3":              "",
		"a:1>1 b:1>":               "",
		"a:1> x/b:>1 x/a:>1 b:1>2": "a>x/a x/a<a",
	} {
		var set delta.Set
		for c := range strings.FieldsSeq(changes) {
			path, images, _ := strings.Cut(c, ":")
			pre, post, _ := strings.Cut(images, ">")
			set = append(set, delta.Change{Path: path, Pre: file(pre), Post: file(post)})
		}
		Mark(set)
		var got []string
		for _, c := range set {
			if c.From != "" {
				got = append(got, fmt.Sprintf("%s<%s", c.Path, c.From))
			}
			if c.To != "" {
				got = append(got, fmt.Sprintf("%s>%s", c.Path, c.To))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, not %s", changes, s, want)
		}
	}
}
