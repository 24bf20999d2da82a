package turn

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// world plays the caller of a core: it answers effects in random order, late or
// twice, and checks the laws after every step.
type world struct {
	trace func(Input, Ready)
	rng   *rand.Rand
	core  *Core

	todo    []Input // answers that are due; each chunk stream is one entry at a time
	streams map[int]*stream
	late    []Input                                 // answers given before, to be given again
	asks    map[protocol.ApprovalID]protocol.CallID // open; with the call that waits, if one does
	ask     askers

	lines []history.Line
	law   string // the first law broken

	inputs    int
	known     map[string]bool // inputs that reached history or came back
	started   map[protocol.TurnID]int
	ended     map[protocol.TurnID]int
	recorded  map[protocol.TurnID]string // how it ended, by its record
	stopped   map[protocol.TurnID]bool
	needAsk   map[protocol.CallID]bool
	again     map[protocol.CallID]int // how often a call was asked about anew
	allowed   map[protocol.CallID]bool
	runs      map[protocol.CallID]int
	prepares  map[protocol.CallID]int
	active    map[protocol.CallID]bool // prepared or running
	alone     map[protocol.CallID]bool // must run alone
	open      map[protocol.ItemID]protocol.TurnID
	over      map[protocol.ItemID]bool // items that were completed or dropped
	lastItems []*model.Item
	running   protocol.TurnID
	submits   int
	closed    bool
	queued    []string                   // inputs that wait, as last told
	anew      bool                       // the history was compacted or cut since the last request
	written   bool                       // records are kept as JSON, to be read back
	reads     int                        // reads of a file that were made up
	files     int                        // the last of them that was recorded
	asking    Asker                      // of the question that the core is being told
	lastText  string                     // the last input that reached the history
	goals     map[protocol.TurnID]string // of turns that have one with a check
	passed    map[protocol.TurnID]bool   // the last thing such a turn did was a check that passed
}

// stream is a response under way.
type stream struct {
	round  int
	chunks []model.Chunk
	end    error
}

func newWorld(seed uint64, f Fault) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), streams: map[int]*stream{},
		asks:  map[protocol.ApprovalID]protocol.CallID{},
		known: map[string]bool{}, started: map[protocol.TurnID]int{}, ended: map[protocol.TurnID]int{}, recorded: map[protocol.TurnID]string{},
		stopped: map[protocol.TurnID]bool{},
		needAsk: map[protocol.CallID]bool{}, again: map[protocol.CallID]int{}, allowed: map[protocol.CallID]bool{}, runs: map[protocol.CallID]int{},
		prepares: map[protocol.CallID]int{}, active: map[protocol.CallID]bool{}, alone: map[protocol.CallID]bool{}, open: map[protocol.ItemID]protocol.TurnID{},
		goals: map[protocol.TurnID]string{}, passed: map[protocol.TurnID]bool{}, over: map[protocol.ItemID]bool{}}
	// Writing and reading records costs more than all the rest.
	w.written = seed%4 == 0
	w.ask = newAskers()
	w.ask.headless = seed%7 == 0
	o := Options{Headless: w.ask.headless, RequestRetries: 2, StreamRetries: 2, MaxCalls: 6, Parallel: parallel, Fault: f}
	switch w.rng.IntN(8) {
	case 0:
		o.Budget = Budget{Rounds: 1 + w.rng.IntN(4)}
	case 1:
		o.Budget = Budget{Wall: time.Second, Tokens: 200}
	}
	if w.rng.IntN(3) == 0 { // small models: compaction is frequent
		o.Limits = func(name string) (int, int) { return 20 + 20*len(name), 18 + 18*len(name) }
	}
	w.core = New(o, nil)
	return w
}

// parallel calls are those whose tool is called p.
func parallel(c tool.Call) bool { return c.Name == "p" }

func (w *world) broke(law, format string, args ...any) {
	if w.law == "" {
		w.law = law + ": " + fmt.Sprintf(format, args...)
	}
}

// play runs one schedule to its end and returns the first broken law, or "".
func (w *world) play() string {
	steps := 20 + w.rng.IntN(120)
	for range steps {
		w.operation()
		if w.law != "" {
			return w.law
		}
	}
	w.drain()
	return w.law
}

