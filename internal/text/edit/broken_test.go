package edit_test

import (
	"testing"

	"kerf/internal/text/edit"
)

// TestFilesThatAreNoTextAreEditedWhereTheyMatch: what cannot be read as what it says it
// is keeps every byte outside the quoted passage.
func TestFilesThatAreNoTextAreEditedWhereTheyMatch(t *testing.T) {
	for _, c := range []struct{ name, content, old, new, want string }{
		{"half a pair", "\xff\xfea\x00\x00\xd8b\x00", "a", "cd", "\xff\xfec\x00d\x00\x00\xd8b\x00"},
		{"half a pair, after it", "\xfe\xff\xdc\x00\x00a\x00\n", "a\n", "z\n", "\xfe\xff\xdc\x00\x00z\x00\n"},
		{"odd", "\xff\xfea\x00b\x00c", "b", "x", "\xff\xfea\x00x\x00c"},
		{"between two halves", "\xff\xfe=\xd8a\x00\x00\xde", "a", "", "\xff\xfe=\xd8\x00\xde"},
		{"no UTF-8 after its mark", "\xef\xbb\xbfa\xff b", "b", "c", "\xef\xbb\xbfa\xff c"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "a", "b", "\xff\xfe\x00\x00b\x00\x00\x00"},
		{"8 bit", "caf\xe9 au lait", "au", "sans", "caf\xe9 sans lait"},
		{"NUL", "a\x00b\xffc", "b", "d", "a\x00d\xffc"},
	} {
		got, err := edit.Apply([]byte(c.content), edit.Replacement{Old: c.old, New: c.new})
		if err != nil || string(got.Content) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got.Content, err, c.want)
			continue
		}
		back, err := edit.Apply([]byte(c.content), edit.Replacement{Old: c.old, New: c.new, Normalization: "exact"})
		if err != nil || string(back.Content) != c.want {
			t.Errorf("%s, exact: %q, %v", c.name, back.Content, err)
		}
	}
}
