package track

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

func file(s string) *delta.Image { return delta.NewFile([]byte(s), 0o644) }

// TestDoubtHeals: writes that may have landed are looked at, and the answer is exact
// again; while they cannot be looked at it is not.
func TestDoubtHeals(t *testing.T) {
	disk := map[string]*delta.Image{"/a": file("new"), "/b": file("old")}
	var broken error
	tr := Tracker{Look: func(p string) (*delta.Image, error) { return disk[p], broken }}
	set := delta.Set{{Path: "/a", Pre: file("old"), Post: file("new")}, {Path: "/b", Pre: file("old"), Post: file("new")}}
	tr.Doubt(set)
	broken = errors.New("input/output error")
	if n := tr.Net(); n.Exact || len(n.Uncertain) != 2 || len(n.Ours) != 0 {
		t.Errorf("unreadable: %+v", n)
	}
	broken = nil
	n := tr.Net()
	if d := cmp.Diff(set[:1], n.Ours); d != "" || !n.Exact {
		t.Errorf("healed: exact %v\n%s", n.Exact, d)
	}
	if d := cmp.Diff(set[:1], n.Healed); d != "" {
		t.Error(d)
	}
	if n := tr.Net(); len(n.Healed) != 0 || len(n.Ours) != 1 {
		t.Errorf("again: %+v", n)
	}
}

func TestOthersBetweenUsAreToldApart(t *testing.T) {
	lines := func(a, b, c string) *delta.Image { return file(a + "\n2\n3\n4\n" + b + "\n6\n7\n8\n" + c + "\n") }
	var tr Tracker
	tr.Add(delta.Set{{Path: "/a", Pre: lines("1", "5", "9"), Post: lines("ours", "5", "9")}}, false)
	tr.Add(delta.Set{{Path: "/a", Pre: lines("ours", "5", "9"), Post: lines("ours", "theirs", "9")}}, true)
	tr.Add(delta.Set{{Path: "/a", Pre: lines("ours", "theirs", "9"), Post: lines("ours", "theirs", "ours")}}, false)
	want := delta.Parts{
		Before: delta.Set{{Path: "/a", Pre: lines("1", "5", "9"), Post: lines("1", "theirs", "9")}},
		Ours:   delta.Set{{Path: "/a", Pre: lines("1", "theirs", "9"), Post: lines("ours", "theirs", "ours")}},
		After:  delta.Set{},
	}
	if d := cmp.Diff(want, tr.Net().Parts); d != "" {
		t.Error(d)
	}
}

func TestTheSamePlaceIsToldApart(t *testing.T) {
	var tr Tracker
	tr.Add(delta.Set{{Path: "/a", Pre: file("1\n"), Post: file("2\n")}}, false)
	tr.Add(delta.Set{{Path: "/a", Pre: file("2\n"), Post: file("3\n")}}, true)
	tr.Add(delta.Set{{Path: "/a", Pre: file("3\n"), Post: file("4\n")}}, false)
	n := tr.Net()
	if len(n.Entangled) > 0 {
		t.Errorf("entangled: %v", n.Entangled)
	}
	if d := cmp.Diff(delta.Set{{Path: "/a", Pre: file("1\n3\n"), Post: file("4\n")}}, n.Ours); d != "" {
		t.Error(d)
	}
}

func TestWhatIsNoTextIsEntangled(t *testing.T) {
	var tr Tracker
	tr.Add(delta.Set{{Path: "/a", Pre: file("1\x00"), Post: file("2\x00")}}, false)
	tr.Add(delta.Set{{Path: "/a", Pre: file("2\x00"), Post: file("3\x00")}}, true)
	tr.Add(delta.Set{{Path: "/a", Pre: file("3\x00"), Post: file("4\x00")}}, false)
	n := tr.Net()
	if d := cmp.Diff([]string{"/a"}, n.Entangled); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(delta.Set{{Path: "/a", Pre: file("1\x00"), Post: file("4\x00")}}, n.Ours); d != "" {
		t.Error(d)
	}
}

// TestLaterSetsSettleDoubt: a set that landed says what it found. Found it what the write in
// doubt was made for, that write did not land, and nobody needs to look.
func TestLaterSetsSettleDoubt(t *testing.T) {
	tr := Tracker{Look: func(p string) (*delta.Image, error) {
		return nil, fmt.Errorf("%s is not in doubt", p)
	}}
	tr.Doubt(delta.Set{{Path: "/a", Pre: file("old"), Post: file("new")}})
	landed := delta.Set{{Path: "/a", Pre: file("old"), Post: file("third")}}
	tr.Add(landed, false)
	n := tr.Net()
	if d := cmp.Diff(landed, n.Ours); d != "" || !n.Exact || len(n.Healed) > 0 {
		t.Errorf("exact %v, healed %v\n%s", n.Exact, n.Healed, d)
	}
}