// operation does one random thing.
func (w *world) operation() {
	switch n := w.rng.IntN(100); {
	case n < 8 || w.inputs == 0:
		w.say(w.rng.IntN(12) == 0)
	case n < 11:
		w.interrupt()
	case n < 12 && w.rng.IntN(4) == 0:
		w.step(Submit{ID: "bye", Op: protocol.Shutdown{}})
	case n < 14:
		w.op()
	case n < 16:
		w.stray()
	case n < 24:
		w.decide()
	case n < 32 && len(w.late) > 0:
		w.repeat()
	default:
		w.answer()
	}
}

func (w *world) say(replace bool) {
	if w.closed { // nobody can submit to a session that ended
		return
	}
	w.inputs++
	w.submits++
	text := fmt.Sprintf("input-%d.", w.inputs)
	if replace && w.running != "" {
		w.stopped[w.running] = true
	}
	id := fmt.Sprintf("turn-%d", w.submits)
	var g *protocol.Goal
	if w.rng.IntN(6) == 0 {
		g = &protocol.Goal{Text: "reach " + text, Check: "true", Checks: w.rng.IntN(4)}
		w.goals[protocol.TurnID(id)] = g.Text
	}
	w.step(Submit{ID: id, Op: protocol.UserInput{Items: []protocol.Input{{Text: text}}, Replace: replace, Goal: g}})
}

// op submits one of the other ops.
func (w *world) op() {
	if w.closed {
		return
	}
	w.submits++
	id := fmt.Sprintf("op-%d", w.submits)
	switch w.rng.IntN(10) {
	case 0:
		set := protocol.Settings{Model: []string{"m", "mmm"}[w.rng.IntN(2)],
			Approval: []protocol.ApprovalPolicy{protocol.PolicyPlan, protocol.PolicyNever, "odd"}[w.rng.IntN(3)]}
		w.step(Submit{ID: id, Op: protocol.Configure{Settings: set}})
	case 1:
		w.step(Submit{ID: id, Op: protocol.Compact{}})
	case 2, 3:
		w.step(Submit{ID: id, Op: protocol.Shell{Command: "date"}})
	case 4:
		w.step(Submit{ID: id, Op: protocol.Undo{DryRun: w.rng.IntN(2) == 0}})
	case 5:
		w.rewind(id)
	case 6:
		w.step(Submit{ID: id, Op: protocol.Rename{Title: "title"}})
	case 7:
		w.step(Submit{ID: id, Op: protocol.Unqueue{}})
	default:
		w.inputs++
		text := fmt.Sprintf("input-%d.", w.inputs)
		w.step(Submit{ID: id, Op: protocol.UserInput{Items: []protocol.Input{{Text: text}}, Queue: true}})
	}
}

func (w *world) rewind(id string) {
	to := protocol.TurnID("turn-none")
	if n := len(w.core.order); n > 0 {
		to = w.core.order[w.rng.IntN(n)]
	}
	w.step(Submit{ID: id, Op: protocol.Rewind{Turn: to, Conversation: w.rng.IntN(3) > 0, Files: w.rng.IntN(2) == 0}})
}

func (w *world) interrupt() {
	if w.running != "" {
		w.stopped[w.running] = true
	}
	w.step(Submit{ID: "stop", Op: protocol.Interrupt{}})
}

// decide answers one open approval, or one that is not open.
func (w *world) decide() {
	d := []protocol.Decision{protocol.Once, protocol.ForSession, protocol.Deny, protocol.Abort}[w.rng.IntN(4)]
	if open := w.openAsks(); len(open) > 0 {
		id := open[w.rng.IntN(len(open))]
		call := w.asks[id]
		delete(w.asks, id)
		switch from, beside := w.ask.told[id]; {
		case beside:
			w.ask.allowed[from] = d.Allows()
		case d.Allows():
			w.allowed[call] = true
		default:
			delete(w.active, call)
		}
		if d == protocol.Abort && w.running != "" && w.ask.told[id].Agent == "" {
			w.stopped[w.running] = true
		}
		in := Submit{ID: "answer", Op: protocol.Answer{Approval: id, Decision: d}}
		w.step(in)
		w.late = append(w.late, in)
		return
	}
	w.mustBeQuiet(Submit{ID: "answer", Op: protocol.Answer{Approval: "ask_none", Decision: d}})
}

// repeat gives an old answer again: nothing may follow from it (L5).
func (w *world) repeat() { w.mustBeQuiet(w.late[w.rng.IntN(len(w.late))]) }

func (w *world) mustBeQuiet(in Input) {
	before := len(w.core.items)
	r := w.core.Step(in)
	if !r.Empty() || len(w.core.items) != before {
		w.broke("L5", "a late %T had effects: %+v", in, r)
	}
}

