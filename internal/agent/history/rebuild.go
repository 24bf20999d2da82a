package history

import (
	"cmp"
	"maps"
	"slices"

	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/order"
)

// Aborted is the output given to calls that never got one.
const Aborted = "aborted"

// State is what the records of a session amount to.
type State struct {
	Meta     SessionMeta
	Items    []*model.Item
	Settings protocol.Settings
	// Facts is what the model was last told of its surroundings.
	Facts map[string]string
	Total protocol.Usage
	Turns int
	// Rounds and Calls are the highest numbers in use.
	Rounds int
	// Seen is what the model last saw of each file.
	Seen map[string]Observation
	// First is the first message of the user.
	First string
	// LastDiff is the diff file of the last turn that changed something.
	LastDiff string
	// Skipped counts lines that could not be read.
	Skipped int
	// Words are the items that the user said, Notes the machine-made record.
	Words []*model.Item
	Notes *Notes
	// Marks are the places to which the conversation can go back.
	Marks []Mark
	// Observations are the calls, cut down to what they showed of files, whose outputs
	// are in Items.
	Observations []ToolCall
	// Order names the turns in order, also those that are no conversation.
	Order []protocol.TurnID
	// Context is the size in tokens that the last response reported, 0 when the
	// history is new since.
	Context int
}

// Mark is where a turn begins.
type Mark struct {
	Turn  protocol.TurnID
	Items int // how many items are before it
	Words int
	Facts map[string]string // what the model had been told before it
	seen  int
}

// Rebuild reads the lines of a rollout in order. Lines it does not understand
// are counted and passed over; calls without an output get [Aborted].
func Rebuild(lines []Line) *State { return newBuilder().all(lines) }

func newBuilder() *builder {
	return &builder{State: State{Facts: map[string]string{}, Seen: map[string]Observation{}, Notes: &Notes{}}}
}

func (b *builder) all(lines []Line) *State {
	for _, l := range lines {
		if err := b.line(l); err != nil {
			b.Skipped++
		}
	}
	b.closeRound()
	return &b.State
}

// builder gathers the records of one response until it is whole: calls come
// before outputs, whatever the order in which they were written.
type builder struct {
	State
	turn  protocol.TurnID
	round int
	parts []part
}

// part is one item of the response being gathered; out is its output, if a call.
type part struct {
	index int
	item  *model.Item
	out   *model.Item
}

func (b *builder) line(l Line) error {
	r, err := l.Decode()
	if err != nil {
		return err
	}
	switch r := r.(type) {
	case SessionMeta:
		b.Meta = r
	case TurnContext:
		b.turnContext(r)
	case UserInput:
		b.userInput(r)
	case AssistantMessage:
		b.message(r)
	case Reasoning:
		b.part(r.Turn, r.Round, r.Index, r.Item())
	case ToolStarted:
		call, _ := r.Started().Items()
		b.part(r.Turn, r.Round, r.Index, call)
	case ToolCall:
		b.toolCall(r)
	case TokenUsage:
		b.tokenUsage(r)
	case FileChange:
		b.fileChange(r)
	case Compacted:
		b.compacted(r)
	case EventRecord:
		if r.What == Rewound {
			b.rewound(r.Turn)
		}
	}
	return nil
}

// inTurn notes the order of turns.
func (b *builder) inTurn(id protocol.TurnID) {
	if id != "" && (len(b.Order) == 0 || b.Order[len(b.Order)-1] != id) {
		b.Order = append(b.Order, id)
	}
}

func (b *builder) tokenUsage(u TokenUsage) {
	b.Total = b.Total.Add(u.Usage)
	if u.Agent != "" {
		return // it is about another conversation
	}
	b.Context = u.Usage.Total()
	b.Rounds = max(b.Rounds, u.Round)
}

func (b *builder) fileChange(c FileChange) {
	b.LastDiff = c.DiffPath
	b.inTurn(c.Turn)
	b.Notes.Observe(c)
}

// compacted starts the history anew.
func (b *builder) compacted(c Compacted) {
	b.closeRound()
	b.Items, b.Facts, b.Marks, b.Words, b.Context, b.Observations = c.Items, maps.Clone(c.Facts), nil, nil, 0, nil
	if b.Facts == nil {
		b.Facts = map[string]string{}
	}
	for _, i := range c.Words {
		if i >= 0 && i < len(c.Items) {
			b.Words = append(b.Words, c.Items[i])
		}
	}
	if c.Notes != nil {
		b.Notes = c.Notes
	}
}

