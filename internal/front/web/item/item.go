// Package item draws the items of a turn: what a page shows of each, made harmless.
package item

import (
	"fmt"
	"strings"

	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
)

// MaxRows is how many rows of a diff stand in a conversation.
const MaxRows = 400

const (
	maxOutput = 8 << 10 // bytes of output that are shown of an item
	trimmed   = 512     // and of an older one on a full page
)

// View is an item as templates draw it.
type View struct {
	ID, Class, Kind, Title, Text, Note, State string
	Status                                    protocol.Status
	HTML, Exact                               markup.HTML
	Output                                    string
	Cut                                       bool   // there is more of it
	Whole                                     string // the address of all of it
	Streams, Open                             bool
	By                                        string
	Images                                    []markup.URL
	Steps                                     []protocol.Step
	Changes, Listed                           []protocol.PathChange // all, and those that are named
	Diff                                      *render.Diff
	DiffRows                                  markup.HTML
	DiffCut                                   int
	Split                                     bool // the diff is side by side
	Call, UndoURL                             string
	Answer                                    *Answer

	tail string // what there is of the output, behind so many bytes
	left int64
}

// Answer is what the user said to what an item asked.
type Answer struct{ Outcome, By, Words, Asked string }

// CallOf is the call that an item is about.
func CallOf(i protocol.Item) protocol.CallID {
	switch b := i.Body.(type) {
	case protocol.Command:
		return b.Call
	case protocol.FileChange:
		return b.Call
	case protocol.ToolCall:
		return b.Call
	case protocol.SubAgent:
		return b.Call
	}
	return ""
}

// states are the words for how an item ended, where it is not simply done.
var states = map[protocol.Status]string{protocol.InProgress: "running", protocol.Failed: "failed",
	protocol.Declined: "declined"}

// Of draws an item.
func Of(i protocol.Item) View {
	v := View{ID: string(i.ID), Status: i.Status, State: states[i.Status], Class: "other"}
	switch b := i.Body.(type) {
	case protocol.UserMessage:
		v.Class = "user"
		for _, in := range b.Input {
			v.Text += in.Text
			v.picture(in.ImageURL)
		}
	case protocol.AgentMessage:
		v.Class, v.HTML = "agent", render.Markdown(b.Text)
	case protocol.ProposedPlan:
		v.Class, v.HTML = "plan", render.Markdown(b.Text)
	case protocol.Reasoning:
		v.Class, v.Kind, v.HTML = "reasoning", "Reasoning", render.Markdown(b.Text)
	case protocol.Command:
		v.command(b)
	case protocol.FileChange:
		v.Class, v.Kind, v.Note, v.Open = "change", "Change", b.Error, true
		v.Title = paths(b.Changes[:min(maxListed, len(b.Changes))])
		v.Changes = b.Changes
		v.Show(b.Diff)
	case protocol.ToolCall:
		v.Class, v.Kind, v.Title = "tool", "Tool", strings.TrimPrefix(b.Server+"."+b.Tool, ".")
		v.Exact, v.Changes = render.JSON(b.Args), b.Changes
		v.output(b.Output + b.Error)
		for _, url := range b.Images {
			v.picture(url)
		}
	case protocol.TodoList:
		v.Class, v.Text, v.Steps = "todo", b.Explanation, b.Steps
	default:
		v.rarer(i.Body)
	}
	v.Listed = listed(v.Changes)
	return v
}

// rarer draws the items that few sessions have.
func (v *View) rarer(body protocol.Body) {
	switch b := body.(type) {
	case protocol.SubAgent:
		v.Class, v.Kind, v.Title, v.Note = "agents", "Sub-agents", b.Operation, b.Error
		v.HTML = render.Markdown(b.Prompt)
		for _, a := range b.Agents {
			v.Output += fmt.Sprintf("%s (%s): %s %s\n", a.Name, a.Role, a.State, a.Message)
		}
	case protocol.WebSearch:
		v.Class, v.Kind, v.Title = "tool", "Web search", b.Query
	case protocol.Compaction:
		v.Class, v.Kind = "compaction", "Compaction"
		v.Title = fmt.Sprintf("%d to %d tokens", b.Before, b.After)
		v.HTML = render.Markdown(b.Summary)
	case protocol.ReviewResult:
		v.Class, v.Kind, v.Title, v.Open = "review", "Review", fmt.Sprintf("%d findings", len(b.Findings)), true
		v.HTML = render.Markdown(b.Text)
		for _, f := range b.Findings {
			v.Output += fmt.Sprintf("P%d %s (%s:%d-%d)\n%s\n\n", f.Priority, f.Title, f.Path, f.Start, f.End, f.Body)
		}
	case protocol.Answered:
		v.Class, v.Title, v.Text, v.By = "answer", b.Outcome(), b.Detail(), string(b.By)
		if v.By == "" {
			v.By = "nobody"
		}
	case protocol.Problem:
		v.Class, v.Text = "problem", b.Message
	}
}

