package settle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/text/merge"
	"kerf/internal/work/store"
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

// settled is what way makes of a change from pre to post where now is.
func settled(t *testing.T, way Way, pre, now, post *delta.Image) (*delta.Image, string) {
	t.Helper()
	change := delta.Change{Path: "/w/a", Pre: pre, Post: post}
	_, err := delta.Rebase(change, now)
	var conflict *delta.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	got, note, ok := Conflict(way, change, now, conflict, "before the change")
	if !ok {
		t.Fatalf("%s leads to nothing", way)
	}
	return got, note
}

// TestNotesCountThePlaces: lines that are not in conflict change in any case.
func TestNotesCountThePlaces(t *testing.T) {
	image := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	one := [3]string{"a\nb\nc\nd\ne\n", "a\nmine\nc\nd\ne\n", "a\nB\nc\nd\nE\n"}
	two := [3]string{"a\nb\nc\nd\ne\n", "mine\nb\nc\nd\nmine\n", "A\nb\nc\nd\nE\n"}
	for _, c := range []struct {
		way         Way
		texts       [3]string
		want, notes string
	}{
		{Ours, one, "a\nmine\nc\nd\nE\n", "1 place that was changed since stays as it is"},
		{Theirs, one, "a\nB\nc\nd\nE\n", "1 place that was changed since is as it was before the change"},
		{Merge, one, "a\n<<<<<<< now\nmine\n=======\nB\n>>>>>>> before the change\nc\nd\nE\n",
			"1 place that was changed since has markers: edit it"},
		{Ours, two, "mine\nb\nc\nd\nmine\n", "2 places that were changed since stay as they are"},
		{Theirs, two, "A\nb\nc\nd\nE\n", "2 places that were changed since are as they were before the change"},
		{Merge, two, "<<<<<<< now\nmine\n=======\nA\n>>>>>>> before the change\nb\nc\nd\n" +
			"<<<<<<< now\nmine\n=======\nE\n>>>>>>> before the change\n",
			"2 places that were changed since have markers: edit them"},
	} {
		got, note := settled(t, c.way, image(c.texts[0]), image(c.texts[1]), image(c.texts[2]))
		if string(got.Data) != c.want || note != c.notes {
			t.Errorf("%s: %q, %q, want %q, %q", c.way, got.Data, note, c.want, c.notes)
		}
	}
}

// TestAModeThatWasChangedSinceStays: any other becomes what the change leads to, and so does one that both changed.
func TestAModeThatWasChangedSinceStays(t *testing.T) {
	for _, c := range [][4]uint32{
		{0o644, 0o644, 0o755, 0o755}, {0o644, 0o600, 0o644, 0o600}, {0o644, 0o600, 0o755, 0o755},
	} {
		got, _ := settled(t, Theirs, delta.NewFile([]byte("a\n"), c[0]), delta.NewFile([]byte("mine\n"), c[1]),
			delta.NewFile([]byte("b\n"), c[2]))
		if got.Mode != c[3] {
			t.Errorf("%o: %o", c, got.Mode)
		}
	}
}

// TestReasons: each says what stands in the way.
func TestReasons(t *testing.T) {
	file := delta.NewFile([]byte("a\n"), 0o644)
	link := &delta.Image{Version: delta.Version{Kind: delta.Symlink}}
	line := []merge.Conflict{{OursLines: merge.Range{Start: 7}}, {OursLines: merge.Range{Start: 9}}}
	for _, c := range []struct{ got, want string }{
		{Note(&delta.ConflictError{Conflicts: line}, nil, nil), "line 7 was changed since"},
		{Note(&delta.ConflictError{Conflicts: line[1:]}, nil, nil), "line 9 was changed since"},
		{Note(&delta.ConflictError{Base: file}, nil, file), "it is gone"},
		{Note(&delta.ConflictError{Base: file}, file, nil), "it was changed since, and undo would delete these changes"},
		{Note(&delta.ConflictError{}, file, file), "something else is there now"},
		{Note(&delta.ConflictError{Base: file}, file, file), "it was changed since in a way that cannot be merged"},
		{Gone(nil), "it is gone"}, {Gone(file), "something else is there now"},
		{Lost(fmt.Errorf("x: %w", store.ErrDamaged)), "its earlier content is damaged in the store"},
		{Lost(store.ErrNotFound), "its earlier content was not kept"},
		{KindOf(file), "a file"}, {KindOf(link), "a link"},
		{Few(nil), ""}, {Few([]string{"a"}), "a"}, {Few(strings.Split("abcde", "")), "a, b, c, d, e"},
		{Few(strings.Split("abcdef", "")), "a, b, c, d, e, 1 more"},
		{Few(strings.Split("abcdefg", "")), "a, b, c, d, e, 2 more"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	names := strings.Split("abcdef", "")
	if Few(names); names[5] != "f" {
		t.Errorf("the names of the caller are %q", names)
	}
}

// TestWhatIsGoneIsSettledAsAWhole: there are no lines to compare where one of the three is not there.
func TestWhatIsGoneIsSettledAsAWhole(t *testing.T) {
	image := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	a, b, mine := image("a\n"), image("b\n"), image("mine\n")
	for name, c := range map[string]struct{ pre, now, post *delta.Image }{
		"gone since": {a, nil, b}, "made": {nil, mine, b}, "would go": {a, mine, nil},
	} {
		for way, want := range map[Way]*delta.Image{Ours: c.now, Theirs: c.post} {
			if got, note := settled(t, way, c.pre, c.now, c.post); got != want || note == "" {
				t.Errorf("%s, %s: %v, %q", name, way, got, note)
			}
		}
		change := delta.Change{Path: "/w/a", Pre: c.pre, Post: c.post}
		if got, _, ok := Conflict(Merge, change, c.now, &delta.ConflictError{}, ""); ok {
			t.Errorf("%s: merged to %v", name, got)
		}
	}
}
