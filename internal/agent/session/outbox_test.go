package session

import (
	"math/rand/v2"
	"testing"

	"kerf/internal/protocol"
)

// TestASlowFrontEndMissesNoText: whatever waits, each item's deltas add up to its text, in
// order, and what is no delta stays where it was.
func TestASlowFrontEndMissesNoText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		o, out := newOutbox(), make(chan protocol.Event)
		want, got := map[protocol.ItemID]string{}, map[protocol.ItemID]string{}
		var marks, seen []string
		go func() {
			for range 400 {
				id := protocol.ItemID([]string{"a", "b"}[rnd.IntN(30)/29])
				if rnd.IntN(40) == 0 {
					marks = append(marks, string(id)+want[id])
					o.put(protocol.Event{Msg: protocol.Warning{Message: string(id) + want[id]}})
					continue
				}
				part := string(rune('a' + rnd.IntN(26)))
				want[id] += part
				o.put(protocol.Event{Msg: protocol.ItemDelta{Item: id, Text: part}})
			}
			o.close()
		}()
		go o.pump(out)
		n := 0
		for e := range out {
			n++
			switch m := e.Msg.(type) {
			case protocol.ItemDelta:
				got[m.Item] += m.Text
			case protocol.Warning:
				id := protocol.ItemID(m.Message[:1])
				seen = append(seen, string(id)+got[id])
			}
		}
		if len(got) != len(want) || got["a"] != want["a"] || got["b"] != want["b"] {
			t.Fatalf("%d events: got %q, want %q", n, got, want)
		}
		for i := range marks {
			if len(seen) != len(marks) || seen[i] != marks[i] {
				t.Fatalf("at a mark %q, want %q", seen, marks)
			}
		}
	}
}

// TestPartsMergeInOneStep: a text of many parts that nobody takes costs what it is long.
func TestPartsMergeInOneStep(t *testing.T) {
	o := newOutbox()
	for range mergeAbove {
		o.put(protocol.Event{Msg: protocol.Warning{}})
	}
	const parts = 20_000
	allocated := testing.AllocsPerRun(1, func() {
		for range parts {
			o.put(protocol.Event{Msg: protocol.ItemDelta{Item: "a", Text: "some words"}})
		}
	})
	o.mu.Lock()
	o.settle()
	last := o.queue[len(o.queue)-1].Msg.(protocol.ItemDelta)
	o.mu.Unlock()
	if n := len(last.Text); n != 2*parts*len("some words") { // AllocsPerRun runs it once before
		t.Errorf("the text has %d bytes", n)
	}
	if allocated > 1.2*parts { // the event that is put, and now and then more room
		t.Errorf("%d parts take %.0f allocations", parts, allocated)
	}
}
