// Package export writes what was shown of a session as a document.
package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// Formats are the formats of Write.
func Formats() []string { return []string{"markdown", "json"} }

// exported is a session as exports show it.
type exported struct {
	Session protocol.SessionInfo `json:"session"`
	Turns   []exportedTurn       `json:"turns"`
}

type exportedTurn struct {
	ID    protocol.TurnID `json:"id"`
	Began string          `json:"began"`
	Ended string          `json:"ended,omitempty"`
	Usage protocol.Usage  `json:"usage"`
	Items []exportedItem  `json:"items"`
	Diff  string          `json:"diff,omitempty"`
}

// exportedItem is one item; Kind says which of the other fields it has.
type exportedItem struct {
	Kind    string           `json:"type"`
	Status  protocol.Status  `json:"status"`
	Title   string           `json:"title,omitempty"`
	Text    string           `json:"text,omitempty"`
	Images  []string         `json:"images,omitempty"`
	Args    json.RawMessage  `json:"arguments,omitempty"`
	Output  string           `json:"output,omitempty"`
	Exit    *int             `json:"exit_code,omitempty"`
	Changes []exportedChange `json:"changes,omitempty"`
	Diff    string           `json:"diff,omitempty"`
}

// exportedChange is a changed path.
type exportedChange struct {
	Path        pathname.Path       `json:"path"`
	Kind        protocol.ChangeKind `json:"kind"`
	Moved       pathname.Path       `json:"moved_from,omitempty"`
	Certainty   protocol.Certainty  `json:"certainty,omitempty"`
	ControlFile bool                `json:"steers,omitempty"`
}

// Write writes the turns of a session as markdown or json.
func Write(w io.Writer, info protocol.SessionInfo, turns []protocol.PastTurn, format string) error {
	e := exported{Session: info, Turns: []exportedTurn{}}
	for _, t := range turns {
		x := exportedTurn{ID: t.ID, Began: t.Began.UTC().Format("2006-01-02T15:04:05Z"), Ended: t.Ended, Usage: t.Usage,
			Diff: t.Diff, Items: []exportedItem{}}
		for _, i := range t.Items {
			x.Items = append(x.Items, exportItem(i))
		}
		e.Turns = append(e.Turns, x)
	}
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(e)
	case "markdown", "md":
		return writeMarkdown(w, e)
	}
	return fmt.Errorf("format %q: use %s", format, strings.Join(Formats(), ", "))
}

func exportItem(i protocol.Item) exportedItem {
	x := exportedItem{Status: i.Status}
	switch b := i.Body.(type) {
	case protocol.UserMessage:
		x.Kind = "user"
		for _, in := range b.Input {
			if in.ImageURL != "" {
				x.Images = append(x.Images, in.ImageURL)
			}
			x.Text += in.Text
		}
	case protocol.AgentMessage:
		x.Kind, x.Text = "agent", b.Text
	case protocol.Reasoning:
		x.Kind, x.Text = "reasoning", b.Text
	case protocol.ProposedPlan:
		x.Kind, x.Text = "plan", b.Text
	case protocol.Command:
		x.Kind, x.Title, x.Output, x.Exit, x.Diff = "command", b.Command, b.Output, b.ExitCode, b.Diff
		x.Changes = exportChanges(b.Changes)
	case protocol.FileChange:
		x.Kind, x.Diff, x.Output = "file_change", b.Diff, b.Error
		x.Changes = exportChanges(b.Changes)
		x.Title = changedPaths(b.Changes)
	case protocol.ToolCall:
		x.Changes = exportChanges(b.Changes)
		x.Kind, x.Title, x.Args, x.Output = "tool", strings.TrimPrefix(b.Server+" "+b.Tool, " "), b.Args, b.Output+b.Error
	case protocol.TodoList:
		x.Kind, x.Text = "todo", todoText(b)
	case protocol.Compaction:
		x.Kind, x.Text = "compaction", b.Summary
		x.Title = fmt.Sprintf("the history was compacted from %d to %d tokens", b.Before, b.After)
	case protocol.Answered:
		x.Kind, x.Text = "answer", b.Outcome()+": "+b.Detail()
	case protocol.Problem:
		x.Kind, x.Text = "problem", b.Message
	default:
		x.Kind = "other"
	}
	return x
}

