// Package prompt builds what a model is sent.
//
// A prompt only grows at its end. Instructions and tools are fixed for a session,
// and every change is told in a new item. So request n+1 begins with request n, byte
// for byte, and the provider can use its cache. The package is pure.
package prompt

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Fixed is what stays the same over a session.
type Fixed struct {
	Instructions string
	Tools        []tool.Spec
	// Offer makes of tools what a model is offered; nil offers them as they are.
	Offer    func(model string, tools []tool.Spec) []tool.Spec
	Parallel bool
	// Freeform is set when the model takes freeform tools.
	Freeform bool
	Summary  string
	CacheKey string
	// CompactModel writes summaries; empty for the session's own model.
	CompactModel string
}

// Build returns the request for items.
func (f *Fixed) Build(s protocol.Settings, schema json.RawMessage, items []*model.Item) *model.Request {
	return &model.Request{
		Model: s.Model, Instructions: f.Instructions, Items: items, Tools: f.tools(s.Model), Parallel: f.Parallel,
		Effort: s.Effort, Summary: f.Summary, Schema: schema, CacheKey: f.CacheKey,
	}
}

// Compaction returns the request for the summary of items: it offers no tools.
func (f *Fixed) Compaction(s protocol.Settings, items []*model.Item) *model.Request {
	name := s.Model
	if f.CompactModel != "" {
		name = f.CompactModel
	}
	return &model.Request{Model: name, Instructions: f.Instructions, Items: items, Effort: s.Effort, Summary: f.Summary,
		CacheKey: f.CacheKey}
}

// Once is an offer that is worked out anew only for another model or other tools than the
// last time. The lists that it returns are shared. It may be called by several goroutines.
func Once(offer func(model string, tools []tool.Spec) []tool.Spec) func(string, []tool.Spec) []tool.Spec {
	return (&last{offer: offer}).get
}

// last is an offer and what it was made of.
type last struct {
	offer func(string, []tool.Spec) []tool.Spec

	mu       sync.Mutex // guards what follows
	model    string
	of, made []tool.Spec
}

func (l *last) get(model string, tools []tool.Spec) []tool.Spec {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil || l.model != model || !slices.EqualFunc(l.of, tools, tool.Spec.Same) {
		l.model, l.of, l.made = model, slices.Clone(tools), l.offer(model, tools)
	}
	return l.made
}

func (f *Fixed) tools(name string) []model.Tool {
	specs := f.Tools
	if f.Offer != nil {
		specs = f.Offer(name, specs)
	}
	list := make([]model.Tool, len(specs))
	for i, s := range specs {
		list[i] = model.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema}
		if f.Freeform && s.Grammar != "" {
			list[i].Schema, list[i].Grammar = nil, s.Grammar
		}
	}
	return list
}

// Doc is one file of instructions the user wrote.
type Doc struct {
	Path string
	Text string
}

// projectMark stands between the user's own instructions and the project's.
const projectMark = "\n\n--- project-doc ---\n\n"

// Instructions returns the item that tells the model of AGENTS.md files: those
// of the user first, then the project's from its root down. It is nil when there
// are none.
func Instructions(cwd string, user, project []Doc) *model.Item {
	text := joinDocs(user)
	if p := joinDocs(project); p != "" {
		if text != "" {
			text += projectMark
		}
		text += p
	}
	if text == "" {
		return nil
	}
	return model.UserText("# AGENTS.md instructions for " + cwd + "\n\n<INSTRUCTIONS>\n" + text + "\n</INSTRUCTIONS>")
}

func joinDocs(docs []Doc) string {
	var texts []string
	for _, d := range docs {
		if t := strings.TrimSpace(d.Text); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Developer returns the item for the user's developer_instructions, or nil.
func Developer(text string) *model.Item {
	if text == "" {
		return nil
	}
	return &model.Item{Kind: model.Message, Role: "developer", Content: []model.Part{{Text: text}}}
}

// memory asks for notes, which the user sees as a change of a file of theirs.
const memory = `<memory>
When you learn something lasting about this project that a later session would need and could not find quickly (a
command that works, a decision of the user, a trap), propose it at the end of your work: one short line, as an edit of
AGENTS.md in the directory it is about. The user is shown the edit and may refuse it. Never note secrets, what the code
says, or what is only true today. At most one such edit in a turn; most turns need none.
</memory>`

// Memory tells the model to propose notes for later sessions.
func Memory() *model.Item { return Developer(memory) }

// planMode tells the model what plan mode asks of it.
const planMode = `<plan_mode>
Plan mode is on. Nothing may be changed: every write is refused, and so is every command that is not known to only read.
Look around until you know enough, and ask the user about what only they can decide. Then propose a plan that somebody could carry out
without further questions, in one block, each tag on a line of its own:
<proposed_plan>
(the plan, in Markdown: what will be changed, in which files, in which order, and how it is checked)
</proposed_plan>
The user reads the plan and approves it, or asks for another one.
</plan_mode>`

// planModeOver tells the model that it may work again.
const planModeOver = "<plan_mode>\nPlan mode is off. Files may be changed again, as far as the approval policy " +
	"allows.\n</plan_mode>"

// PlanMode returns the item that tells of plan mode, given the approval policies
// before and now, or nil when nothing changed about it.
func PlanMode(before, now string) *model.Item {
	const plan = string(protocol.PolicyPlan)
	switch {
	case now == plan && before != plan:
		return model.UserText(planMode)
	case before == plan && now != plan:
		return model.UserText(planModeOver)
	}
	return nil
}

// order is how facts are told; others follow by name.
var order = []string{"cwd", "shell", "current_date", "timezone", "git_branch", "sandbox_mode", "network_access",
	"writable_roots", "private_tmp", "approval_policy"}

// Surroundings returns the item that tells the facts that are new or differ from
// what was told before, or nil if there are none.
func Surroundings(before, now map[string]string) *model.Item {
	var b strings.Builder
	tell := func(name string) {
		v, ok := now[name]
		if !ok || before[name] == v {
			return
		}
		b.WriteString("  <" + name + ">" + escape(v) + "</" + name + ">\n")
	}
	for _, name := range order {
		tell(name)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if !slices.Contains(order, name) {
			tell(name)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return model.UserText("<environment_context>\n" + b.String() + "</environment_context>")
}

// escape keeps a hostile directory or branch name from ending its element.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
