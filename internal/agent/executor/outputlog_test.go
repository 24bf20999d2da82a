package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// Whatever is written in whatever portions, any range of lines reads back.
func TestOutputReadsBackByLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := New(Options{Fleeting: true})
		s := h.newSpill()
		var all strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "portions") {
			line := strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 50, 5000, 300_000}).Draw(t, "width"))
			end := rapid.SampledFrom([]string{"\n", "", "\n\n"}).Draw(t, "end")
			text := strings.Repeat(line+end, rapid.IntRange(1, 5).Draw(t, "times"))
			all.WriteString(text)
			_, _ = s.Write([]byte(text))
			if rapid.Bool().Draw(t, "told") {
				s.name() // a poll in between cuts a piece
			}
		}
		var want []string
		for line := range strings.Lines(all.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := len(line) - 2000; n > 0 {
				line = line[:2000] + fmt.Sprintf("[… %d more bytes]", n)
			}
			want = append(want, line)
		}
		first, limit := rapid.IntRange(1, 12).Draw(t, "first"), rapid.IntRange(1, 12).Draw(t, "limit")
		got, total, err := h.Output(s.name(), first, limit, 2000)
		if err != nil || total != len(want) {
			t.Fatalf("%d lines, want %d: %v", total, len(want), err)
		}
		low := min(first-1, len(want))
		if part := want[low:min(low+limit, len(want))]; !slices.Equal(got, part) {
			t.Fatalf("lines %d.. differ: got %d, want %d", first, len(got), len(part))
		}
	})
}

// A host is asked about once when the answer is for the session, never where
// nobody is to be asked, and again after an answer for once.
func TestHostsAreAskedAboutOnce(t *testing.T) {
	asked, by := 0, history.ByUser
	m := Manner{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest}}
	say := func(d protocol.Decision) Manner {
		m.Ask = func(_ context.Context, a protocol.Approval) turn.Reply {
			asked++
			if a.Network == nil || a.Network.Command != "fetch" || a.Network.Port != 443 {
				t.Errorf("the question is %+v", a)
			}
			return turn.Reply{Answer: protocol.Answer{Decision: d}, By: by}
		}
		return m
	}
	h := New(Options{})
	cmd := tool.Command{Line: "fetch"}
	for i, c := range []struct {
		host  string
		say   protocol.Decision
		want  bool
		asked int
	}{
		{"a.test", protocol.Deny, false, 1}, {"a.test", protocol.Once, true, 2}, {"a.test", protocol.ForSession, true, 3}, {"a.test", protocol.Deny, true, 3}, {"b.test", protocol.Deny, false, 4},
	} {
		if got := h.mayReach(t.Context(), "c", cmd, say(c.say), c.host, 443); got != c.want || asked != c.asked {
			t.Errorf("%d: got %v, asked %d times", i, got, asked)
		}
	}
	never := say(protocol.Once)
	never.Settings.Approval = protocol.PolicyNever
	if h.mayReach(t.Context(), "c", cmd, never, "c.test", 443) || h.mayReach(t.Context(), "c", cmd, Manner{}, "c.test", 443) || asked != 4 {
		t.Error("somebody was asked who must not be")
	}
	by = history.ByNobody // in a headless session the core says no
	if h.mayReach(t.Context(), "c", cmd, say(protocol.Deny), "d.test", 443) || h.mayReach(t.Context(), "c", cmd, say(protocol.Deny), "d.test", 443) || asked != 5 {
		t.Errorf("nobody answers: asked %d times, want 5", asked)
	}
}
