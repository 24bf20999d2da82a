package commands

import (
	"slices"
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
	for _, x := range Choices() {
		if !seen[x.Text] || x.Group == "" {
			t.Errorf("/%s is in the group %q twice, or is no command", x.Text, x.Group)
		}
		delete(seen, x.Text)
	}
	for name := range seen {
		t.Errorf("/%s is in no group", name)
	}
	if !slices.ContainsFunc(table(), func(x command) bool { return x.name == NeedsWords }) {
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