func exportChanges(list []protocol.PathChange) []exportedChange {
	var all []exportedChange
	for _, c := range list {
		all = append(all, exportedChange{pathname.Path(c.Path), c.Kind, pathname.Path(c.Moved), c.Certainty, c.ControlFile})
	}
	return all
}

func changedPaths(list []protocol.PathChange) string {
	var names []string
	for _, c := range list {
		names = append(names, string(c.Kind)+" "+c.Path)
	}
	return strings.Join(names, ", ")
}

func todoText(t protocol.TodoList) string {
	var b strings.Builder
	for _, s := range t.Steps {
		box := "[ ]"
		switch s.Status {
		case "completed":
			box = "[x]"
		case "in_progress":
			box = "[>]"
		}
		fmt.Fprintf(&b, "%s %s\n", box, s.Step)
	}
	return strings.TrimRight(b.String(), "\n")
}

func writeMarkdown(w io.Writer, e exported) error {
	var b strings.Builder
	s := e.Session
	fmt.Fprintf(&b, "# %s\n\n", oneLine(cmp.Or(s.Title, string(s.ID))))
	fmt.Fprintf(&b, "- session: `%s`\n- directory: `%s`\n- model: `%s`\n- turns: %d, tokens: %d\n", s.ID,
		oneLine(s.Cwd), oneLine(s.Model), s.Turns, s.Tokens)
	for n, t := range e.Turns {
		fmt.Fprintf(&b, "\n## Turn %d\n\n%s", n+1, t.Began)
		if t.Ended != "" {
			b.WriteString(", " + t.Ended)
		}
		fmt.Fprintf(&b, ", %d tokens\n", t.Usage.Total())
		for _, i := range t.Items {
			markdownItem(&b, i)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownItem(b *strings.Builder, i exportedItem) {
	title := oneLine(i.Title)
	if i.Status != protocol.Completed {
		title = strings.TrimSpace(title + " (" + string(i.Status) + ")")
	}
	switch i.Kind {
	case "user":
		fmt.Fprintf(b, "\n**User**\n\n%s\n", quoted(i.Text))
		if n := len(i.Images); n > 0 {
			fmt.Fprintf(b, "> (%d images)\n", n)
		}
	case "agent":
		fmt.Fprintf(b, "\n**Kerf**\n\n%s\n", visible.String(i.Text))
	case "reasoning":
		fmt.Fprintf(b, "\n*Reasoning*\n\n%s\n", quoted(i.Text))
	case "command":
		fmt.Fprintf(b, "\n*Command*\n\n%s%s", fenced("sh", i.Title), fenced("", i.Output))
		if i.Diff != "" {
			b.WriteString("\nIt changed:\n\n" + fenced("diff", i.Diff))
		}
	case "file_change":
		fmt.Fprintf(b, "\n*Change*: %s\n\n%s", title, fenced("diff", i.Diff))
		if i.Output != "" {
			b.WriteString(fenced("", i.Output))
		}
	case "tool":
		fmt.Fprintf(b, "\n*Tool*: %s\n\n%s%s", title, fenced("json", string(i.Args)), fenced("", i.Output))
	default:
		fmt.Fprintf(b, "\n*%s*: %s\n\n%s", i.Kind, title, fenced("", i.Text))
	}
}

// oneLine is a text without line breaks and control characters.
func oneLine(s string) string { return visible.Plain(strings.Join(strings.Fields(s), " ")) }

// quoted is a text as a block quotation.
func quoted(s string) string {
	return "> " + strings.ReplaceAll(visible.String(strings.TrimRight(s, "\n")), "\n", "\n> ")
}

// fenced is a text in a code block whose fence does not occur in it; nothing for
// no text.
func fenced(kind, s string) string {
	if s == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + kind + "\n" + strings.TrimRight(visible.String(s), "\n") + "\n" + fence + "\n"
}
