// Package replay runs the tools of a session again and compares.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tools"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn/contents"
)

// Options say what is replayed, and with what.
type Options struct {
	ID  protocol.SessionID
	Dir string // of the session
	Cwd string // in which it worked
	// Without is a directory below Cwd that is no part of the workspace.
	Without string
	// Ledger uses a reader of the ledger of the session's workspace.
	Ledger func(use func(changes.Reader) error) error
	Open   Opener
}

// Opener opens a new session that asks m, in a home of its own, and returns where
// it is kept.
type Opener func(ctx context.Context, home string, set protocol.Settings, m model.Client) (
	s protocol.Session, dir string, err error)

// Report is what a replay found.
type Report struct {
	Session protocol.SessionID `json:"session"`
	// Calls were replayed, Taken over are those that cannot be: they were cut off,
	// asked about, or reach outside. What these changed is put in place.
	Calls     int `json:"calls"`
	TakenOver int `json:"taken_over"`
	// Divergence is the first call that went otherwise, nil if all went as before.
	Divergence *Divergence `json:"divergence,omitempty"`
}

// Divergence is a call that went otherwise than recorded.
type Divergence struct {
	Turn     string `json:"turn"`
	Round    int    `json:"round"`
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	What     string `json:"what"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// Session runs the tools of a session again, without a model: on the files as they
// were when it began, in a scratch copy, under the same policies but never with
// more than workspace-write. It compares every result and every change.
func Session(ctx context.Context, o Options) (Report, error) {
	list, _, err := records.Read(o.Dir)
	if err != nil {
		return Report{}, fmt.Errorf("session %s: %w", o.ID, err)
	}
	top, err := os.MkdirTemp("", "kerf-replay-")
	if err != nil {
		return Report{}, fmt.Errorf("replay: %w", err)
	}
	defer os.RemoveAll(top)
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return Report{}, fmt.Errorf("replay: %w", err)
	}
	r := &replayer{o: o, cwd: o.Cwd, scratch: filepath.Join(top, "files", filepath.Base(o.Cwd)), top: top}
	r.report.Session = o.ID
	r.read(list)
	if err := o.Ledger(func(read changes.Reader) error {
		r.images = read.Images
		if r.entries, err = read.Ledger.Read(0); err != nil {
			return err
		}
		if err := r.base(ctx); err != nil {
			return err
		}
		return r.run(ctx)
	}); err != nil {
		return r.report, fmt.Errorf("replay %s: %w", o.ID, err)
	}
	return r.report, nil
}

// replayer is a model that says again what was said in a session, and puts
// changes by others in place before it does.
type replayer struct {
	o            Options
	cwd, scratch string // the directory of the session, and its copy
	top          string
	images       contents.Images
	entries      []ledger.Entry    // since the session began
	applied      map[int64]bool    // by number: entries that are in place or that calls make again
	known        map[string]string // by path: the sum of what the record last told of a file

	began     time.Time
	first     int64 // the first entry of the session
	rounds    []*pastRound
	calls     []*pastCall
	summaries []string
	words     []string
	settings  protocol.Settings
	next      int // the round to be said next
	at        int // the summary
	failed    error
	report    Report
}

// pastRound is one response of the model.
type pastRound struct {
	number int
	began  time.Time
	texts  []history.AssistantMessage
	calls  []*pastCall
	usage  *protocol.Usage
}

// pastCall is one call with what came of it.
type pastCall struct {
	history.ToolCall
	changes []history.FileChange
	ended   bool // its result was recorded
	asked   bool
}

func (r *replayer) round(n int, at time.Time) *pastRound {
	if len(r.rounds) == 0 || r.rounds[len(r.rounds)-1].number != n {
		r.rounds = append(r.rounds, &pastRound{number: n, began: at})
	}
	return r.rounds[len(r.rounds)-1]
}

// read gathers what the records tell.
func (r *replayer) read(list []records.Record) {
	byID := map[protocol.CallID]*pastCall{}
	for _, rec := range list {
		if r.began.IsZero() {
			r.began = rec.Time
		}
		r.record(rec, byID)
	}
}

func (r *replayer) record(rec records.Record, byID map[protocol.CallID]*pastCall) {
	switch v := rec.Record.(type) {
	case history.TurnContext:
		if r.settings.Model == "" {
			r.settings = v.Settings
		}
	case history.UserInput:
		if !v.Marker && v.Text != "" {
			r.words = append(r.words, v.Text)
		}
	case history.AssistantMessage:
		round := r.round(v.Round, rec.Time)
		round.texts = append(round.texts, v)
	case history.ToolStarted:
		r.begin(v.Started(), rec.Time, byID)
	case history.ToolCall:
		call := r.begin(v, rec.Time, byID)
		call.ToolCall, call.ended = v, true
	case history.FileChange:
		if v.Entry > 0 && (r.first == 0 || v.Entry < r.first) {
			r.first = v.Entry
		}
		if call := byID[v.Call]; call != nil && v.Cause != ledger.CauseOutside {
			call.changes = append(call.changes, v)
		}
	case history.Approval:
		if call := byID[v.Call]; call != nil && v.Gates() && v.By != protocol.ByNobody {
			call.asked = true
		}
	case history.TokenUsage:
		if v.Agent == "" {
			r.round(v.Round, rec.Time).usage = &v.Usage
		}
	case history.Compacted:
		r.summaries = append(r.summaries, v.Summary)
	}
}

// begin returns the call under way, or a new one.
func (r *replayer) begin(c history.ToolCall, at time.Time, byID map[protocol.CallID]*pastCall) *pastCall {
	if known := byID[c.Call]; known != nil && known.Round == c.Round {
		return known
	}
	call := &pastCall{ToolCall: c}
	byID[c.Call] = call
	r.calls = append(r.calls, call)
	round := r.round(c.Round, at)
	round.calls = append(round.calls, call)
	return call
}

// again reports whether a call can be made again with the same outcome.
func (c *pastCall) again() bool {
	if !c.ended || c.asked || strings.HasPrefix(c.Result, history.Aborted) ||
		strings.HasPrefix(c.Result, "rejected by the user") {
		return false
	}
	known, ok := tools.Lookup(c.Name)
	if !ok {
		return false
	}
	switch known.Spec().Name {
	case "undo", "request_user_input", "symbols", "definition", "references", "rename": // they ask somebody else
		return false
	}
	return true
}

// base copies the working directory and takes back all that happened since the
// session began.
func (r *replayer) base(ctx context.Context) error {
	if err := copyTree(ctx, r.cwd, r.scratch, r.o.Without); err != nil {
		return err
	}
	r.entries = slices.DeleteFunc(r.entries, func(e ledger.Entry) bool {
		return e.Time.Before(r.began) && (r.first == 0 || e.Seq < r.first)
	})
	r.applied, r.known = map[int64]bool{}, map[string]string{}
	for _, c := range r.calls {
		for _, ch := range c.changes {
			r.applied[ch.Entry] = r.applied[ch.Entry] || c.again()
		}
	}
	for i := len(r.entries) - 1; i >= 0; i-- {
		if err := r.step(inverse(&r.entries[i])); err != nil {
			return err
		}
	}
	return nil
}

// mapped is a path of the session in the copy; false for one outside of it.
func (r *replayer) mapped(path string) (string, bool) {
	rel, err := filepath.Rel(r.cwd, filepath.FromSlash(path))
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.Join(r.scratch, rel), true
}

// others puts in place what others, and calls that are not made again, had
// changed before a round.
func (r *replayer) others(p *pastRound) error {
	owned := int64(0) // the first entry that this round or a later one makes again
	for _, later := range r.rounds[r.next:] {
		for _, c := range later.calls {
			for _, ch := range c.changes {
				if c.again() && (owned == 0 || ch.Entry < owned) {
					owned = ch.Entry
				}
			}
		}
	}
	for i := range r.entries {
		e := &r.entries[i]
		past := e.Time.Before(p.began) && (owned == 0 || e.Seq < owned)
		if r.applied[e.Seq] || !past && !sawAfter(p, e) && !ofRound(p, e) {
			continue
		}
		if err := r.apply(e); err != nil {
			return err
		}
	}
	return nil
}

func (r *replayer) apply(e *ledger.Entry) error {
	r.applied[e.Seq] = true
	if err := r.step(forward(e)); err != nil {
		return err
	}
	for _, c := range e.Changes {
		r.known[c.Path] = records.Sum(c.Post)
	}
	return nil
}

// unnoticed puts changes in place that nobody recorded, those of a command that
// was killed for instance: a call of the round met a file in a state that is not
// the one the record last told of.
func (r *replayer) unnoticed(p *pastRound) error {
	for _, c := range p.calls {
		own := map[string]bool{}
		for _, ch := range c.changes {
			if !own[string(ch.Path)] && c.again() {
				if err := r.met(string(ch.Path), ch.Before, ch.ModeFrom); err != nil {
					return err
				}
			}
			own[string(ch.Path)] = true
			r.known[string(ch.Path)] = ch.After
		}
		for _, s := range c.Observed {
			if own[string(s.Path)] || !c.again() {
				continue
			}
			if err := r.met(string(s.Path), s.Sum, s.Mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// met gives a path of the copy the state in which a call met it, unless the record
// explains that state. Contents that are not kept stay as they are.
func (r *replayer) met(path, sum string, mode uint32) error {
	if was, told := r.known[path]; told && was == sum {
		return nil
	}
	r.known[path] = sum
	to, ok := r.mapped(path)
	if !ok {
		return nil
	}
	if st, err := os.Lstat(to); err == nil && !st.Mode().IsRegular() {
		return nil
	}
	if sum == "" {
		return r.put(path, nil)
	}
	v := &ledger.Version{Kind: "file", Mode: mode}
	if err := v.Sum.UnmarshalText([]byte(sum)); err != nil {
		return nil
	}
	if _, err := r.images.Get(v.Delta().Sum); err != nil {
		return nil
	}
	return r.put(path, v)
}

// sawAfter reports whether a call of the round was shown what an entry left,
// although that was noted later only.
func sawAfter(p *pastRound, e *ledger.Entry) bool {
	for _, c := range p.calls {
		for _, s := range c.Observed {
			for _, ch := range e.Changes {
				if s.Sum != "" && ch.Path == string(s.Path) && records.Sum(ch.Post) == s.Sum && len(c.changes) == 0 {
					return true
				}
			}
		}
	}
	return false
}

// ofRound reports whether an entry was found, as somebody else's, by a call of the
// round before it ran.
func ofRound(p *pastRound, e *ledger.Entry) bool {
	return e.Cause == ledger.CauseOutside &&
		slices.ContainsFunc(p.calls, func(c *pastCall) bool { return string(c.Call) == e.Call })
}

// Label says that no model is asked.
func (r *replayer) Label() string { return "replayed" }

// Stream says the next round again.
func (r *replayer) Stream(ctx context.Context, req *model.Request, emit func(model.Chunk) error) error {
	if len(req.Tools) == 0 && r.at < len(r.summaries) {
		r.at++
		return r.emit(emit, []*model.Item{message(r.summaries[r.at-1])}, nil)
	}
	if r.next >= len(r.rounds) {
		return r.emit(emit, []*model.Item{message("(the end of the record)")}, nil)
	}
	p := r.rounds[r.next]
	if err := errors.Join(r.others(p), r.unnoticed(p)); err != nil {
		r.failed = err
		return err
	}
	r.next++
	var items []*model.Item
	for _, m := range p.texts {
		items = append(items, message(m.Text))
	}
	calls := slices.Clone(p.calls)
	slices.SortStableFunc(calls, func(a, b *pastCall) int { return cmp.Compare(a.Index, b.Index) })
	for _, c := range calls {
		if !c.again() {
			r.report.TakenOver++
			continue
		}
		r.report.Calls++
		items = append(items, &model.Item{Kind: model.Call, CallID: string(c.Call), Name: c.Name, Style: c.Style,
			Input: moved(history.JoinInput(c.Style, c.Args, c.ToolCall.Input), r.cwd, r.scratch)})
	}
	return r.emit(emit, items, p.usage)
}

func message(text string) *model.Item { return history.AssistantMessage{Text: text}.Item() }

func (r *replayer) emit(emit func(model.Chunk) error, items []*model.Item, u *protocol.Usage) error {
	for i, it := range items {
		if err := emit(model.ItemDone{Index: i, Item: it}); err != nil {
			return err
		}
	}
	done := model.Done{}
	if u != nil {
		usage := model.Usage(*u)
		done.Usage = &usage
	}
	return emit(done)
}

// run plays the rounds in a session of their own and compares.
func (r *replayer) run(ctx context.Context) error {
	set := r.settings
	set.Cwd = r.scratch
	if set.Sandbox == protocol.SandboxFull || set.Sandbox == "" {
		set.Sandbox = protocol.SandboxWorkspace
	}
	s, dir, err := r.o.Open(ctx, filepath.Join(r.top, "home"), set, r)
	if err != nil {
		return err
	}
	defer s.Close()
	for n := 0; r.next < len(r.rounds); n++ {
		text := "go on"
		if n < len(r.words) {
			text = r.words[n]
		}
		before := r.next
		if err := turnOver(ctx, s, fmt.Sprintf("replay-%d", n), text); err != nil {
			return err
		}
		if r.failed != nil {
			return r.failed
		}
		if r.next == before {
			return errors.New("the session could not continue")
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	list, _, err := records.Read(dir)
	if err != nil {
		return err
	}
	r.compare(list)
	return nil
}

// turnOver says something and waits for the end of the turn.
func turnOver(ctx context.Context, s protocol.Session, id, text string) error {
	said := protocol.UserInput{Items: []protocol.Input{{Text: text}}}
	if err := s.Submit(ctx, protocol.Submission{ID: id, Op: said}); err != nil {
		return err
	}
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				return errors.New("the session ended")
			}
			switch m := e.Msg.(type) {
			case protocol.TurnCompleted, protocol.TurnAborted:
				return nil
			case protocol.TurnFailed:
				return errors.New(m.Error.Message)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// compare finds the first call that went otherwise.
func (r *replayer) compare(list []records.Record) {
	now := &replayer{}
	now.read(list)
	byID := map[protocol.CallID]*pastCall{}
	for _, c := range now.calls {
		byID[c.Call] = c
	}
	for _, c := range r.calls {
		if !c.again() {
			continue
		}
		if d := r.difference(c, byID[c.Call]); d != nil {
			d.Turn, d.Round, d.Call, d.Tool = string(c.Turn), c.Round, string(c.Call), c.Name
			r.report.Divergence = d
			return
		}
	}
}

func (r *replayer) difference(was, now *pastCall) *Divergence {
	if now == nil || !now.ended {
		return &Divergence{What: "the call did not end", Recorded: was.Result}
	}
	if a, b := changesText(was.changes, "", ""), changesText(now.changes, r.scratch, r.cwd); a != b {
		return &Divergence{What: "it changed something else", Recorded: a, Replayed: b}
	}
	if a, b := exitText(was), exitText(now); a != b {
		return &Divergence{What: "it ended in another way", Recorded: a, Replayed: b}
	}
	a, b := settled(was.Result), settled(moved(now.Result, r.scratch, r.cwd))
	if a != b {
		return &Divergence{What: "its result is different", Recorded: a, Replayed: b}
	}
	return nil
}

func exitText(c *pastCall) string {
	if c.Exit != nil {
		return fmt.Sprintf("exit code %d", *c.Exit)
	}
	return fmt.Sprintf("success %t", c.Success)
}

// changesText lists changes by path, with the sums of the contents.
func changesText(list []history.FileChange, from, to string) string {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%s %s %.12s -> %.12s", c.Operation, moved(string(c.Path), from, to),
			cmp.Or(c.Before, "nothing"), cmp.Or(c.After, "nothing")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
