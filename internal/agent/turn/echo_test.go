package turn

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// TestEchoIsWhatAComparisonSays lets texts grow by random parts, some of them cut inside a
// character, beside messages that come and go.
func TestEchoIsWhatAComparisonSays(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "b", "ab", " ", "\n", "ü", "\u2028", "\u2028"[:1], "\u2028"[1:], "\xff", ""}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		return b.String()
	}
	seen := map[bool]int{}
	for range 20_000 {
		var before []string
		for range rnd.IntN(3) {
			before = append(before, strings.TrimSpace(text(6)))
		}
		whole := text(2)
		if len(before) > 0 && rnd.IntN(2) == 0 {
			whole = parts[rnd.IntN(len(parts))] + before[0] + text(rnd.IntN(2))
		}
		var e echo
		body, like := []byte(nil), before
		for len(whole) > 0 {
			n := 1 + rnd.IntN(len(whole))
			body, whole = append(body, whole[:n]...), whole[n:]
			if len(like) > 0 && rnd.IntN(8) == 0 {
				like = like[1:]
			}
			s := strings.TrimSpace(string(body))
			want := slices.ContainsFunc(like, func(b string) bool { return strings.HasPrefix(b, s) })
			got := e.repeats(like, body)
			if got != want {
				t.Fatalf("%q of %q: %v, want %v", body, like, got, want)
			}
			seen[got]++
			if !got {
				break // from then on nobody asks
			}
		}
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("seen: %v", seen)
	}
}

// TestATextCostsWhatItIsLong: a text in many parts, as models send it, takes memory in
// proportion, in and outside plan mode, and where it may repeat what was shown before.
func TestATextCostsWhatItIsLong(t *testing.T) {
	const parts, part = 20_000, "some words"
	whole := strings.Repeat(part, parts)
	for name, begin := range map[string]func(*round){
		"plain": func(*round) {},
		"echo":  func(r *round) { r.turn.before = []string{whole} },
		"plan":  func(r *round) { r.turn.settings.Approval = protocol.PolicyPlan },
		"planned": func(r *round) {
			r.turn.settings.Approval = protocol.PolicyPlan
			r.grow(0, model.Message, "<proposed_plan>\n")
		},
	} {
		out := &output{}
		r := newRound(1, &turn{}, out)
		begin(r)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range parts {
			r.grow(0, model.Message, part)
			out.take()
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(whole)); n > 100 {
			t.Errorf("%s: %d bytes for each byte of the text", name, n)
		}
		if got := string(r.texts[0].body); !strings.HasSuffix(got, whole) {
			t.Errorf("%s: the text has %d bytes, not %d", name, len(got), len(whole))
		}
	}
}
