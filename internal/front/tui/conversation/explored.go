package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// maxGroup is how many calls that only look stand in one row.
const maxGroup = 40

// looks reports whether a call only looks at the workspace.
func looks(b protocol.ToolCall) bool {
	switch b.Tool {
	case "read_file", "read_code", "grep", "glob", "list_dir":
		return b.Server == ""
	}
	return false
}

// looked is a call that only looks as a group keeps it: without what it read, which only the
// transcript shows.
func looked(it protocol.Item) protocol.Item {
	if b, ok := it.Body.(protocol.ToolCall); ok {
		b.Output = ""
		it.Body = b
	}
	return it
}

func failed(it protocol.Item) bool {
	return it.Status == protocol.Failed || it.Status == protocol.Declined
}

// explored draws calls that only looked in one row, those that failed with their reason.
func (f Format) explored(calls []protocol.Item) []style.Line {
	if f.Whole || len(calls) == 1 {
		var rows []style.Line
		for _, it := range calls {
			rows = append(rows, f.Item(it)...)
		}
		return rows
	}
	status := protocol.Completed
	var order []string
	objects := map[string][]string{}
	var below []style.Line
	for _, it := range calls {
		switch {
		case it.Status == protocol.InProgress:
			status = protocol.InProgress
		case failed(it):
			below = append(below, f.Item(it)...)
			continue
		}
		verb, what := callText(it.Body.(protocol.ToolCall))
		if !slices.Contains(order, verb) {
			order = append(order, verb)
		}
		if !slices.Contains(objects[verb], what) {
			objects[verb] = append(objects[verb], what)
		}
	}
	if len(order) == 0 {
		return below
	}
	l := style.Line{style.S(bullet[status], "• "),
		style.Bold(style.Plain, map[bool]string{true: "Exploring", false: "Explored"}[status == protocol.InProgress])}
	for i, verb := range order {
		sep := "  "
		if i > 0 {
			sep = " · "
		}
		what := objects[verb]
		l = append(l, style.S(style.Border, sep), style.S(style.Dim, strings.ToLower(verb)+" "),
			style.S(style.Plain, style.OneLine(strings.Join(what[:min(len(what), 6)], ", "))))
		if n := len(what) - 6; n > 0 {
			l = append(l, style.S(style.Dim, fmt.Sprintf(" and %d more", n)))
		}
	}
	rows := style.Wrap(l, f.Width-2)
	if len(rows) > 2 {
		rows = append(rows[:1:1], rows[1].Cut(f.Width-4))
		rows[1] = append(rows[1][:len(rows[1]):len(rows[1])], style.S(style.Dim, "…"))
	}
	return append(style.Prefix(rows, style.Span{}, style.Span{Text: "  "}), below...)
}

// callText says what a tool call does: a verb and its object.
func callText(b protocol.ToolCall) (verb, rest string) {
	if b.Server != "" {
		return "Called", b.Server + "." + b.Tool + arguments(b.Args)
	}
	var a map[string]any
	_ = json.Unmarshal(b.Args, &a)
	get := func(names ...string) string {
		for _, n := range names {
			if s, ok := a[n].(string); ok {
				return s
			}
		}
		return string(b.Args)
	}
	switch b.Tool {
	case "read_file", "read_code":
		rest = get("file_path", "filePath", "path")
		if o, ok := a["offset"].(float64); ok {
			rest += fmt.Sprintf(" from line %d", int(o))
		}
		return "Read", rest
	case "view_image":
		return "Looked at", get("path")
	case "grep":
		return "Searched", get("pattern")
	case "glob", "list_dir":
		return "Listed", get("pattern", "path")
	case "write_stdin":
		id, _ := a["session_id"].(float64)
		if text, _ := a["chars"].(string); text != "" {
			return "Typed", fmt.Sprintf("%s into #%d", strconv.Quote(text), int(id))
		}
		return "Looked at", fmt.Sprintf("the output of #%d", int(id))
	case "undo":
		return "Undid", ""
	}
	return "Called", b.Tool + arguments(b.Args)
}

// arguments writes the arguments of a call as people read them: (name: value, …).
func arguments(raw json.RawMessage) string {
	var a map[string]json.RawMessage
	if json.Unmarshal(raw, &a) != nil {
		return " " + string(raw)
	}
	var parts []string
	for name, v := range a {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		parts = append(parts, name+": "+s)
	}
	slices.Sort(parts)
	return "(" + strings.Join(parts, ", ") + ")"
}

// couldNot are the verbs of calls that failed.
var couldNot = map[string]string{"Read": "Could not read", "Looked at": "Could not look at", "Searched": "Could not search",
	"Listed": "Could not list", "Typed": "Could not type", "Undid": "Could not undo", "Called": "Failed"}

// reason is why something failed, in words: without the code that is meant for models.
func reason(text string) string {
	code, rest, ok := strings.Cut(text, ": ")
	if ok && code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return rest
	}
	return text
}
