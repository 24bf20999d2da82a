package settle

import (
	"errors"
	"testing"

	"kerf/internal/text/delta"
)

// TestWhatIsNoTextIsSettledAsAWhole: a content in which lines cannot be told apart stays, or goes, as it is.
func TestWhatIsNoTextIsSettledAsAWhole(t *testing.T) {
	image := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	for name, c := range map[string]struct{ pre, now, post, ours, theirs string }{
		"text":    {"a\n", "mine\n", "b\n", "mine\n", "b\n"},
		"no text": {"\x00a", "\x00mine", "\x00b", "\x00mine", "\x00b"},
	} {
		change := delta.Change{Path: "/w/a", Pre: image(c.pre), Post: image(c.post)}
		now := image(c.now)
		_, err := delta.Rebase(change, now)
		var conflict *delta.ConflictError
		if !errors.As(err, &conflict) {
			t.Fatalf("%s: %v", name, err)
		}
		for way, want := range map[Way]string{Ours: c.ours, Theirs: c.theirs} {
			got, note, ok := Conflict(way, change, now, conflict, "before the change")
			if !ok || note == "" || string(got.Data) != want {
				t.Errorf("%s, %s: %v, %v, %q", name, way, got, ok, note)
			}
		}
		if _, _, ok := Conflict(Merge, change, now, conflict, ""); ok != (name == "text") {
			t.Errorf("%s: merged %v", name, ok)
		}
		for _, way := range []Way{"", Skip} {
			if _, _, ok := Conflict(way, change, now, conflict, ""); ok {
				t.Errorf("%s: settled by %q", name, way)
			}
		}
	}
}
