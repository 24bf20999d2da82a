package host

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/proposal"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/tools"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
)

// Transcript returns the newest turns of a session, oldest first; limit 0 returns
// all. Turns that were rewound are left out. Only as much of the record is read
// as the turns need.
func (h *Host) Transcript(ctx context.Context, name string, limit int) ([]protocol.PastTurn, error) {
	info, err := h.find(name, false, true)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(h.SessionsDir(), string(info.ID))
	records, err := newestTurns(ctx, dir, limit)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	t := newTeller(dir, info.Cwd)
	for _, r := range records {
		t.line(r)
	}
	h.netDiffs(info, t)
	return t.turns, ctx.Err()
}

// newestTurns reads the records of the last limit turns that still count.
func newestTurns(ctx context.Context, dir string, limit int) ([]rollout.Record, error) {
	var list []rollout.Record
	var until protocol.TurnID // where the rewound part begins
	turns := 0
	for r, err := range rollout.Backward(dir) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		opens := r.Type == history.TurnContext{}.Type()
		turn := turnOf(r)
		if until != "" {
			if opens && turn == until {
				until = ""
			}
			continue
		}
		if was := rewoundTo(r); was != "" {
			until = was
			continue
		}
		list = append(list, r)
		if opens {
			if turns++; turns == limit {
				break
			}
		}
	}
	slices.Reverse(list)
	return list, nil
}

func turnOf(r rollout.Record) protocol.TurnID {
	var v struct {
		Turn protocol.TurnID `json:"turn_id"`
	}
	_ = r.Decode(&v)
	return v.Turn
}

// rewoundTo is the turn that a record takes the conversation back to, or empty.
func rewoundTo(r rollout.Record) protocol.TurnID {
	var v history.EventRecord
	if r.Type != v.Type() || r.Decode(&v) != nil || v.What != history.Rewound {
		return ""
	}
	return v.Turn
}

// teller makes turns of records, as a front end would have seen them.
type teller struct {
	dir, cwd string
	turns    []protocol.PastTurn
	// changes are those of the call or the turn under way; answers what the user
	// said about calls.
	changes map[protocol.CallID][]history.FileChange
	answers map[protocol.CallID]protocol.Decision
	diffs   map[protocol.TurnID][]history.FileChange
	todo    int // place of the plan's item in the last turn, plus one
}

func newTeller(dir, cwd string) *teller {
	return &teller{dir: dir, cwd: cwd, changes: map[protocol.CallID][]history.FileChange{},
		answers: map[protocol.CallID]protocol.Decision{}, diffs: map[protocol.TurnID][]history.FileChange{}}
}

// line takes the next record; what cannot be read is passed over.
func (t *teller) line(r rollout.Record) {
	switch r.Type {
	case "turn_context":
		tell(r, func(c history.TurnContext) { t.turn(c.Turn, r) })
	case "user_input":
		tell(r, func(u history.UserInput) { t.said(u, r) })
	case "assistant_message":
		tell(r, func(m history.AssistantMessage) { t.answered(m, r) })
	case "reasoning":
		tell(r, func(m history.Reasoning) {
			t.add(m.Turn, r, protocol.Completed, protocol.Reasoning{Text: strings.Join(m.Summary, "\n\n")})
		})
	case "file_change":
		tell(r, func(c history.FileChange) { t.changed(c) })
	case "approval":
		tell(r, func(a history.Approval) { t.answers[a.Call] = a.Decision })
	case "tool_call":
		tell(r, func(c history.ToolCall) { t.called(c, r) })
	case "token_usage":
		tell(r, func(u history.TokenUsage) {
			last := t.turn(u.Turn, r)
			last.Usage = last.Usage.Add(u.Usage)
		})
	case "compacted":
		tell(r, func(c history.Compacted) {
			t.add(c.Turn, r, protocol.Completed, protocol.Compaction{Before: c.Before, After: c.After, Summary: c.Summary})
		})
	case "event":
		tell(r, func(e history.EventRecord) { t.happened(e, r) })
	}
}

func tell[T any](r rollout.Record, use func(T)) {
	var v T
	if r.Decode(&v) == nil {
		use(v)
	}
}

// turn returns the turn with the given id, which is the last one or a new one.
func (t *teller) turn(id protocol.TurnID, r rollout.Record) *protocol.PastTurn {
	n := len(t.turns)
	over := n > 0 && t.turns[n-1].Ended != "" && r.Type == history.TurnContext{}.Type() // ids may be used again
	if n == 0 || over || id != "" && t.turns[n-1].ID != id {
		t.turns = append(t.turns, protocol.PastTurn{ID: id, Began: r.Time})
		t.todo = 0
		n++
	}
	return &t.turns[n-1]
}

func (t *teller) add(id protocol.TurnID, r rollout.Record, status protocol.Status, body protocol.Body) {
	last := t.turn(id, r)
	last.Items = append(last.Items, protocol.Item{ID: protocol.ItemID(fmt.Sprintf("past_%d", r.Seq)), Status: status, Body: body})
}

func (t *teller) said(u history.UserInput, r rollout.Record) {
	if u.Marker {
		return
	}
	items := []*model.Item{u.Item()}
	history.RestoreImages(items, func(name string) ([]byte, error) { return rollout.LoadBlob(t.dir, name) })
	m := protocol.UserMessage{}
	for _, p := range items[0].Content {
		m.Input = append(m.Input, protocol.Input{Text: p.Text, ImageURL: p.ImageURL})
	}
	t.add(u.Turn, r, protocol.Completed, m)
}

