package commands

import (
	"strings"

	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// keyTable lists the keys, in groups.
func keyTable() [][2]string {
	return [][2]string{
		{"", "Writing"},
		{"enter", "send; while a turn runs: add to it"}, {"tab", "while a turn runs: queue for the next"},
		{"alt+↑", "take back what waits for the model, to edit it"},
		{"shift+enter, ctrl+j, \\ enter", "new line"}, {"@", "mention a file"}, {"/", "command"}, {"$", "skill"}, {"!", "run a shell command"},
		{"↑ ↓", "move, at the edge: earlier messages"}, {"ctrl+r", "search earlier messages"}, {"ctrl+g", "write in $VISUAL or $EDITOR"},
		{"ctrl+v", "paste an image"}, {"ctrl+_ alt+/", "undo, redo"}, {"ctrl+a ctrl+e", "start, end of line"},
		{"alt+b alt+f", "word left, right"}, {"ctrl+w alt+d", "delete word before, after"}, {"ctrl+u ctrl+k ctrl+y", "delete to start, to end; put back"},
		{"", "Acting"},
		{"esc", "interrupt; twice: go back to an earlier message"}, {"ctrl+c", "clear; twice: leave"}, {"ctrl+d", "leave"},
		{"shift+tab", "plan mode on or off"}, {"ctrl+t", "transcript, whole and searchable"}, {"ctrl+o", "the last shortened item, whole"},
		{"alt+c", "what changed in this session"},
		{"alt+a", "look at the next sub-agent, then at the session again"}, {"ctrl+l", "draw again"}, {"ctrl+z", "suspend"}, {"f1", "this help"},
		{"", "Questions"},
		{"y s a", "yes: once, in this session, always"}, {"n", "no, with words for the model"}, {"esc", "no, and stop the turn"},
		{"h e d", "choose hunks, edit, whole diff"}, {"↑ ↓ pgup pgdown", "read all of what is asked"},
	}
}

// HelpPage lists keys and commands; prompts are the user's own commands.
func HelpPage(prompts []protocol.Prompt) *panels.Pager {
	return &panels.Pager{Title: "Help", Draw: func(width int, _ bool) []style.Line {
		var rows []style.Line
		for _, k := range keyTable() {
			if k[0] == "" {
				if len(rows) > 0 {
					rows = append(rows, nil)
				}
				rows = append(rows, style.L(style.Heading, k[1]))
				continue
			}
			rows = append(rows, helpRows(k[0], k[1], width)...)
		}
		rows = append(rows, nil, style.L(style.Heading, "Commands"))
		for _, x := range table() {
			rows = append(rows, helpRows(strings.TrimSpace("/"+x.name+" "+x.args), x.help, width)...)
		}
		for _, p := range prompts {
			if !p.Skill {
				rows = append(rows, helpRows("/"+p.Name, p.Description, width)...)
			}
		}
		return rows
	}}
}

// helpRows is a line of help: a key or a command, and what it does.
func helpRows(name, about string, width int) []style.Line {
	pad := min(30, width/2)
	rows := style.WrapText(style.Plain, about, max(width-pad-1, 10))
	rows = style.Prefix(rows, style.Span{}, style.Span{Text: strings.Repeat(" ", pad+1)})
	head := style.Line{style.S(style.Accent, name)}.Pad(pad, style.As(style.Plain))
	rows[0] = append(append(head, style.Span{Text: " "}), rows[0]...)
	return rows
}
