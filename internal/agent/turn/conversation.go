package turn

import (
	"maps"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// conversation is what the model was told and said: the history that requests
// are made of, and what is known of it.
type conversation struct {
	items []*model.Item
	words []*model.Item // those of items that the user said
	fresh int           // how many of the last words no request has carried
	facts map[string]string
	told  bool // the model was told of its surroundings
	marks []history.Mark

	size    int    // estimate of items, in tokens
	context int    // what the last response reported, or an estimate
	extra   int    // what a request has beside its items, as far as reported
	model   string // of the last response
	idle    bool   // nothing of the model is in items since they were made anew
	plan    string // proposed in plan mode and not carried out
}

// newConversation returns an empty conversation, or that of an earlier run.
func newConversation(st *history.State) conversation {
	v := conversation{facts: map[string]string{}, idle: true}
	if st == nil {
		return v
	}
	v.items, v.words, v.marks = st.Items, st.Words, st.Marks
	v.size, v.context, v.model = history.Sizes(st.Items), st.Context, st.Settings.Model
	// Another agent told its own surroundings, which are not here.
	v.told = st.Turns > 0 && !(st.Meta.Imported() && len(st.Facts) == 0)
	if st.Facts != nil {
		v.facts = st.Facts
	}
	if st.Settings.Mode().Plans() && st.Notes != nil {
		v.plan = st.Notes.Proposed
	}
	v.idle = !slices.ContainsFunc(st.Items, func(it *model.Item) bool {
		return it.Kind != model.Message || it.Role == "assistant"
	})
	return v
}

// Items returns the history. The caller must not change it.
func (v *conversation) Items() []*model.Item { return v.items[:len(v.items):len(v.items)] }

// add puts items at the end of the history.
func (v *conversation) add(items ...*model.Item) {
	for _, it := range items {
		v.size += history.Size(it)
	}
	v.items = append(v.items, items...)
}

// said puts a message of the user at the end of the history.
func (v *conversation) said(it *model.Item) {
	v.add(it)
	v.words = append(v.words, it)
	v.fresh++
}

// learn remembers what the model was told. It makes a new map, because marks still
// use the old one.
func (v *conversation) learn(facts map[string]string) {
	v.told = true
	now := maps.Clone(v.facts)
	maps.Copy(now, facts)
	v.facts = now
}

// markTurn remembers where a turn begins, so that the conversation can go back to it.
func (v *conversation) markTurn(id protocol.TurnID) {
	v.marks = append(v.marks, history.Mark{Turn: id, Items: len(v.items), Words: len(v.words), Facts: v.facts})
}

// markOf returns the index of the mark of a turn, or -1.
func (v *conversation) markOf(id protocol.TurnID) int {
	return slices.IndexFunc(v.marks, func(m history.Mark) bool { return m.Turn == id })
}

// cutTo goes back to a mark.
func (v *conversation) cutTo(mark int) {
	m := v.marks[mark]
	v.items, v.words = v.items[:m.Items:m.Items], v.words[:m.Words:m.Words]
	v.marks, v.facts = v.marks[:mark:mark], m.Facts
	v.size, v.context, v.fresh, v.plan = history.Sizes(v.items), 0, 0, ""
	v.told = len(v.items) > 0
}

// replace puts a compacted history in place of the old one; words are the
// indexes of the items that the user said.
func (v *conversation) replace(items []*model.Item, words []int, facts map[string]string) {
	v.items, v.words, v.marks = items, nil, nil
	for _, i := range words {
		v.words = append(v.words, items[i])
	}
	v.facts = map[string]string{}
	v.learn(facts)
	v.size, v.context, v.idle = history.Sizes(items), 0, true
}

// measured takes the size of the context that the response to a request of sent
// tokens, as estimated, reported.
func (v *conversation) measured(u protocol.Usage, sent int) {
	v.context, v.extra = u.Total(), max(0, u.Input-sent)
}

// approvedPlan returns the item that tells the model to carry out its plan: plan
// mode is over and the user has sent a message. It returns nil if there is no plan.
func (v *conversation) approvedPlan(mode protocol.Mode) *model.Item {
	if v.plan == "" || mode.Plans() {
		return nil
	}
	text := "<approved_plan>\nPlan mode is over and files may be changed. This is the plan you proposed. Unless the " +
		"user now says otherwise, carry it out:\n\n" +
		strings.ReplaceAll(v.plan, "</approved_plan", "<\\/approved_plan") + "\n</approved_plan>"
	v.plan = ""
	return model.UserText(text)
}