// rewound forgets a turn and all that follow it.
func (b *builder) rewound(id protocol.TurnID) {
	b.closeRound()
	i := slices.IndexFunc(b.Marks, func(m Mark) bool { return m.Turn == id })
	if i < 0 {
		b.Skipped++
		return
	}
	m := b.Marks[i]
	b.Items, b.Words = b.Items[:m.Items:m.Items], b.Words[:m.Words:m.Words]
	b.Facts, b.Marks, b.Context = maps.Clone(m.Facts), b.Marks[:i:i], 0
	for _, t := range b.Observations[m.seen:] {
		for _, s := range t.Observed {
			delete(b.Seen, string(s.Path))
		}
	}
	b.Observations = b.Observations[:m.seen:m.seen]
}

func (b *builder) turnContext(c TurnContext) {
	b.closeRound()
	b.Turns++
	b.inTurn(c.Turn)
	b.Marks = append(b.Marks, Mark{Turn: c.Turn, Items: len(b.Items), Words: len(b.Words), Facts: maps.Clone(b.Facts),
		seen: len(b.Observations)})
	b.Settings = c.Settings
	for k, v := range c.Facts {
		b.Facts[k] = v
	}
	b.Items = append(b.Items, c.Items...)
}

func (b *builder) userInput(u UserInput) {
	b.closeRound()
	if b.First == "" && !u.Marker {
		b.First = u.Text
	}
	b.Items = append(b.Items, u.Item())
	if !u.Marker {
		b.Words = append(b.Words, b.Items[len(b.Items)-1])
	}
}

// Item returns the message as the model sees it.
func (u UserInput) Item() *model.Item {
	it := &model.Item{Kind: model.Message, Role: "user"}
	if u.Text != "" || len(u.Images) == 0 {
		it.Content = append(it.Content, model.Part{Text: u.Text})
	}
	for _, url := range u.Images {
		it.Content = append(it.Content, model.Part{ImageURL: url})
	}
	return it
}

// Item returns the message as the model sees it.
func (m AssistantMessage) Item() *model.Item {
	return &model.Item{Kind: model.Message, ID: m.ItemID, Role: "assistant", Content: []model.Part{{Text: m.Text}}}
}

// Item returns the reasoning as it goes back to the provider.
func (r Reasoning) Item() *model.Item {
	return &model.Item{Kind: model.Reasoning, ID: r.ItemID, Summary: r.Summary, Encrypted: r.Encrypted}
}

// Items returns the call and its output.
func (t ToolCall) Items() (call, out *model.Item) {
	call = &model.Item{Kind: model.Call, ID: t.ItemID, CallID: string(t.Call), Name: t.Name, Style: t.Style,
		Input: JoinInput(t.Style, t.Args, t.Input)}
	out = model.OutputText(call, t.Result)
	for _, url := range t.Images {
		out.Content = append(out.Content, model.Part{ImageURL: url})
	}
	return call, out
}

func (b *builder) message(m AssistantMessage) {
	b.part(m.Turn, m.Round, m.Index, m.Item())
	b.Notes.Observe(m)
}

// part adds an item to the response of a round.
func (b *builder) part(turn protocol.TurnID, round, index int, it *model.Item) {
	b.enter(turn, round)
	b.parts = append(b.parts, part{index, it, nil})
}

func (b *builder) toolCall(t ToolCall) {
	b.enter(t.Turn, t.Round)
	for _, s := range t.Observed {
		b.Seen[string(s.Path)] = s
	}
	if len(t.Observed) > 0 {
		b.Observations = append(b.Observations, ToolCall{Turn: t.Turn, Call: t.Call, Observed: t.Observed})
	}
	b.Notes.Observe(t)
	call, out := t.Items()
	for i := range b.parts {
		if b.parts[i].item.CallID == call.CallID {
			b.parts[i] = part{t.Index, call, out}
			return
		}
	}
	b.parts = append(b.parts, part{t.Index, call, out})
}

// enter makes turn and round the response being gathered.
func (b *builder) enter(turn protocol.TurnID, round int) {
	if turn != b.turn || round != b.round {
		b.closeRound()
	}
	b.turn, b.round = turn, round
	b.Rounds = max(b.Rounds, round)
}

// closeRound appends what was gathered: the items by index, then the outputs in
// the order of their calls.
func (b *builder) closeRound() {
	order.Stably(b.parts, func(x, y part) int { return cmp.Compare(x.index, y.index) })
	for _, p := range b.parts {
		b.Items = append(b.Items, p.item)
	}
	for _, p := range b.parts {
		if p.item.Kind != model.Call {
			continue
		}
		if p.out == nil {
			p.out = model.OutputText(p.item, Aborted)
		}
		b.Items = append(b.Items, p.out)
	}
	b.parts = b.parts[:0]
}
