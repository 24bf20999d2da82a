// Package export writes what was shown of a session as a document.
package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
)

// Formats are the formats of Write.
func Formats() []string { return []string{"markdown", "html", "json"} }

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

// Write writes the turns of a session as markdown, html or json.
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
	case "html":
		return writeHTML(w, e)
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

func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
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

// writeHTML writes one page that needs nothing else and runs nothing.
func writeHTML(w io.Writer, e exported) error {
	p := page{}
	s := e.Session
	title := cmp.Or(s.Title, string(s.ID))
	p.raw(pageHead)
	p.part("title", "", title)
	p.raw(pageStyle)
	p.part("h1", "", title)
	p.part("p", "meta", fmt.Sprintf("session %s · %s · %s · %s · %d tokens", s.ID, s.Cwd, s.Model,
		turns(s.Turns), s.Tokens))
	for n, t := range e.Turns {
		p.part("h2", "", fmt.Sprintf("Turn %d", n+1))
		p.part("p", "meta", strings.TrimSpace(t.Began+" "+t.Ended)+fmt.Sprintf(" · %d tokens", t.Usage.Total()))
		for _, i := range t.Items {
			p.item(i)
		}
	}
	p.raw("</body></html>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// page is a page of HTML; all but raw escapes.
type page struct{ strings.Builder }

func (p *page) raw(s string) { p.WriteString(s) }

func (p *page) part(tag, class, text string) {
	fmt.Fprintf(p, "<%s class=%q>%s</%s>\n", tag, class, html.EscapeString(visible.String(text)), tag)
}

func (p *page) item(i exportedItem) {
	switch i.Kind {
	case "user":
		p.part("div", "user text", i.Text)
		for _, url := range i.Images {
			if inlinePicture(url) {
				fmt.Fprintf(p, "<img alt=\"attached\" src=\"%s\">\n", html.EscapeString(url))
			}
		}
		return
	case "agent":
		p.part("div", "agent text", i.Text)
		return
	}
	open := ""
	if i.Diff != "" || i.Kind == "plan" || i.Kind == "todo" || i.Kind == "problem" {
		open = " open"
	}
	fmt.Fprintf(p, "<details class=%q%s>", i.Kind+" "+string(i.Status), open)
	summary := i.Kind + " " + i.Title
	if i.Status != protocol.Completed {
		summary += " (" + string(i.Status) + ")"
	}
	p.part("summary", "", summary)
	for _, text := range []string{string(i.Args), i.Text} {
		if text != "" {
			p.part("pre", "", text)
		}
	}
	if i.Output != "" {
		p.part("pre", "", i.Output)
	}
	if i.Diff != "" {
		p.raw("<pre class=\"diff\">")
		for _, l := range diffLines(i.Diff) {
			// Each line is a block; a line break between two of them would be an empty line.
			fmt.Fprintf(p, "<span class=%q>%s</span>", strings.TrimSpace("line "+l.Class),
				html.EscapeString(visible.String(l.Text)))
		}
		p.raw("</pre>\n")
	}
	p.raw("</details>\n")
}

// diffLine is a line of a diff with its class.
type diffLine struct{ Class, Text string }

func diffLines(d string) []diffLine {
	var list []diffLine
	classes := map[shown.Kind]string{shown.Header: "head", shown.Hunk: "at", shown.Added: "add", shown.Removed: "del"}
	shown.Each(d, func(kind shown.Kind, line string) { list = append(list, diffLine{classes[kind], line}) })
	return list
}

// inlinePicture reports whether a picture is in the page itself.
func inlinePicture(url string) bool {
	for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
		if strings.HasPrefix(url, "data:image/"+kind+";base64,") {
			return true
		}
	}
	return false
}

const pageHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
`

const pageStyle = `<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
pre{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;background:#f5f6f8;padding:.6rem;border-radius:6px;margin:.3rem 0}
.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:1rem 0}.user{border-left:4px solid #3572b0;padding-left:.8rem}
.reasoning,.meta{color:#666}.failed summary,.declined summary,.problem{color:#a3261b}
.add{background:#dff5e1}.del{background:#fbe3e1}.at{color:#6a4fb3}.head{color:#666}.line{display:block;min-height:1.45em}
h2{border-top:1px solid #ddd;padding-top:1rem}img{max-width:100%}summary{cursor:pointer}
@media (prefers-color-scheme:dark){body{color:#d8dee6;background:#14171b}pre{background:#1e2329}.add{background:#16351f}.del{background:#3d1b19}.reasoning,.meta,.head{color:#9aa4af}.at{color:#b9a3f0}.failed summary,.declined summary,.problem{color:#ff8f84}h2{border-color:#333}}
</style></head><body>
`