// answer gives one of the answers that are due.
func (w *world) answer() {
	n := len(w.todo) + len(w.streams)
	if n == 0 {
		return
	}
	i := w.rng.IntN(n)
	if i < len(w.todo) {
		in := w.todo[i]
		w.todo = append(w.todo[:i], w.todo[i+1:]...)
		w.give(in)
		return
	}
	// In the order of their rounds, so that a seed replays exactly.
	rounds := slices.Sorted(maps.Keys(w.streams))
	w.stream(w.streams[rounds[i-len(w.todo)]])
}

func (w *world) give(in Input) {
	switch in := in.(type) {
	case Checked:
		w.passed[w.running] = in.Passed
	case Finished:
		delete(w.active, in.Call)
	case AskAgain:
		w.needAsk[in.Call], w.allowed[in.Call] = true, false
		if w.ask.headless { // its end
			delete(w.active, in.Call)
		}
	case Prepared:
		if in.Outcome != nil || in.Verdict == Ask && w.ask.headless {
			delete(w.active, in.Call)
		}
		if in.Verdict == Ask && in.Outcome == nil {
			w.needAsk[in.Call] = true
		}
	}
	w.step(in)
	if _, asks := in.(Asked); !asks { // a question is asked once
		w.late = append(w.late, in)
	}
}

func (w *world) stream(s *stream) {
	if len(s.chunks) > 0 {
		ch := s.chunks[0]
		s.chunks = s.chunks[1:]
		w.step(Chunk{Round: s.round, Chunk: ch})
		if w.rng.IntN(30) == 0 { // a duplicated event
			w.step(Chunk{Round: s.round, Chunk: ch})
		}
		return
	}
	delete(w.streams, s.round)
	w.give(StreamEnded{Round: s.round, Err: s.end})
}

// step feeds the core and checks what comes out.
func (w *world) step(in Input) {
	if in, ok := in.(Asked); ok {
		w.asking = in.From
		defer func() { w.asking = Asker{} }()
	}
	r := w.core.Step(in)
	if w.trace != nil {
		w.trace(in, r)
	}
	for _, rec := range r.Records {
		w.keep(rec)
	}
	for _, e := range r.Events {
		w.event(e)
	}
	for _, e := range r.Effects {
		w.effect(e)
	}
}

func (w *world) keep(rec history.Record) {
	w.keepQuestion(rec)
	if w.written {
		b, err := json.Marshal(rec)
		if err != nil {
			w.broke("record", "%v", err)
			return
		}
		w.lines = append(w.lines, history.Line{Type: rec.Type(), JSON: b})
	}
	switch rec := rec.(type) {
	case history.UserInput:
		w.reached(rec.Text)
		if !rec.Marker {
			w.lastText = rec.Text
		}
	case history.ToolCall:
		if len(rec.Observed) > 0 {
			w.files = rec.Observed[0].Version
		}
	case history.Compacted:
		w.compacted(rec)
	case history.EventRecord:
		switch rec.What {
		case history.Rewound:
			w.anew, w.lastText = true, ""
		case history.TurnCompleted, history.TurnFailed, history.TurnAborted:
			w.recorded[rec.Turn] = rec.What
		}
	}
}

// compacted checks what a compaction must keep (L11).
func (w *world) compacted(c history.Compacted) {
	w.anew = true
	text := ""
	for _, it := range c.Items {
		if it.Kind != model.Message {
			w.broke("L11", "a compaction keeps a %s", it.Kind)
		}
		text += it.Text() + "\n"
	}
	if !strings.Contains(text, w.lastText) {
		w.broke("L11", "the last words of the user (%s) are lost:\n%s", w.lastText, text)
	}
	if c.Notes.Plan != nil && !strings.Contains(text, c.Notes.Plan.Steps[0].Step) {
		w.broke("L11", "the plan is lost")
	}
	if w.files > 0 && !strings.Contains(text, fmt.Sprintf("contentHash hash-%d", w.files)) {
		w.broke("L11", "the version of a file is lost")
	}
}

func (w *world) reached(text string) {
	for _, s := range strings.Split(text, "\n") {
		w.known[s] = true
	}
}

