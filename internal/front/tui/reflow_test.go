package tui

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/protocol"
)

// play is one thing that happens in the stories of TestScreenIsAFreshPaint.
type play struct {
	msgs []protocol.Msg
	w, h int // a new size
	keys []string
}

// plays draws what happens: items that begin, grow and end in any order, beside each
// other, and resizes between them.
func plays(t *rapid.T) []play {
	var all []play
	var open []protocol.Item
	n := 0
	words := rapid.SampledFrom([]string{"a word ", "a longer line of words that has to be broken somewhere on a small screen ",
		"\n\n", "\n", "- item\n", "```go\nfunc f() {}\n```\n", "漢字漢字漢字漢字漢字漢字漢字 ", "# Head\n\n", "`code` **bold** ",
		"| a | b |\n|---|---|\n| one | two |\n\n"})
	bodies := []protocol.Body{answer(""), protocol.Reasoning{}, protocol.Command{Command: "go test ./..."},
		call("read_file", `{"file_path":"a/b/c.go"}`), call("grep", `{"pattern":"needle"}`), call("other", `{"x":"y"}`),
		protocol.ProposedPlan{}, protocol.WebSearch{Query: "iterators"}}
	all = append(all, play{msgs: []protocol.Msg{protocol.TurnStarted{}, done("u", user("do it, and do it well, as long as it takes"))}})
	for range rapid.IntRange(1, 40).Draw(t, "plays") {
		switch k := rapid.IntRange(0, 11).Draw(t, "kind"); {
		case k < 2:
			n++
			it := protocol.Item{ID: protocol.ItemID(fmt.Sprint("i", n)), Status: protocol.InProgress,
				Body: rapid.SampledFrom(bodies).Draw(t, "body")}
			open = append(open, it)
			all = append(all, play{msgs: []protocol.Msg{protocol.ItemStarted{Item: it}}})
		case k < 6 && len(open) > 0:
			it := rapid.SampledFrom(open).Draw(t, "grows")
			all = append(all, play{msgs: []protocol.Msg{protocol.ItemDelta{Item: it.ID,
				Text: strings.Join(rapid.SliceOfN(words, 1, 8).Draw(t, "text"), "")}}})
		case k < 7 && len(open) > 0:
			i := rapid.IntRange(0, len(open)-1).Draw(t, "ends")
			it := open[i]
			open = append(open[:i:i], open[i+1:]...)
			it.Status = rapid.SampledFrom([]protocol.Status{protocol.Completed, protocol.Failed}).Draw(t, "status")
			all = append(all, play{msgs: []protocol.Msg{protocol.ItemCompleted{Item: it}}})
		case k == 7:
			n++
			all = append(all, play{msgs: []protocol.Msg{rapid.SampledFrom([]protocol.Msg{done(fmt.Sprint("i", n), edited()),
				protocol.Warning{Message: fmt.Sprint("warning ", n, " about something that takes a few more words")},
				failed(fmt.Sprint("i", n), ran("make", "1\n2\n3\n4\n5\n6\n7\n8\n", 2))}).Draw(t, "done")}})
		case k == 8:
			all = append(all, play{keys: []string{rapid.SampledFrom([]string{"x", "shift+enter", "ctrl+u", "ctrl+t", "q"}).Draw(t, "key")}})
		default:
			all = append(all, play{w: rapid.IntRange(20, 120).Draw(t, "w"), h: rapid.IntRange(5, 40).Draw(t, "h")})
		}
	}
	return all
}

// TestScreenIsAFreshPaint: after any play of events and resizes the screen shows what a
// terminal shows that had its last size from the beginning.
func TestScreenIsAFreshPaint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := plays(t)
		w, h := rapid.IntRange(20, 300).Draw(t, "last w"), rapid.IntRange(5, 100).Draw(t, "last h")
		tell := func(b *bench, sizes bool) string {
			for _, p := range all {
				switch {
				case p.msgs != nil:
					b.event("t", p.msgs...)
				case p.keys != nil:
					b.keys(p.keys...)
				case sizes:
					b.resize(p.w, p.h)
				}
			}
			b.keys("esc", "esc") // pages are closed
			if sizes {
				b.resize(w, h+1).resize(w, h)
			} else {
				b.send(repaintMsg{})
			}
			b.safe()
			return b.vt.Screen()
		}
		whole := rapid.Bool().Draw(t, "alternate screen")
		quick := func(o *Options) { o.ReducedMotion, o.AltScreen = true, whole }
		got := tell(story(t, rapid.IntRange(20, 120).Draw(t, "w"), rapid.IntRange(5, 40).Draw(t, "h"), quick), true)
		want := tell(story(t, w, h, quick), false)
		if got != want {
			t.Fatalf("at %dx%d the screen shows\n%s\na fresh one\n%s", w, h, got, want)
		}
	})
}
