// Package transcript makes turns of the records of a session, as front ends show
// them.
package transcript

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/proposal"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/tools"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
)

// Options say what is read.
type Options struct {
	Dir   string // of the session
	Cwd   string // in which its commands ran
	Limit int    // that many of the newest turns; 0 is all
	// Net gives turns in which a path changed more than once their net diffs. Nil
	// leaves them the diffs of their changes.
	Net func([]*protocol.PastTurn)
}

// Read returns the newest turns of a session, oldest first. Turns that were
// rewound are left out. Only as much of the record is read as the turns need.
func Read(ctx context.Context, o Options) ([]protocol.PastTurn, error) {
	list, err := newest(ctx, o.Dir, o.Limit)
	if err != nil {
		return nil, err
	}
	b := newBuilder(o.Dir, o.Cwd)
	for _, r := range list {
		b.record(r)
	}
	if folded := b.diffTurns(); len(folded) > 0 && o.Net != nil {
		o.Net(folded)
	}
	return b.turns, ctx.Err()
}

// newest reads the records of the last limit turns that still count.
func newest(ctx context.Context, dir string, limit int) ([]records.Record, error) {
	// What stands before the beginning of a turn belongs to it, if it told its settings twice,
	// or to the turn before; the next beginning or end tells which.
	var list, before []records.Record
	var older turnCount
	for r, err := range counting(ctx, records.Backward(dir)) {
		if err != nil {
			return nil, err
		}
		n := older.n
		older.take(r)
		if limit > 0 && older.n == limit {
			before = nil
			break
		}
		switch {
		case older.n > n || opens(r):
			list = append(append(list, before...), r)
			before = nil
		case older.open:
			before = append(before, r)
		default:
			list = append(list, r)
		}
	}
	list = append(list, before...)
	slices.Reverse(list)
	return list, nil
}

// Endings are the ends of turns as protocol.PastTurn names them.
var Endings = map[string]string{history.TurnCompleted: "completed", history.TurnFailed: "failed",
	history.TurnAborted: "interrupted"}

func opens(r records.Record) bool {
	_, ok := r.Record.(history.TurnContext)
	return ok
}

// turnCount counts turns from the newest record on: n is how many are over when a record of
// an older one was taken. A turn may tell its settings more than once.
type turnCount struct {
	n      int
	opened protocol.TurnID
	open   bool // the beginning of the turn was taken, or what may be it
}

func (c *turnCount) take(r records.Record) {
	context, opens := r.Record.(history.TurnContext)
	event, _ := r.Record.(history.EventRecord)
	if c.open && (event.EndsTurn() || opens && context.Turn != c.opened) {
		c.n, c.open = c.n+1, false
	}
	if opens {
		c.open, c.opened = true, context.Turn
	}
}

