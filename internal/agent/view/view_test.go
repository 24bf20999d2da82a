package view

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/agent/history"
)

func was(sum string, first, last, lines int) history.Observation {
	return history.Observation{Path: "/w/f", Sum: sum, First: first, Last: last, Lines: lines}
}

func TestView(t *testing.T) {
	var v View
	if !v.Unseen("/w/f", "a", 1, 1) || v.Holds("/w/f", "a", 1, 1) {
		t.Error("a file nobody showed is known")
	}
	v.add(was("a", 1, 10, 100))
	v.add(was("a", 11, 20, 100))
	if !v.Holds("/w/f", "a", 5, 15) || v.Holds("/w/f", "a", 15, 25) || v.Holds("/w/f", "b", 5, 6) {
		t.Error("neighbouring ranges of one version do not join, or more is claimed")
	}
	if !v.Unseen("/w/f", "a", 50, 60) || v.Unseen("/w/f", "a", 20, 60) {
		t.Error("unseen lines are not told from seen ones")
	}
	v.add(was("b", 0, 0, 0)) // the model's own change
	if v.Holds("/w/f", "b", 1, 1) || v.Unseen("/w/f", "b", 50, 50) {
		t.Error("after the model's own change lines are counted as before")
	}
	v.add(was("b", 1, 100, 100))
	if !v.Holds("/w/f", "b", 1, 100) {
		t.Error("a whole read after a change does not count")
	}
	v.Forget()
	if v.Knows("/w/f") {
		t.Error("a compaction leaves files in view")
	}
}

// TestViewAgainstLines compares with a plain set of lines.
func TestViewAgainstLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v View
		lines, sum := map[int]bool{}, "v0"
		for i := range rapid.IntRange(1, 30).Draw(t, "operations") {
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				sum, lines = fmt.Sprintf("v%d", i), map[int]bool{}
			}
			first := rapid.IntRange(1, 30).Draw(t, "first")
			last := first + rapid.IntRange(0, 9).Draw(t, "more")
			v.add(was(sum, first, last, 1000))
			for l := first; l <= last; l++ {
				lines[l] = true
			}
			a := rapid.IntRange(1, 40).Draw(t, "a")
			b := a + rapid.IntRange(0, 9).Draw(t, "b")
			all, none := true, true
			for l := a; l <= b; l++ {
				all, none = all && lines[l], none && !lines[l]
			}
			if v.Holds("/w/f", sum, a, b) != all || v.Unseen("/w/f", sum, a, b) != none {
				t.Fatalf("lines %d-%d: Holds %v (want %v), Unseen %v (want %v)", a, b, v.Holds("/w/f", sum, a, b), all,
					v.Unseen("/w/f", sum, a, b), none)
			}
		}
	})
}
