// Package input is where the user writes: the text with its editing keys, vi, the
// messages from before, and the completions below it.
package input

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/composer"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// History keeps the user's messages.
type History interface {
	// Load returns the messages, oldest first.
	Load() []string
	// Add keeps one more.
	Add(text string)
}

// Options are what an Input needs.
type Options struct {
	History History // nil keeps nothing
	Vi      bool    // edit with the commands of vi
	// Commands are the commands that "/" completes. NeedsWords is the one that is not
	// sent at once when it is chosen.
	Commands   []Choice
	NeedsWords string
	// Files finds files for "@" and hands them to Found; nil when it cannot.
	Files func(word string) tea.Cmd
}

// Input edits one text at a time; see Use.
type Input struct {
	// Prompts are the user's commands and skills.
	Prompts []protocol.Prompt
	// Remote are the prompts of MCP servers.
	Remote []Choice
	// Resources are those of MCP servers, as SERVER:URI; "@" completes them beside files.
	Resources []string
	// Width is how many cells a row of text may have.
	Width int

	o       Options
	text    *composer.Composer
	vi      composer.Vi
	past    []string // messages from before, oldest first
	pastAt  int      // where up and down are in it, len(past) when nowhere
	draft   string   // what was written before up was pressed
	menu    menu
	finding bool // files are being found
}

const (
	// From attachBytes or attachLines on pasted text is shown as an attachment.
	attachBytes = 1000
	attachLines = 10
	// maxRemembered bounds a message that is kept in the history.
	maxRemembered = 20_000
)

// New returns an Input that edits c.
func New(o Options, c *composer.Composer) *Input {
	in := &Input{o: o, text: c}
	if o.History != nil {
		in.past = o.History.Load()
	}
	in.pastAt = len(in.past)
	return in
}

// Use edits another text.
func (in *Input) Use(c *composer.Composer) { in.text = c }

// Mode is the mode of vi, empty when that is off.
func (in *Input) Mode() string {
	switch {
	case !in.o.Vi:
		return ""
	case in.vi.Normal:
		return "NORMAL"
	}
	return "INSERT"
}

// ViKey gives a key to vi. It reports whether vi took it, and whether the text may have
// changed. In an empty text "/", "@" and "!" begin a command in normal mode, too; a
// second esc is not for vi.
func (in *Input) ViKey(name, text string) (taken, edited bool) {
	switch {
	case !in.o.Vi:
		return false, false
	case in.vi.Normal && in.text.Empty() && strings.ContainsAny(text, "/@!") && text != "":
		in.vi = composer.Vi{}
		return false, false
	case in.vi.Normal && (text == "j" || text == "k"):
		in.Vertical(map[string]int{"j": 1, "k": -1}[text])
		return true, !in.vi.Normal
	}
	taken = in.vi.Key(in.text, name, text)
	return taken, !in.vi.Normal
}

// EditKey handles the keys that edit.
func (in *Input) EditKey(name string) bool {
	c := in.text
	switch name {
	case "backspace", "shift+backspace":
		c.Backspace()
	case "delete":
		c.Delete()
	case "left", "ctrl+b":
		c.Left()
	case "right", "ctrl+f":
		c.Right()
	case "alt+left", "ctrl+left", "alt+b":
		c.WordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		c.WordRight()
	case "home", "ctrl+a":
		c.Home()
	case "end", "ctrl+e":
		c.End()
	case "up", "ctrl+p":
		in.Vertical(-1)
	case "down", "ctrl+n":
		in.Vertical(1)
	case "ctrl+k":
		c.KillLine(true)
	case "ctrl+u":
		c.KillLine(false)
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		c.KillWord(false)
	case "alt+d", "ctrl+delete":
		c.KillWord(true)
	case "ctrl+y":
		c.Yank()
	case "ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-":
		c.Undo()
	case "alt+/", "ctrl+shift+z":
		c.Redo()
	case "shift+enter", "alt+enter", "ctrl+j", "ctrl+enter":
		c.Insert("\n")
	default:
		return false
	}
	return true
}

// Vertical moves the caret by rows, or at the edge goes through the messages from
// before.
func (in *Input) Vertical(by int) {
	if in.text.Vertical(by, in.Width) {
		return
	}
	to := in.pastAt + by
	if to < 0 || to > len(in.past) {
		return
	}
	if in.pastAt == len(in.past) {
		in.draft = in.text.Text()
	}
	in.pastAt = to
	if to == len(in.past) {
		in.text.Set(in.draft)
		return
	}
	in.text.Set(in.past[to])
}

// Remember keeps a message in the history.
func (in *Input) Remember(text string) {
	if n := len(in.past); text != "" && len(text) <= maxRemembered && (n == 0 || in.past[n-1] != text) {
		in.past = append(in.past, text)
		if in.o.History != nil {
			in.o.History.Add(text)
		}
	}
	in.pastAt, in.draft = len(in.past), ""
}

// Take empties the text and returns what was written, with the images in it.
func (in *Input) Take() (text string, images []string) {
	text, images = in.text.Value(), in.text.Images()
	in.Remember(text)
	in.text.Clear()
	in.menu, in.vi = menu{}, composer.Vi{}
	return text, images
}

// Clear empties the text but remembers it.
func (in *Input) Clear() {
	in.Remember(in.text.Value())
	in.text.Clear()
	in.menu = menu{}
}

// Continues turns a backslash at the end of the text into a new line, if there is one.
func (in *Input) Continues() bool {
	if !strings.HasSuffix(in.text.Text(), `\`) || in.text.Caret() != len(in.text.Text()) {
		return false
	}
	in.text.Backspace()
	in.text.Insert("\n")
	return true
}

// Paste takes pasted text: a long one as an attachment, another as if it were typed.
func (in *Input) Paste(text string) tea.Cmd {
	lines := strings.Count(text, "\n") + 1
	if len(text) >= attachBytes || lines > attachLines {
		in.text.Attach(composer.Attachment{Label: fmt.Sprintf("Pasted #%d: %s, %s", in.text.Attachments()+1,
			humanize.Count(lines, "line"), humanize.Bytes(len(text))), Text: text})
		return nil
	}
	in.text.Insert(text)
	return in.Complete()
}

// View draws the text, at most height rows of it around the caret; hint stands there
// when it is empty.
func (in *Input) View(height int, hint string) panels.View {
	rows, x, y := in.text.Rows(in.Width)
	top := 0
	if len(rows) > height {
		top = min(max(0, y-height+1), len(rows)-height)
		rows = rows[top : top+height]
	}
	mark := style.Bold(style.Accent, "› ")
	if strings.HasPrefix(in.text.Text(), "!") {
		mark = style.Bold(style.Warn, "! ")
	}
	if in.text.Empty() {
		rows = []style.Line{style.L(style.Dim, hint)}
	}
	return panels.View{Rows: style.Prefix(rows, mark, style.Span{Text: "  "}), X: x + 2, Y: y - top}
}

// Search lists the messages from before; what is chosen becomes the text.
func (in *Input) Search() *panels.Picker {
	p := &panels.Picker{Title: "Earlier messages", Filter: true, Empty: "nothing was said yet"}
	seen := map[string]bool{}
	for i := len(in.past) - 1; i >= 0; i-- {
		if !seen[in.past[i]] {
			seen[in.past[i]] = true
			p.Items = append(p.Items, panels.Item{Label: style.OneLine(in.past[i]), Value: in.past[i]})
		}
	}
	p.Choose = func(it panels.Item) (tea.Cmd, bool) { in.text.Set(it.Value.(string)); return nil, false }
	return p
}