// counting leaves out the records of turns that were rewound; all is the newest first.
func counting(ctx context.Context, all iter.Seq2[records.Record, error]) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		var c rewinds
		for r, err := range all {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(r, err)
				return
			}
			for _, r := range c.take(r) {
				if !yield(r, nil) {
					return
				}
			}
		}
		for _, r := range c.held {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// rewinds passes records on that were not taken back.
type rewinds struct {
	until protocol.TurnID // where the part begins that was taken back
	// begun says that its beginning was taken, or what may be it: a turn may tell its settings
	// more than once. What stands before is held until that is known.
	begun bool
	held  []records.Record
}

// take takes the next record, and returns those that count.
func (c *rewinds) take(r records.Record) []records.Record {
	opened, opens := r.Record.(history.TurnContext)
	event, _ := r.Record.(history.EventRecord)
	switch {
	case c.until != "" && opens && opened.Turn == c.until: // so what was held is of that turn
		c.begun, c.held = true, nil
		return nil
	case c.until != "" && !c.begun:
		return nil
	case c.until != "" && !opens && !event.EndsTurn() && event.What != history.Rewound:
		c.held = append(c.held, r)
		return nil
	}
	list := append(c.held, r)
	c.until, c.begun, c.held = "", false, nil
	if event.What == history.Rewound && event.Turn != "" {
		c.until = event.Turn
		list = list[:len(list)-1]
	}
	return list
}

// builder makes turns of records.
type builder struct {
	dir, cwd string
	turns    []protocol.PastTurn
	// changes are those of the call or the turn under way; answers what the user
	// said about calls.
	changes map[protocol.CallID][]history.FileChange
	answers map[protocol.CallID]protocol.Decision
	diffs   map[protocol.TurnID][]history.FileChange
	todo    int // place of the plan's item in the last turn, plus one
	// one says that all records are of the turn that is there already.
	one bool
	// maxDiff bounds a diff file that is read back.
	maxDiff int64
}

func newBuilder(dir, cwd string) *builder {
	return &builder{dir: dir, cwd: cwd, maxDiff: maxDiff, changes: map[protocol.CallID][]history.FileChange{},
		answers: map[protocol.CallID]protocol.Decision{}, diffs: map[protocol.TurnID][]history.FileChange{}}
}

// record takes the next record.
func (b *builder) record(r records.Record) {
	switch rec := r.Record.(type) {
	case history.TurnContext:
		b.turn(rec.Turn, r)
	case history.UserInput:
		b.userInput(rec, r)
	case history.AssistantMessage:
		b.message(rec, r)
	case history.Reasoning:
		b.add(rec.Turn, r, protocol.Completed, protocol.Reasoning{Text: strings.Join(rec.Summary, "\n\n")})
	case history.FileChange:
		b.changed(rec)
	case history.Approval:
		b.approval(rec, r)
	case history.ToolCall:
		b.called(rec, r)
	case history.TokenUsage:
		last := b.turn(rec.Turn, r)
		last.Usage = last.Usage.Add(rec.Usage)
	case history.Compacted:
		b.add(rec.Turn, r, protocol.Completed,
			protocol.Compaction{Before: rec.Before, After: rec.After, Summary: rec.Summary})
	case history.EventRecord:
		b.event(rec, r)
	}
}

// approval keeps the answer for the call that waited for it, and shows every other
// answer where it was given. The call of a question that the model asked shows the
// answer itself.
func (b *builder) approval(a history.Approval, r records.Record) {
	switch {
	case a.Gates():
		b.answers[a.Call] = a.Decision
		b.keep(a)
		return
	case a.Kind == protocol.AskUser && a.Agent == "", len(b.turns) == 0:
		return
	}
	status := protocol.Completed
	if !a.Decision.Allows() {
		status = protocol.Declined
	}
	b.add("", r, status, protocol.Answered{Kind: a.Kind, Agent: a.Agent, Asked: a.Asked, Decision: a.Decision, By: a.By,
		Words: a.Words})
}

// keep tells with the turn what was said to the question on which a call waited.
func (b *builder) keep(a history.Approval) {
	if len(b.turns) == 0 {
		return
	}
	last := &b.turns[len(b.turns)-1]
	if last.Answers == nil {
		last.Answers = map[protocol.CallID]protocol.Answered{}
	}
	last.Answers[a.Call] = protocol.Answered{Kind: a.Kind, Asked: a.Asked, Decision: a.Decision, By: a.By, Words: a.Words}
}

// turn returns the turn with the given id, which is the last one or a new one.
func (b *builder) turn(id protocol.TurnID, r records.Record) *protocol.PastTurn {
	n := len(b.turns)
	if b.one {
		return &b.turns[0]
	}
	_, opens := r.Record.(history.TurnContext)
	over := n > 0 && b.turns[n-1].Ended != "" && opens // ids may be used again
	if n == 0 || over || id != "" && b.turns[n-1].ID != id {
		b.turns = append(b.turns, protocol.PastTurn{ID: id, Began: r.Time})
		b.todo = 0
		n++
	}
	return &b.turns[n-1]
}

func (b *builder) add(id protocol.TurnID, r records.Record, status protocol.Status, body protocol.Body) {
	last := b.turn(id, r)
	last.Items = append(last.Items, protocol.Item{ID: itemID(r.Seq), Status: status, Body: body})
}

// itemID names the item of a record.
func itemID(seq int64) protocol.ItemID { return protocol.ItemID(fmt.Sprint(itemPrefix, seq)) }

const itemPrefix = "past_"

func (b *builder) userInput(u history.UserInput, r records.Record) {
	if u.Marker {
		return
	}
	items := []*model.Item{u.Item()}
	history.RestoreImages(items, func(name string) ([]byte, error) { return rollout.LoadBlob(b.dir, name) })
	m := protocol.UserMessage{}
	for _, p := range items[0].Content {
		m.Input = append(m.Input, protocol.Input{Text: p.Text, ImageURL: p.ImageURL})
	}
	b.add(u.Turn, r, protocol.Completed, m)
}

func (b *builder) message(m history.AssistantMessage, r records.Record) {
	text := m.Text
	if m.Plan != "" {
		text, _ = proposal.Split(text)
	}
	if strings.TrimSpace(text) != "" {
		b.add(m.Turn, r, protocol.Completed, protocol.AgentMessage{Text: text})
	}
	if m.Plan != "" {
		b.add(m.Turn, r, protocol.Completed, protocol.ProposedPlan{Text: m.Plan})
	}
}

func (b *builder) changed(c history.FileChange) {
	if c.Cause == "outside" {
		return
	}
	b.diffs[c.Turn] = append(b.diffs[c.Turn], c)
	if c.Call != "" && (c.Cause == "tool" || c.Cause == "command") {
		b.changes[c.Call] = append(b.changes[c.Call], c)
	}
}

func (b *builder) called(c history.ToolCall, r records.Record) {
	status := protocol.Completed
	switch a := b.answers[c.Call]; {
	case a != "" && !a.Allows():
		status = protocol.Declined
	case !c.Success:
		status = protocol.Failed
	}
	delete(b.answers, c.Call)
	body := b.bodyOf(c)
	delete(b.changes, c.Call)
	if todo, ok := body.(protocol.TodoList); ok {
		b.plan(c, r, todo)
		return
	}
	b.add(c.Turn, r, status, body)
}

// plan shows the plan of a turn once, as it stood last.
func (b *builder) plan(c history.ToolCall, r records.Record, todo protocol.TodoList) {
	last := b.turn(c.Turn, r)
	if b.todo > 0 {
		last.Items[b.todo-1].Body = todo
		return
	}
	b.add(c.Turn, r, protocol.Completed, todo)
	b.todo = len(b.turn(c.Turn, r).Items)
}

// bodyOf is a call as it was shown.
func (b *builder) bodyOf(c history.ToolCall) protocol.Body {
	done := history.Changed(b.changes[c.Call], "command")
	switch {
	case len(b.changes[c.Call]) > len(done):
		return b.fileChange(c)
	case c.Command != "":
		return protocol.Command{Call: c.Call, Command: c.Command, Cwd: b.cwd, Output: history.Printed(c.Result), ExitCode: c.Exit,
			Lines: c.Lines, Changes: done, Diff: b.diffOf(c)}
	case c.Plan != nil && c.Success:
		return protocol.TodoList{Explanation: c.Plan.Explanation, Steps: c.Plan.Steps}
	}
	body := protocol.ToolCall{Call: c.Call, Tool: c.Name, Args: c.Args, Output: c.Result, Structured: c.Structured,
		Changes: done}
	if rest, ok := strings.CutPrefix(c.Name, "mcp__"); ok {
		if server, name, ok := strings.Cut(rest, "__"); ok {
			body.Server, body.Tool = server, name
		}
	} else if known, ok := tools.Lookup(c.Name); ok {
		body.Tool = known.Spec().Name
	}
	if !c.Success {
		body.Output, body.Error = "", c.Result
	}
	return body
}

func (b *builder) fileChange(c history.ToolCall) protocol.FileChange {
	body := protocol.FileChange{Call: c.Call, Changes: history.Changed(b.changes[c.Call], ""), Diff: b.diffOf(c)}
	if !c.Success {
		body.Error = c.Result
	}
	return body
}

// diffOf is the diff of all that a call changed.
func (b *builder) diffOf(c history.ToolCall) string {
	var diff strings.Builder
	for _, ch := range b.changes[c.Call] {
		diff.WriteString(b.diff(ch.DiffPath))
	}
	return diff.String()
}

// maxDiff bounds a diff file that is read back.
const maxDiff = 16 << 20

// diff reads one diff file of the session; one that is gone is empty.
func (b *builder) diff(name string) string {
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return ""
	}
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > b.maxDiff {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

func (b *builder) event(e history.EventRecord, r records.Record) {
	switch e.What {
	case history.Noted:
		b.add(e.Turn, r, protocol.Completed, protocol.Problem{Message: e.Message})
	case history.TurnFailed:
		b.add(e.Turn, r, protocol.Failed, protocol.Problem{Message: e.Message})
		b.turn(e.Turn, r).Ended = Endings[e.What]
	case history.TurnAborted, history.TurnCompleted:
		b.turn(e.Turn, r).Ended = Endings[e.What]
	}
}

// diffTurns gives the turns the diffs of their changes and returns those that
// need a net diff: a path was changed more than once, or moved.
func (b *builder) diffTurns() []*protocol.PastTurn {
	var folded []*protocol.PastTurn
	for i := range b.turns {
		turn := &b.turns[i]
		paths, once := map[string]bool{}, true
		var diff strings.Builder
		for _, c := range b.diffs[turn.ID] {
			once = once && !paths[string(c.Path)] && c.MovedFrom == "" && c.MovedTo == ""
			paths[string(c.Path)] = true
			diff.WriteString(b.diff(c.DiffPath))
		}
		turn.Diff = diff.String()
		if !once {
			folded = append(folded, turn)
		}
	}
	return folded
}