func (w *world) event(t Told) {
	switch m := t.Msg.(type) {
	case protocol.QueueChanged:
		for _, in := range m.Taken {
			w.known[in.Text] = true // handed back
		}
		w.queued = nil
		for _, in := range m.Waiting {
			w.queued = append(w.queued, in[0].Text)
		}
	case protocol.TurnStarted:
		w.started[t.Turn]++
		w.running = t.Turn
	case protocol.TurnCompleted:
		if w.goals[t.Turn] != "" && !w.passed[t.Turn] {
			w.broke("L13", "turn %s ended well, and its check did not pass", t.Turn)
		}
		w.end(t.Turn, history.TurnCompleted)
	case protocol.TurnFailed:
		w.end(t.Turn, history.TurnFailed)
	case protocol.TurnAborted:
		for _, in := range m.Undelivered {
			w.reached(in.Text)
		}
		if w.mine() && t.Turn != "" && m.Reason != protocol.AbortBudget {
			w.broke("L12", "turn %s was aborted and a question is open", t.Turn)
		}
		if t.Turn != "" {
			w.end(t.Turn, history.TurnAborted)
		}
	case protocol.ItemStarted:
		w.open[m.Item.ID] = t.Turn
	case protocol.ItemCompleted:
		w.itemOver(m.Item.ID)
	case protocol.ItemDropped:
		w.itemOver(m.Item)
	case protocol.ApprovalRequested:
		w.questionTold(m.Approval.ID, 1)
		w.asks[m.Approval.ID] = m.Approval.Call
		if w.asking != (Asker{}) {
			w.ask.told[m.Approval.ID] = w.asking
		}
	case protocol.ApprovalResolved:
		w.questionTold(m.Approval, 2)
		if m.Decision == protocol.Void {
			if _, beside := w.ask.told[m.Approval]; !beside {
				delete(w.active, w.asks[m.Approval])
			}
			delete(w.asks, m.Approval)
		}
	}
}

// itemOver takes in that an item was completed or dropped, which happens once.
func (w *world) itemOver(id protocol.ItemID) {
	if w.over[id] {
		w.broke("L10", "item %s ended twice", id)
	}
	w.over[id] = true
	delete(w.open, id)
}

func (w *world) end(id protocol.TurnID, as string) {
	w.ended[id]++
	if w.recorded[id] != as {
		w.broke("L2", "turn %s ended as %s and is recorded as %q", id, as, w.recorded[id])
	}
	w.running = ""
	clear(w.active)
	if w.ended[id] > 1 {
		w.broke("L2", "turn %s ended %d times", id, w.ended[id])
	}
	for item, turn := range w.open {
		if turn == id {
			w.broke("L10", "turn %s ended with item %s open", id, item)
		}
	}
}

func (w *world) effect(e Effect) {
	switch e := e.(type) {
	case Gather:
		w.todo = append(w.todo, Gathered{Turn: e.Turn, Again: e.Again,
			Items: []*model.Item{model.UserText("context of " + string(e.Turn))},
			Facts: map[string]string{"turn": string(e.Turn)}})
	case CallModel:
		w.request(e)
	case StopModel:
		if s := w.streams[e.Round]; s != nil {
			s.chunks, s.end = nil, fmt.Errorf("stopped")
		}
	case Prepare:
		w.prepare(e)
	case Run:
		w.run(e)
	case Reply:
		w.replied(e)
	case StopCall, Kill, Forget:
	case Check:
		w.check(e)
	case RunShell:
		w.todo = append(w.todo, ShellDone{Call: e.Call, Outcome: Outcome{Text: "today", Success: true}})
	case Undo:
		in := Undone{ID: e.ID, Text: "files changed", Report: protocol.UndoReport{DryRun: e.Op.DryRun}}
		if w.rng.IntN(3) == 0 {
			in.Report.Problem = "conflict"
		}
		w.todo = append(w.todo, in)
	case Wait:
		w.todo = append(w.todo, Elapsed{Timer: e.Timer})
	case StopWait:
	case Settle:
		w.todo = append(w.todo, Settled{Turn: e.Turn})
	case End:
		w.closed = true
	}
}

func (w *world) request(e CallModel) {
	if w.stopped[e.Turn] {
		w.broke("L4", "request %d of turn %s after its interrupt", e.Round, e.Turn)
	}
	if msg := pairing(e.Items); msg != "" {
		w.broke("L1", "request %d: %s", e.Round, msg)
	}
	if w.anew {
		w.lastItems, w.anew = nil, false
	}
	if e.Compact {
		w.summary(e)
		return
	}
	if len(e.Items) < len(w.lastItems) {
		w.broke("L7", "request %d has %d items, the one before %d", e.Round, len(e.Items), len(w.lastItems))
		return
	}
	for i, it := range w.lastItems {
		if e.Items[i] != it {
			w.broke("L7", "item %d of request %d differs", i, e.Round)
			return
		}
	}
	if g := w.goals[e.Turn]; g != "" {
		w.passed[e.Turn] = false
		if !slices.ContainsFunc(e.Items, func(it *model.Item) bool { return strings.Contains(it.Text(), g) }) {
			w.broke("L13", "request %d of turn %s does not have its goal", e.Round, e.Turn)
		}
	}
	w.lastItems = e.Items
	w.streams[e.Round] = w.response(e.Round)
}

