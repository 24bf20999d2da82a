package known_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
)

func image(text string) *delta.Image {
	if text == "" {
		return nil
	}
	return delta.NewFile([]byte(text), 0o644)
}

func version(text string) *ledger.Version { return ledger.VersionOf(image(text)) }

// words tells a set in a line.
func words(set delta.Set, text map[delta.Version]string) string {
	var b strings.Builder
	for _, c := range set {
		fmt.Fprintf(&b, "%s:%s>%s ", c.Path, text[c.Pre.At()], text[c.Post.At()])
	}
	return b.String()
}

func all(*ledger.Entry) bool { return true }

// TestWhatIsKnownIsNotFoundAgain: Kerf and a command that nobody sees change one file by
// turns, and a look finds what it was and what it is. Together, what is known and what is
// left lead from the one to the other, and what is left has no change that is known whole.
func TestWhatIsKnownIsNotFoundAgain(t *testing.T) {
	texts := map[delta.Version]string{{}: ""}
	for _, s := range []string{"", "a", "b", "c"} {
		texts[image(s).At()] = s
	}
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "before")
		before := now
		var entries []ledger.Entry
		var steps []string
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			next := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "next")
			if next == now {
				continue
			}
			if rapid.Bool().Draw(t, "kerf") {
				entries = append(entries, ledger.Entry{Cause: ledger.CauseTool, Certainty: ledger.Proven,
					Changes: []ledger.Change{{Path: "/w/f", Pre: version(now), Post: version(next)}}})
			}
			steps = append(steps, now+">"+next)
			now = next
		}
		if before == now {
			return
		}
		set := delta.Set{{Path: "/w/f", Pre: image(before), Post: image(now)}}
		left := known.Of(entries, all).Without(set)
		onlyKerf := len(entries) == len(steps)
		switch {
		case onlyKerf && len(left) > 0:
			t.Fatalf("%v: all of it is known, and %s is left", steps, words(left, texts))
		case len(entries) == 0 && !left[0].Pre.Same(set[0].Pre):
			t.Fatalf("%v: nothing is known, and %s is left", steps, words(left, texts))
		case len(left) == 0:
			first, last := entries[0].Changes[0], entries[len(entries)-1].Changes[0]
			if first.Pre.Delta() != image(before).At() || last.Post.Delta() != image(now).At() {
				t.Fatalf("%v: nothing is left", steps)
			}
			return
		}
		for _, c := range left { // it touches the one end or the other
			if !c.Pre.Same(set[0].Pre) && !c.Post.Same(set[0].Post) {
				t.Fatalf("%v: %s is left of %s", steps, words(left, texts), words(set, texts))
			}
		}
	})
}

func TestWhatIsLeftIsBeforeOrAfter(t *testing.T) {
	k := known.Of([]ledger.Entry{{Changes: []ledger.Change{{Path: "/w/f", Pre: version("b"), Post: version("c")}}},
		{Changes: []ledger.Change{{Path: "/w/f", Pre: version("c"), Post: version("d")}}}}, all)
	for _, tt := range []struct{ pre, post, wantPre, wantPost string }{
		{"a", "d", "a", "b"}, {"b", "e", "d", "e"}, {"a", "e", "a", "e"}, {"b", "c", "d", "c"}, {"", "d", "", "b"}, {"b", "", "d", ""},
	} {
		left := k.Without(delta.Set{{Path: "/w/f", Pre: image(tt.pre), Post: image(tt.post)}})
		if len(left) != 1 || !left[0].Pre.Same(image(tt.wantPre)) || !left[0].Post.Same(image(tt.wantPost)) {
			t.Errorf("%s>%s: left %+v, want %s>%s", tt.pre, tt.post, left, tt.wantPre, tt.wantPost)
		}
	}
}

func TestEntriesThatDoNotCountAreNotKnown(t *testing.T) {
	entries := []ledger.Entry{{Seq: 1, Changes: []ledger.Change{{Path: "/w/f", Post: version("a")}}},
		{Seq: 2, Changes: []ledger.Change{{Path: "/w/g", Post: version("a")}}}}
	k := known.Of(entries, func(e *ledger.Entry) bool { return e.Seq == 2 })
	left := k.Without(delta.Set{{Path: "/w/f", Post: image("a")}, {Path: "/w/g", Post: image("a")}})
	if len(left) != 1 || left[0].Path != "/w/f" {
		t.Errorf("left: %+v", left)
	}
}

