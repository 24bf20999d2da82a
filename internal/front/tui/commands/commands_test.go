package commands

import (
	"strings"
	"testing"
)

// TestTable: each command has one place, words for the help, and something to do.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range table() {
		if seen[x.name] || x.help == "" || x.run == nil {
			t.Errorf("/%s: twice %v, help %q, does something %v", x.name, seen[x.name], x.help, x.run != nil)
		}
		seen[x.name] = true
	}
	if !seen[NeedsWords] {
		t.Errorf("/%s is not in the table", NeedsWords)
	}
}

// TestPickers: each row of the table can be shown and chosen from, and names its keys.
func TestPickers(t *testing.T) {
	for name, l := range pickers() {
		if l.title == "" || l.items == nil || l.choose == nil {
			t.Errorf("%s: title %q, items %v, choose %v", name, l.title, l.items != nil, l.choose != nil)
		}
		for key := range l.keys {
			if !strings.Contains(l.foot, key) {
				t.Errorf("%s: the key %s is not in %q", name, key, l.foot)
			}
			if l.filter && !strings.HasPrefix(key, "ctrl+") {
				t.Errorf("%s: the key %s types text into the filter", name, key)
			}
		}
	}
}

func TestExpand(t *testing.T) {
	for _, x := range []struct{ body, words, want string }{
		{"Ship $1 to $2: $ARGUMENTS", "v1 prod", "Ship v1 to prod: v1 prod"},
		{"Ship $1$2", "v1", "Ship v1"},
		{"Ship it.", "now", "Ship it.\n\nnow"},
		{"Ship it.", "", "Ship it."},
		{"$1", "$2 x", "$2"}, // words are not expanded again
	} {
		if got := expand(x.body, x.words); got != x.want {
			t.Errorf("%q with %q: %q, want %q", x.body, x.words, got, x.want)
		}
	}
}
