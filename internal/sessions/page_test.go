package sessions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/transcript"
)

// span reads a few items at a time, so that parts are cut at many places.
func span(r *rand.Rand) transcript.Span {
	return transcript.Span{Items: 1 + r.IntN(6), Bytes: 1 + r.Int64N(4000)}
}

// TestPagesAreTheTranscript reads random sessions in parts, with turns that tell their
// settings again, that were rewound, with responses of several calls, questions and changes,
// and with notes between turns: joined in either direction the parts of each turn are the turn
// of the whole transcript, a page has the turns that it should, each turn is found where it
// stands, and each call in a part that has it. The outline that
// grew with the session is that which is made anew.
func TestPagesAreTheTranscript(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := store(t)
		l, err := s.Create(rollout.Metadata{Title: "pages", Cwd: "/w", Model: "free"}, false)
		if err != nil {
			t.Fatal(err)
		}
		add := func(rec history.Record) {
			if err := l.Writer.Append(rollout.Entry{Type: rec.Type(), Body: rec}); err != nil {
				t.Fatal(err)
			}
		}
		add(history.SessionMeta{ID: l.ID, Cwd: "/w", Model: "free"})
		kept, piece := &Outline{}, 1+r.Int64N(9000)
		var alive []protocol.TurnID
		for n := range 3 + r.IntN(9) {
			id := protocol.TurnID(fmt.Sprint("t", n))
			alive = append(alive, id)
			if !addTurn(r, id, add) { // the user goes back, also by several turns
				at := max(0, len(alive)-1-r.IntN(4))
				add(history.EventRecord{Turn: alive[at], What: history.Rewound})
				alive = alive[:at]
			}
			if r.IntN(3) == 0 { // somebody looks while it is written
				if _, err := pagesOf(s, l.ID, kept, piece).Turns(t.Context(), 0, 3, span(r)); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.Close()
		for _, kept := range []*Outline{kept, {}} { // as it grew here, and as another process finds it
			samePages(t, s, pagesOf(s, l.ID, kept, piece), l.ID, r, seed)
		}
		sameTail(t, s, pagesOf(s, l.ID, &Outline{}, piece), l.ID, seed)
		counted := usedOf(s.count(t.Context(), s.DirOf(l.ID), time.Time{}), nil)
		outlined := usedOf(s.outlined(t.Context(), protocol.SessionInfo{ID: l.ID}, UsageOptions{}))
		if d := cmp.Diff(counted, outlined); d != "" || len(counted) == 0 {
			t.Fatalf("seed %d: what was used by the records and by the outline: %s", seed, d)
		}
	}
}

// pagesOf are the pages of a session of which little stands in each line of the outline.
func pagesOf(s *Store, id protocol.SessionID, kept *Outline, piece int64) Pages {
	p := s.Pages(protocol.SessionInfo{ID: id, Cwd: "/w"}, kept)
	p.v.Piece = piece
	return p
}

// sameTail compares what the end of a record tells with the whole transcript. Turns of which
// the beginning was seen are the same, and a cut one ends in the same way.
func sameTail(t *testing.T, s *Store, p Pages, id protocol.SessionID, seed uint64) {
	t.Helper()
	whole, err := s.Transcript(t.Context(), string(id), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.v.Dir, "rollout.outline")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	p.v.Most = 1
	page, err := p.Turns(t.Context(), 0, 4, transcript.Span{Items: 1000, Bytes: 1 << 20})
	var counting *Counting
	if errors.As(err, &counting) {
		return // all turns that it tells of were taken back
	}
	if err != nil || page.Counting == nil {
		t.Fatalf("seed %d: the end of the record: %+v, %v", seed, page.Counting, err)
	}
	want := whole[max(0, len(whole)-len(page.Turns)):]
	if len(want) > 0 && len(page.Turns) == 0 || len(want) != len(page.Turns) {
		t.Fatalf("seed %d: the end tells of %d turns of %d", seed, len(page.Turns), len(whole))
	}
	for i, part := range page.Turns {
		turn := part.PastTurn
		turn.Diff = want[i].Diff
		if part.Cut {
			if n := len(turn.Items); n > len(want[i].Items) || cmp.Diff(want[i].Items[len(want[i].Items)-n:], turn.Items, cmpopts.EquateEmpty()) != "" {
				t.Fatalf("seed %d: the cut turn %s has other items: %s", seed, turn.ID, cmp.Diff(want[i].Items, turn.Items))
			}
			continue
		}
		if d := cmp.Diff(want[i], turn, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

// usedOf is what was used by day and model, with whole tokens only.
func usedOf(list []used, err error) map[string]UsageLine {
	if err != nil {
		return nil
	}
	all := map[string]UsageLine{}
	for _, u := range list {
		u.line.Cost = math.Round(u.line.Cost * 1e6)
		all[u.day+" "+u.model] = u.line
	}
	return all
}

// addTurn adds a random turn, and reports whether it counts: otherwise it is to be taken back.
func addTurn(r *rand.Rand, id protocol.TurnID, add func(history.Record)) bool {
	settings := history.TurnContext{Turn: id, Settings: protocol.Settings{Model: []string{"free", "priced", ""}[r.IntN(3)]}}
	add(settings)
	if r.IntN(8) > 0 {
		add(history.UserInput{Turn: id, Text: "ask " + string(id)})
	}
	for round := range 1 + r.IntN(6) {
		round++
		if r.IntN(4) == 0 {
			add(settings)
		}
		if r.IntN(3) == 0 {
			add(history.UserInput{Turn: id, Text: fmt.Sprint("and ", round), Marker: r.IntN(3) == 0})
		}
		if r.IntN(2) == 0 {
			add(history.Reasoning{Turn: id, Round: round, Summary: []string{"thought"}})
		}
		add(history.AssistantMessage{Turn: id, Round: round, Text: []string{"", fmt.Sprint("answer ", round)}[r.IntN(2)]})
		calls := r.IntN(4)
		for i := range calls {
			add(history.ToolStarted{Turn: id, Round: round, Index: i, Call: callID(id, round, i), Name: "exec_command"})
			if r.IntN(3) == 0 {
				add(history.Approval{Turn: id, Call: callID(id, round, i), Decision: protocol.Once, By: protocol.ByUser})
			}
		}
		for i := range calls { // they end after all have begun
			if r.IntN(2) == 0 {
				add(history.FileChange{Turn: id, Call: callID(id, round, i), Path: "/w/a", Operation: "modified",
					Cause: []string{"command", "outside"}[r.IntN(2)]})
			}
		}
		for i := range calls {
			add(history.ToolCall{Turn: id, Round: round, Index: i, Call: callID(id, round, i), Name: "exec_command",
				Command: "true", Result: strings.Repeat("x", r.IntN(2000)), Success: r.IntN(2) == 0})
		}
		add(history.TokenUsage{Turn: id, Round: round, Usage: protocol.Usage{Input: round, Output: 1}})
		if r.IntN(5) == 0 {
			add(history.TokenUsage{Turn: id, Round: round, Agent: "other", Usage: protocol.Usage{Input: 1000}})
		}
	}
	if r.IntN(7) > 0 {
		add(history.EventRecord{Turn: id, What: []string{history.TurnCompleted, history.TurnFailed, history.TurnAborted}[r.IntN(3)]})
	}
	switch r.IntN(6) {
	case 0:
		return false
	case 1:
		add(history.EventRecord{Turn: id, What: history.Noted, Message: "a note behind " + string(id)})
	}
	return true
}

func callID(turn protocol.TurnID, round, i int) protocol.CallID {
	return protocol.CallID(fmt.Sprintf("%s-%d-%d<&\"", turn, round, i))
}

// samePages compares pages and parts of a session with its whole transcript.
func samePages(t *testing.T, s *Store, p Pages, id protocol.SessionID, r *rand.Rand, seed uint64) {
	t.Helper()
	whole, err := s.Transcript(t.Context(), string(id), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 3} {
		for skip := 0; skip < len(whole)+2; skip += size {
			page, err := p.Turns(t.Context(), skip, size, span(r))
			parts, older := page.Turns, page.Older
			end := max(0, len(whole)-skip)
			want := whole[max(0, end-size):end]
			if err != nil || len(parts) != len(want) || older != (end > size) {
				t.Fatalf("seed %d, %d turns behind %d: %d of %d, older %t, %v", seed, size, skip, len(parts), len(want), older, err)
			}
			for i, part := range parts {
				sameTurn(t, p, want[i], part, r, seed)
			}
		}
	}
	for i, turn := range whole {
		behind, err := p.Behind(t.Context(), turn.ID)
		if err != nil || behind != len(whole)-1-i {
			t.Errorf("seed %d: %d turns come behind %s (%v), want %d", seed, behind, turn.ID, err, len(whole)-1-i)
		}
	}
	if _, err := p.Behind(t.Context(), "nowhere"); !errors.Is(err, ErrNoTurn) {
		t.Errorf("a turn that is not there: %v", err)
	}
}

// sameTurn joins the parts of a turn, from the last one backwards and from the first one
// forwards.
func sameTurn(t *testing.T, p Pages, want protocol.PastTurn, last transcript.Part, r *rand.Rand, seed uint64) {
	t.Helper()
	asked := func(part transcript.Part) protocol.PastTurn {
		turn := part.PastTurn
		turn.Diff, turn.Items = want.Diff, nil
		return turn
	}
	got := asked(last)
	part := last
	for {
		got.Items = append(slices.Clone(part.Items), got.Items...)
		maps.Copy(answers(&got), part.Answers)
		if part.Before == 0 {
			break
		}
		if asks(want) && (part.Prompt == nil || cmp.Diff(*part.Prompt, want.Items[0]) != "") {
			t.Errorf("seed %d: a part of %s begins with %v", seed, want.ID, part.Prompt)
		}
		var err error
		sp := span(r)
		sp.Before = part.Before
		if part, err = p.Part(t.Context(), want.ID, sp); err != nil || part.After != sp.Before {
			t.Fatalf("seed %d: the part before %d ends at %d: %v", seed, sp.Before, part.After, err)
		}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("seed %d, backwards: %s", seed, d)
	}
	got.Items = slices.Clone(part.Items)
	for part.After > 0 {
		sp := span(r)
		sp.After = part.After
		next, err := p.Part(t.Context(), want.ID, sp)
		if err != nil || next.Before != part.After || len(next.Items) == 0 && next.After > 0 {
			t.Fatalf("seed %d: the part behind %d begins at %d: %v", seed, part.After, next.Before, err)
		}
		part = next
		got.Items = append(got.Items, part.Items...)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("seed %d, forwards: %s", seed, d)
	}
	for _, item := range want.Items {
		c, ok := item.Body.(protocol.Command)
		if !ok {
			continue
		}
		sp := transcript.Span{Call: c.Call, Items: 1 + r.IntN(8), Bytes: 1 + r.Int64N(8000)}
		part, err := p.Part(t.Context(), want.ID, sp)
		if err != nil || !slices.ContainsFunc(part.Items, func(i protocol.Item) bool { return i.ID == item.ID }) {
			t.Fatalf("seed %d: no part with the call %s: %+v has %+v: %v", seed, c.Call, sp, part, err)
		}
		text, ok, err := p.Printed(t.Context(), want.ID, item.ID)
		if !ok || err != nil {
			t.Fatalf("seed %d: the item %s: %t, %v", seed, item.ID, ok, err)
		}
		if all, err := io.ReadAll(text); err != nil || string(all) != c.Output {
			t.Fatalf("seed %d: the item %s printed %q, %v", seed, item.ID, all, err)
		}
		text.Close()
	}
	if _, err := p.Part(t.Context(), want.ID, transcript.Span{Call: "nowhere"}); !errors.Is(err, transcript.ErrNoCall) {
		t.Errorf("seed %d: a call that is not there: %v", seed, err)
	}
}

func answers(t *protocol.PastTurn) map[protocol.CallID]protocol.Answered {
	if t.Answers == nil {
		t.Answers = map[protocol.CallID]protocol.Answered{}
	}
	return t.Answers
}

// asks reports whether a turn begins with what the user said.
func asks(t protocol.PastTurn) bool {
	if len(t.Items) == 0 {
		return false
	}
	_, ok := t.Items[0].Body.(protocol.UserMessage)
	return ok
}