func TestAHalfOfAMoveStandsAlone(t *testing.T) {
	entries := []ledger.Entry{{Certainty: ledger.Proven, Changes: []ledger.Change{{Path: "/w/b", Post: version("a")}}}}
	set := delta.Set{{Path: "/w/a", Pre: image("a"), To: "/w/b"}, {Path: "/w/b", Post: image("a"), From: "/w/a"}}
	left := known.Of(entries, all).Without(set)
	if len(left) != 1 || left[0].Path != "/w/a" || left[0].To != "" {
		t.Errorf("left: %+v", left)
	}
}

// TestHalvesOfMoves: what is found of a move that nobody entered is a move. Where only
// one half is left it is a change of its own, unless something else came to the first name.
func TestHalvesOfMoves(t *testing.T) {
	gone := delta.Change{Path: "/w/a", Pre: image("a"), To: "/w/b"}
	came := delta.Change{Path: "/w/b", Post: image("a"), From: "/w/a"}
	alone := func(c delta.Change) delta.Change { c.From, c.To = "", ""; return c }
	other := delta.Change{Path: "/w/a", Pre: image("a"), Post: image("b")}
	deleted := delta.Change{Path: "/w/a", Pre: image("a")}
	for _, tt := range []struct {
		name     string
		set      delta.Set
		entered  []string // of which paths entries tell
		wantLeft delta.Set
	}{
		{"both", delta.Set{gone, came}, nil, delta.Set{gone, came}},
		{"it went", delta.Set{gone, came}, []string{"/w/b"}, delta.Set{alone(gone)}},
		{"it came", delta.Set{gone, came}, []string{"/w/a"}, delta.Set{alone(came)}},
		{"another is there", delta.Set{other, came}, nil, delta.Set{other, came}},
		{"it was deleted", delta.Set{deleted, came}, nil, delta.Set{deleted, alone(came)}},
		{"it came from nowhere", delta.Set{came}, nil, delta.Set{alone(came)}},
		{"it went nowhere", delta.Set{gone}, nil, delta.Set{alone(gone)}},
	} {
		var e ledger.Entry
		for _, c := range tt.set {
			if slices.Contains(tt.entered, c.Path) {
				e.Changes = append(e.Changes, ledger.Change{Path: c.Path, Pre: ledger.VersionOf(c.Pre), Post: ledger.VersionOf(c.Post)})
			}
		}
		left := known.Of([]ledger.Entry{e}, all).Without(slices.Clone(tt.set))
		if d := cmp.Diff(tt.wantLeft, left); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

// TestAChainWithAGapIsNotKnown: between two entries somebody else changed the file, so what is
// found is left as it is.
func TestAChainWithAGapIsNotKnown(t *testing.T) {
	entry := func(pre, post string) ledger.Entry {
		return ledger.Entry{Changes: []ledger.Change{{Path: "/w/f", Pre: version(pre), Post: version(post)}}}
	}
	for _, entries := range [][]ledger.Entry{
		{entry("a", "b"), entry("c", "d")},
		{entry("a", "b"), entry("c", "e"), entry("e", "d")},
	} {
		k := known.Of(entries, all)
		c := delta.Change{Path: "/w/f", Pre: image("a"), Post: image("d")}
		if d := cmp.Diff(delta.Set{c}, k.Without(delta.Set{c})); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		if before, left := k.Outside(c); !left || before != nil {
			t.Errorf("outside: %v %v", before, left)
		}
	}
	k := known.Of([]ledger.Entry{entry("a", "b"), entry("b", "d")}, all)
	if before, left := k.Outside(delta.Change{Path: "/w/f", Pre: image("x"), Post: image("d")}); left || !before.Same(image("a")) {
		t.Errorf("outside: %v %v", before, left)
	}
}

// TestDirectoriesAreToldOnce: a look found the directories that a command, which ran on, was
// proven to have made, removed and changed. The entry of the look keeps the others.
func TestDirectoriesAreToldOnce(t *testing.T) {
	dirs := func(seq, of int64, certainty, more string) ledger.Entry {
		e := ledger.Entry{Seq: seq, Of: of, Cause: ledger.CauseCommand, Certainty: certainty, Dirs: []ledger.Path{"made"},
			Gone: []ledger.Dir{{Path: "gone"}}, Modes: []ledger.DirMode{{Path: "mode"}}}
		if more != "" {
			e.Dirs = append(e.Dirs, ledger.Path(more))
		}
		return e
	}
	began := ledger.Entry{Seq: 1, Cause: ledger.CauseBegan, Certainty: ledger.Proven}
	look := dirs(2, 0, ledger.Unproven, "other")
	got := known.Settled([]ledger.Entry{began, look, dirs(3, 1, ledger.Proven, "")})
	if len(got) != 3 || !slices.Equal(got[1].Dirs, []ledger.Path{"other"}) || len(got[1].Gone)+len(got[1].Modes) > 0 {
		t.Errorf("left: %+v", got)
	}
	if got = known.Settled([]ledger.Entry{began, dirs(2, 0, ledger.Unproven, ""), dirs(3, 1, ledger.Proven, "")}); len(got) != 2 {
		t.Errorf("all of it is told, and left are %+v", got)
	}
	if len(look.Dirs) != 2 || look.Dirs[0] != "made" {
		t.Errorf("the entry itself was changed: %+v", look)
	}
}

func TestDirectoriesAreKnown(t *testing.T) {
	k := known.Of([]ledger.Entry{{Dirs: []ledger.Path{"/w/made"}, Gone: []ledger.Dir{{Path: "/w/gone"}},
		Modes: []ledger.DirMode{{Path: "/w/mode"}}}}, all)
	if got := k.Dirs([]ledger.Path{"/w/made", "/w/x"}); !slices.Equal(got, []ledger.Path{"/w/x"}) {
		t.Errorf("made: %v", got)
	}
	if got := k.Gone([]ledger.Dir{{Path: "/w/gone"}}); len(got) > 0 {
		t.Errorf("gone: %v", got)
	}
	if got := k.Modes([]ledger.DirMode{{Path: "/w/mode"}}); len(got) > 0 {
		t.Errorf("modes: %v", got)
	}
}

// TestSettled: a command (entry 1) runs on while others look at the same files.
func TestSettled(t *testing.T) {
	change := func(path, pre, post string) ledger.Change {
		return ledger.Change{Path: path, Pre: version(pre), Post: version(post)}
	}
	began := ledger.Entry{Seq: 1, Cause: ledger.CauseBegan, Certainty: ledger.Proven}
	scanned := func(seq int64, c ...ledger.Change) ledger.Entry {
		return ledger.Entry{Seq: seq, Cause: ledger.CauseCommand, Certainty: ledger.Unproven, Changes: c}
	}
	ran := func(seq, of int64, certainty string, c ...ledger.Change) ledger.Entry {
		return ledger.Entry{Seq: seq, Of: of, Cause: ledger.CauseCommand, Certainty: certainty, Changes: c}
	}
	for _, tt := range []struct {
		name    string
		entries []ledger.Entry
		want    string
	}{
		{"told again", []ledger.Entry{began, scanned(2, change("f", "", "a"), change("g", "", "a")),
			ran(3, 1, ledger.Proven, change("f", "", "a"))}, "1: 2:g 3:f "},
		{"all of it", []ledger.Entry{began, scanned(2, change("f", "", "a")), ran(3, 1, ledger.Proven, change("f", "", "a"))},
			"1: 3:f "},
		{"more of it since", []ledger.Entry{began, scanned(2, change("f", "", "a")),
			ran(3, 1, ledger.Proven, change("f", "", "b"))}, "1: 3:f "},
		{"others before it", []ledger.Entry{began, scanned(2, change("f", "", "b")),
			ran(3, 1, ledger.Proven, change("f", "a", "b"))}, "1: 2:f>a 3:f "},
		{"it is not certain either", []ledger.Entry{began, scanned(2, change("f", "", "a")),
			ran(3, 1, ledger.Unproven, change("f", "", "a"))}, "1: 2:f 3:f "},
		{"the command began later", []ledger.Entry{scanned(1, change("f", "", "a")),
			{Seq: 2, Cause: ledger.CauseBegan, Certainty: ledger.Proven}, ran(3, 2, ledger.Proven, change("f", "", "a"))}, "1:f 2: 3:f "},
		{"two looks told again", []ledger.Entry{began, scanned(2, change("f", "", "a")), scanned(3, change("g", "", "a")),
			ran(4, 1, ledger.Proven, change("f", "", "a"), change("g", "", "a"))}, "1: 4:fg "},
		{"its own part", []ledger.Entry{began, ran(2, 1, ledger.Unproven, change("f", "", "a")),
			ran(3, 1, ledger.Proven, change("f", "", "a"))}, "1: 2:f 3:f "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			was := fmt.Sprint(tt.entries)
			var b strings.Builder
			for _, e := range known.Settled(tt.entries) {
				fmt.Fprintf(&b, "%d:", e.Seq)
				for _, c := range e.Changes {
					b.WriteString(c.Path)
					if e.Seq == 2 && c.Post.Delta() == image("a").At() && strings.Contains(tt.want, ">") {
						b.WriteString(">a")
					}
				}
				b.WriteString(" ")
			}
			if d := cmp.Diff(tt.want, b.String()); d != "" {
				t.Error(d)
			}
			if fmt.Sprint(tt.entries) != was {
				t.Error("the list was changed")
			}
		})
	}
}