func (v *View) command(b protocol.Command) {
	v.Class, v.Kind, v.Title, v.Exact = "command", "Command", b.Command, render.Exact(b.Command)
	if b.User {
		v.Kind = "Your command"
	}
	if b.Check {
		v.Kind = "Check of the goal"
	}
	v.Note, v.Streams, v.Changes = "in "+b.Cwd, true, b.Changes
	if b.ExitCode != nil {
		v.State = fmt.Sprintf("exit %d", *b.ExitCode)
		if *b.ExitCode != 0 {
			v.Status = protocol.Failed
		}
	}
	v.Open = v.Status != protocol.Completed
	v.output(b.Output)
	v.Show(b.Diff)
}

// output keeps the end of a long output, where programs say what went wrong.
func (v *View) output(text string) {
	cut := 0
	if len(text) > maxOutput {
		cut, text = len(text)-maxOutput, text[len(text)-maxOutput:]
	}
	v.tail, v.left = render.Output(text), 0
	v.Leave(int64(cut))
}

// Leave says that so many more bytes before what is shown of an output are not shown.
func (v *View) Leave(n int64) {
	v.left += n
	v.Output = v.tail
	if v.left > 0 && v.tail != "" {
		v.Output, v.Cut = fmt.Sprintf("… %d bytes before this are not shown\n", v.left)+v.tail, true
	}
}

// Show draws the beginning of a diff with the item.
func (v *View) Show(text string) {
	if text == "" {
		return
	}
	v.Diff = render.Parse(text)
	v.DiffRows = v.Diff.Rows(0, MaxRows, false)
	v.DiffCut = max(0, v.Diff.Len(false)-MaxRows)
}

// Trim keeps the end of what an item printed, and of its diff only how large it is. It
// returns what stays of them.
func (v *View) Trim() int {
	if len(v.Output) > trimmed {
		v.Output, v.Cut = "…"+strings.ToValidUTF8(v.Output[len(v.Output)-trimmed:], ""), true
	}
	if len(v.DiffRows) > trimmed {
		v.DiffRows, v.DiffCut = "", v.Diff.Len(v.Split)
	}
	return len(v.Output) + len(v.DiffRows)
}

// maxListed is how many changed files an item names.
const maxListed = 100

// listed are the changed files that an item names: control files in any case.
func listed(all []protocol.PathChange) []protocol.PathChange {
	if len(all) <= maxListed {
		return all
	}
	var list []protocol.PathChange
	for i, c := range all {
		if i < maxListed || c.ControlFile {
			list = append(list, c)
		}
	}
	return list
}

// SideBySide draws the diff side by side.
func (v *View) SideBySide() {
	if v.Diff != nil {
		v.Split, v.DiffRows = true, v.Diff.Rows(0, MaxRows, true)
		v.DiffCut = max(0, v.Diff.Len(true)-MaxRows)
	}
}

// Printed is all that an item printed.
func Printed(i protocol.Item) string {
	switch b := i.Body.(type) {
	case protocol.Command:
		return b.Output
	case protocol.ToolCall:
		return b.Output + b.Error
	}
	return ""
}

// picture adds a picture that is in the page itself.
func (v *View) picture(url string) {
	for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
		if strings.HasPrefix(url, "data:image/"+kind+";base64,") {
			v.Images = append(v.Images, markup.URL(url))
		}
	}
}

// paths names changed files on one line.
func paths(list []protocol.PathChange) string {
	var names []string
	for _, c := range list {
		names = append(names, string(c.Kind)+" "+c.Path)
	}
	return strings.Join(names, ", ")
}