// check answers the check of a goal at random.
func (w *world) check(e Check) {
	passed := w.rng.IntN(3) == 0
	if e.Goal.Text != w.goals[e.Turn] {
		w.broke("L13", "the goal %q of turn %s became %q", w.goals[e.Turn], e.Turn, e.Goal.Text)
	}
	w.todo = append(w.todo, Checked{Call: e.Call, Passed: passed, Outcome: Outcome{Text: "checked", Success: passed}})
}

// summary answers a request for a summary. It begins with the request before,
// unless that was too long.
func (w *world) summary(e CallModel) {
	s := &stream{round: e.Round}
	w.streams[e.Round] = s
	switch w.rng.IntN(8) {
	case 0:
		s.end = &model.Error{Kind: model.Context, Message: "too long"}
	case 1:
		s.end = &model.Error{Kind: model.Broken, Message: "cut", Began: true}
	case 2:
		s.end = &model.Error{Kind: model.Auth, Message: "no"}
	default:
		it := &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "summary"}}}
		s.chunks = []model.Chunk{model.Started{}, model.ItemDone{Item: it},
			model.Done{Usage: &model.Usage{Input: 50, Output: 2}}}
	}
}

func pairing(items []*model.Item) string {
	calls, outs := map[string]int{}, map[string]int{}
	for _, it := range items {
		switch it.Kind {
		case model.Call:
			calls[it.CallID]++
		case model.Output:
			outs[it.CallID]++
		}
	}
	for id, n := range calls {
		if n != 1 || outs[id] != 1 {
			return fmt.Sprintf("call %s is there %d times with %d outputs", id, n, outs[id])
		}
	}
	for id := range outs {
		if calls[id] == 0 {
			return "an output of " + id + " without its call"
		}
	}
	return ""
}

// response makes a random response: messages, reasoning and calls, perhaps cut.
func (w *world) response(round int) *stream {
	s := &stream{round: round}
	if w.rng.IntN(12) == 0 {
		s.end = &model.Error{Kind: []model.ErrorKind{model.Server, model.RateLimit, model.Auth, model.BadCall,
			model.Context}[w.rng.IntN(5)], Message: "refused"}
		return s
	}
	s.chunks = append(s.chunks, model.Started{})
	for i := range w.rng.IntN(5) {
		s.chunks = append(s.chunks, w.item(round, i)...)
	}
	s.chunks = append(s.chunks, model.Done{Usage: &model.Usage{Input: 10, Output: 2}})
	if w.rng.IntN(6) == 0 {
		s.chunks = s.chunks[:w.rng.IntN(len(s.chunks))]
		s.end = &model.Error{Kind: model.Broken, Message: "cut", Began: true}
	}
	return s
}

func (w *world) item(round, i int) []model.Chunk {
	switch w.rng.IntN(4) {
	case 0:
		text, half := "hello", 3
		if w.rng.IntN(3) == 0 {
			text = "so:\n<proposed_plan>\n- do it\n</proposed_plan>\n"
			half = w.rng.IntN(len(text))
		}
		it := &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: text}}}
		return []model.Chunk{model.ItemAdded{Index: i, Item: it}, model.TextDelta{Index: i, Text: text[:half]},
			model.TextDelta{Index: i, Text: text[half:]}, model.ItemDone{Index: i, Item: it}}
	case 1:
		it := &model.Item{Kind: model.Reasoning, ID: "rs", Summary: []string{"hm"}, Encrypted: "x"}
		return []model.Chunk{model.ReasoningDelta{Index: i, Text: "hm"}, model.ItemDone{Index: i, Item: it}}
	}
	name := []string{"p", "p", "x"}[w.rng.IntN(3)]
	id := fmt.Sprintf("call-%d-%d", round, i)
	if w.rng.IntN(15) == 0 {
		id = "call-again"
	}
	it := &model.Item{Kind: model.Call, CallID: id, Name: name, Style: model.Function, Input: `{"a": 1}`}
	if w.rng.IntN(5) == 0 {
		it.Style, it.Input = model.Freeform, "*** text\n"
	}
	return []model.Chunk{model.ItemAdded{Index: i, Item: it}, model.ItemDone{Index: i, Item: it}}
}