func (t *teller) answered(m history.AssistantMessage, r rollout.Record) {
	text := m.Text
	if m.Plan != "" {
		text, _ = proposal.Split(text)
	}
	if strings.TrimSpace(text) != "" {
		t.add(m.Turn, r, protocol.Completed, protocol.AgentMessage{Text: text})
	}
	if m.Plan != "" {
		t.add(m.Turn, r, protocol.Completed, protocol.ProposedPlan{Text: m.Plan})
	}
}

func (t *teller) changed(c history.FileChange) {
	if c.Cause == "outside" {
		return
	}
	t.diffs[c.Turn] = append(t.diffs[c.Turn], c)
	if c.Call != "" && c.Cause == "tool" {
		t.changes[c.Call] = append(t.changes[c.Call], c)
	}
}

func (t *teller) called(c history.ToolCall, r rollout.Record) {
	status := protocol.Completed
	switch a := t.answers[c.Call]; {
	case a != "" && !a.Allows():
		status = protocol.Declined
	case !c.Success:
		status = protocol.Failed
	}
	delete(t.answers, c.Call)
	body := t.bodyOf(c)
	delete(t.changes, c.Call)
	if todo, ok := body.(protocol.TodoList); ok {
		t.plan(c, r, todo)
		return
	}
	t.add(c.Turn, r, status, body)
}

// plan shows the plan of a turn once, as it stood last.
func (t *teller) plan(c history.ToolCall, r rollout.Record, todo protocol.TodoList) {
	last := t.turn(c.Turn, r)
	if t.todo > 0 {
		last.Items[t.todo-1].Body = todo
		return
	}
	t.add(c.Turn, r, protocol.Completed, todo)
	t.todo = len(t.turn(c.Turn, r).Items)
}

// bodyOf is a call as it was shown.
func (t *teller) bodyOf(c history.ToolCall) protocol.Body {
	switch {
	case len(t.changes[c.Call]) > 0:
		return t.fileChange(c)
	case c.Command != "":
		return protocol.Command{Call: c.Call, Command: c.Command, Cwd: t.cwd, Output: c.Result, ExitCode: c.Exit}
	case c.Plan != nil && c.Success:
		return protocol.TodoList{Explanation: c.Plan.Explanation, Steps: c.Plan.Steps}
	}
	b := protocol.ToolCall{Call: c.Call, Tool: c.Name, Args: c.Args, Output: c.Result}
	if rest, ok := strings.CutPrefix(c.Name, "mcp__"); ok {
		if server, name, ok := strings.Cut(rest, "__"); ok {
			b.Server, b.Tool = server, name
		}
	} else if known, ok := tools.Lookup(c.Name); ok {
		b.Tool = known.Spec().Name
	}
	if !c.Success {
		b.Output, b.Error = "", c.Result
	}
	return b
}

func (t *teller) fileChange(c history.ToolCall) protocol.FileChange {
	body := protocol.FileChange{Call: c.Call}
	var diff strings.Builder
	for _, ch := range t.changes[c.Call] {
		pc := protocol.PathChange{Path: ch.Path, Kind: protocol.Update, Moved: ch.MovedFrom}
		switch ch.Operation {
		case "created":
			pc.Kind = protocol.Add
		case "deleted":
			pc.Kind = protocol.Delete
		}
		body.Changes = append(body.Changes, pc)
		diff.WriteString(t.diff(ch.DiffPath))
	}
	body.Diff = diff.String()
	if !c.Success {
		body.Error = c.Result
	}
	return body
}

// maxDiff bounds a diff file that is read back.
const maxDiff = 16 << 20

// diff reads one diff file of the session; one that is gone is empty.
func (t *teller) diff(name string) string {
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return ""
	}
	path := filepath.Join(t.dir, filepath.FromSlash(name))
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxDiff {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func (t *teller) happened(e history.EventRecord, r rollout.Record) {
	switch e.What {
	case history.Noted:
		t.add(e.Turn, r, protocol.Completed, protocol.Problem{Message: e.Message})
	case history.TurnFailed:
		t.add(e.Turn, r, protocol.Failed, protocol.Problem{Message: e.Message})
		t.turn(e.Turn, r).Ended = "failed"
	case history.TurnAborted:
		t.turn(e.Turn, r).Ended = "interrupted"
	case history.TurnCompleted:
		t.turn(e.Turn, r).Ended = "completed"
	}
}

// netDiffs gives the turns their net diffs: those of the changes where each path
// was changed once, otherwise from the ledger.
func (h *Host) netDiffs(info protocol.SessionInfo, t *teller) {
	var folded []*protocol.PastTurn
	for i := range t.turns {
		turn := &t.turns[i]
		paths, once := map[string]bool{}, true
		var diff strings.Builder
		for _, c := range t.diffs[turn.ID] {
			once = once && !paths[c.Path] && c.MovedFrom == "" && c.MovedTo == ""
			paths[c.Path] = true
			diff.WriteString(t.diff(c.DiffPath))
		}
		turn.Diff = diff.String()
		if !once {
			folded = append(folded, turn)
		}
	}
	if len(folded) == 0 {
		return
	}
	_ = h.reading(cmp.Or(info.Cwd, h.Config.Cwd), func(r changes.Reader) error { // without it the parts are shown
		for _, turn := range folded {
			net, err := r.Turn(string(info.ID), string(turn.ID), turn.Began.Add(-time.Minute))
			if err == nil && len(net) > 0 {
				turn.Diff = string(net)
			}
		}
		return nil
	})
}