// TestDoubtsAddUp: several writes that may have landed count from what was certain before the
// first of them, whatever they were made for.
func TestDoubtsAddUp(t *testing.T) {
	disk := map[string]*delta.Image{"/a": file("3"), "/b": file("b"), "/c": file("2")}
	tr := Tracker{Look: func(p string) (*delta.Image, error) { return disk[p], nil }}
	tr.Add(delta.Set{{Path: "/c", Pre: file("1"), Post: file("2")}}, false)
	tr.Doubt(delta.Set{{Path: "/a", Pre: file("1"), Post: file("2")}})
	tr.Doubt(delta.Set{{Path: "/a", Pre: file("2"), Post: file("3")}})
	tr.Doubt(delta.Set{{Path: "/b", Post: file("b")}})
	tr.Doubt(delta.Set{{Path: "/c", Pre: file("1"), Post: file("3")}}) // made for what is no more
	n := tr.Net()
	healed := delta.Set{{Path: "/a", Pre: file("1"), Post: file("3")}, {Path: "/b", Post: file("b")}}
	if d := cmp.Diff(healed, n.Healed); d != "" {
		t.Errorf("found (-want +got):\n%s", d)
	}
	ours := append(healed, delta.Change{Path: "/c", Pre: file("1"), Post: file("2")})
	if d := cmp.Diff(ours, n.Ours); d != "" || !n.Exact {
		t.Errorf("exact %v, (-want +got):\n%s", n.Exact, d)
	}
}

// TestCertain leaves out what is in doubt, and what others did.
func TestCertain(t *testing.T) {
	var tr Tracker
	ours := delta.Set{{Path: "/a", Pre: file("1"), Post: file("2")}}
	tr.Add(ours, false)
	tr.Add(delta.Set{{Path: "/b", Post: file("theirs")}}, true)
	tr.Doubt(delta.Set{{Path: "/c", Post: file("perhaps")}})
	if d := cmp.Diff(ours, tr.Certain()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestADoubtThatASetGoesOnFrom: the set found what the write in doubt had made, so that landed, and nobody
// needs to look. What others did after it is theirs.
func TestADoubtThatASetGoesOnFrom(t *testing.T) {
	for _, outside := range []bool{false, true} {
		tr := Tracker{Look: func(p string) (*delta.Image, error) {
			return nil, fmt.Errorf("%s is not in doubt", p)
		}}
		wrote := delta.Set{{Path: "/a", Pre: file("old\n"), Post: file("new\n")}}
		tr.Doubt(wrote)
		tr.Add(delta.Set{{Path: "/a", Pre: file("new\n"), Post: file("new\nlast\n")}}, outside)
		want := delta.Set{{Path: "/a", Pre: file("old\n"), Post: file("new\nlast\n")}}
		if outside {
			want = wrote
		}
		n := tr.Net()
		if d := cmp.Diff(want, n.Ours); d != "" || !n.Exact {
			t.Errorf("outside %v: exact %v, (-want +got):\n%s", outside, n.Exact, d)
		}
		if d := cmp.Diff(wrote, n.Healed); d != "" {
			t.Errorf("outside %v: found (-want +got):\n%s", outside, d)
		}
		if n := tr.Net(); len(n.Healed) > 0 || len(n.Ours) != 1 {
			t.Errorf("outside %v, again: %+v", outside, n)
		}
	}
}

// TestAskingAgainCostsNothing: what was looked at is in doubt no more, whatever it held, and nothing is kept of
// an answer in which nothing was found, nor of a set that found what was certain.
func TestAskingAgainCostsNothing(t *testing.T) {
	for _, now := range []string{"old", "new", "third"} {
		looks := 0
		tr := Tracker{Look: func(string) (*delta.Image, error) { looks++; return file(now), nil }}
		for i := range 3 {
			if i == 0 || now == "old" {
				tr.Doubt(delta.Set{{Path: "/a", Pre: file("old"), Post: file("new")}})
			}
			if n := tr.Net(); !n.Exact || (len(n.Ours) > 0) != (now != "old") || (len(tr.steps) > 0) != (now != "old") {
				t.Errorf("%s: %+v, %d steps", now, n, len(tr.steps))
			}
			looked := looks
			if tr.Net(); looks != looked {
				t.Errorf("%s: it is looked at again", now)
			}
		}
	}
	var tr Tracker
	for range 3 {
		tr.Doubt(delta.Set{{Path: "/a", Pre: file("old"), Post: file("new")}})
		tr.Add(delta.Set{{Path: "/a", Pre: file("old"), Post: file("old")}}, false)
	}
	if len(tr.steps) != 3 {
		t.Errorf("three sets make %d steps", len(tr.steps))
	}
}