func (w *world) prepare(e Prepare) {
	id := e.Call.ID
	if w.prepares[id]++; w.prepares[id] > 1 {
		w.broke("L9", "call %s was prepared %d times", id, w.prepares[id])
	}
	for other := range w.active {
		if !parallel(e.Call) || w.alone[other] {
			w.broke("L9", "call %s began beside %s", id, other)
		}
	}
	w.active[id], w.alone[id] = true, !parallel(e.Call)
	in := Prepared{Call: id}
	switch w.rng.IntN(4) {
	case 0:
		in.Outcome = &Outcome{Text: "answer", Success: true}
		switch w.rng.IntN(3) {
		case 0:
			in.Outcome.Todo = &protocol.TodoList{Steps: []protocol.Step{{Step: "step of " + string(id), Status: "pending"}}}
		case 1:
			w.reads++
			in.Outcome.Observed = []history.Observation{{Path: "/w/f", Sum: "s", Hash: fmt.Sprintf("hash-%d", w.reads),
				Version: w.reads}}
		}
	case 1:
		in.Verdict, in.Approval = Ask, &protocol.Approval{Command: &protocol.CommandApproval{Command: "rm x"}}
		in.Body = protocol.Command{Call: id, Command: "rm x"}
	default:
		in.Body = protocol.Command{Call: id, Command: "ls"}
	}
	w.todo = append(w.todo, in)
}

func (w *world) run(e Run) {
	if w.needAsk[e.Call] && !w.allowed[e.Call] {
		w.broke("L3", "call %s ran unasked", e.Call)
	}
	if w.again[e.Call] < 2 && w.rng.IntN(8) == 0 {
		w.again[e.Call]++
		in := AskAgain{Call: e.Call, Try: e.Try,
			Approval: protocol.Approval{Command: &protocol.CommandApproval{Command: "rm x"}}}
		if w.rng.IntN(2) == 0 {
			in.Prior = &Outcome{Text: "refused by the sandbox"}
		}
		w.todo = append(w.todo, in)
		return
	}
	if w.runs[e.Call]++; w.runs[e.Call] > 1 {
		w.broke("L9", "call %s ran %d times", e.Call, w.runs[e.Call])
	}
	finish := func() {
		w.todo = append(w.todo, Finished{Call: e.Call,
			Outcome: Outcome{Text: "done " + string(e.Call), Success: w.rng.IntN(2) == 0}})
	}
	if w.rng.IntN(6) == 0 {
		w.askBeside(e.Call, "", finish)
		return
	}
	finish()
}

// drain answers everything that is due and checks the laws of the end.
func (w *world) drain() {
	for range 20000 {
		if w.law != "" {
			return
		}
		if len(w.todo)+len(w.streams) == 0 {
			if len(w.asks) == 0 {
				break
			}
			w.decide()
			continue
		}
		w.answer()
	}
	if w.core.Busy() {
		w.broke("L6", "all effects are answered and the turn still runs")
		return
	}
	w.allAnswered()
	for id := range w.started {
		if w.ended[id] != 1 {
			w.broke("L2", "turn %s ended %d times", id, w.ended[id])
		}
	}
	for _, text := range w.queued { // a failed turn leaves them waiting, and told
		w.known[text] = true
	}
	for i := 1; i <= w.inputs; i++ {
		if !w.known[fmt.Sprintf("input-%d.", i)] {
			w.broke("L8", "input %d was lost", i)
		}
	}
	if msg := pairing(w.core.items); msg != "" {
		w.broke("L1", "%s", msg)
	}
	if w.written {
		w.rebuild()
	}
}

// rebuild checks that the records alone give the history back, and that every
// prefix of them is a history that can be sent.
func (w *world) rebuild() {
	st := history.Rebuild(w.lines)
	got, _ := json.Marshal(st.Items)
	want, _ := json.Marshal(w.core.items)
	if string(got) != string(want) && w.law == "" {
		w.broke("rebuild", "records give\n%s\nthe core has\n%s", got, want)
	}
	cut := w.rng.IntN(len(w.lines) + 1)
	if msg := pairing(history.Rebuild(w.lines[:cut]).Items); msg != "" {
		w.broke("rebuild", "cut at line %d: %s", cut, msg)
	}
}
