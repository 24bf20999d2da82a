package turn

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// TestASeedReplaysExactly plays schedules twice: all that goes into the core and comes out of it
// is the same, or a seed that broke a law could not be looked into.
func TestASeedReplaysExactly(t *testing.T) {
	for seed := range uint64(1000) {
		first, second := played(t, seed), played(t, seed)
		if !slices.Equal(first, second) {
			i := 0
			for i < min(len(first), len(second)) && first[i] == second[i] {
				i++
			}
			t.Fatalf("seed %d: of %d and %d steps the one with index %d differs:\n%.300s\n%.300s", seed, len(first), len(second), i, first[min(i, len(first)-1)], second[min(i, len(second)-1)])
		}
	}
}

// played are the steps of a schedule.
func played(t *testing.T, seed uint64) (steps []string) {
	w := newWorld(seed, NoFault)
	w.trace = func(in Input, r Ready) {
		given, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, fmt.Sprintf("%T %s %x", in, given, sha256.Sum256(got)))
	}
	w.play()
	return steps
}
