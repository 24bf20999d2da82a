package keymap

import (
	"strings"
	"testing"
)

func TestKeysThatCannotBeSet(t *testing.T) {
	for _, x := range []struct {
		set  map[string][]string
		want string
	}{
		{map[string][]string{"queu": {"ctrl+q"}}, `there is no action "queu"; there are send, queue,`},
		{map[string][]string{"queue": {"q"}}, `queue: "q" types text; use it with ctrl+ or alt+`},
		{map[string][]string{"queue": {"super+q"}}, `queue: "super+q": use ctrl+, alt+ or shift+ before a key`},
		{map[string][]string{"queue": {"ctrl+fnord"}}, `queue: there is no key "ctrl+fnord"`},
		{map[string][]string{"queue": {"ctrl+c"}}, `queue: ctrl+c always clears, interrupts and leaves`},
		{map[string][]string{"queue": {"f9"}, "editor": {"F9"}}, `editor: f9 is the key of queue already`},
	} {
		if _, err := New(x.set); err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v: %v, want %q", x.set, err, x.want)
		}
	}
	if _, err := New(map[string][]string{"queue": {"ctrl+t"}, "transcript": {"tab"}}); err != nil {
		t.Errorf("keys that are swapped: %v", err)
	}
}

// TestTable holds that the table names keys that there are, and each only once.
func TestTable(t *testing.T) {
	seen := map[string]string{}
	for _, a := range Actions() {
		for _, key := range a.Keys {
			if seen[key] != "" {
				t.Errorf("%s is a key of %s and %s", key, seen[key], a.Name)
			}
			seen[key] = a.Name
			if _, err := parseKey(key); err != nil {
				t.Errorf("%s: %v", a.Name, err)
			}
		}
	}
}
