package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
)

// Notes are the machine-made record of a session: what no summary may lose.
// They are made from records alone and are bounded; what fell out is counted.
type Notes struct {
	Plan     *Plan         `json:"plan,omitempty"`
	Proposed string        `json:"proposed_plan,omitempty"` // by the model, in plan mode
	Files    []FileNote    `json:"files,omitempty"`         // the one touched last is last
	Commands []CommandNote `json:"commands,omitempty"`      // the newest is last
	// MoreFiles and MoreCommands count older ones that are not listed.
	MoreFiles    int `json:"more_files,omitempty"`
	MoreCommands int `json:"more_commands,omitempty"`
}

// Plan is the list of steps that the model keeps.
type Plan struct {
	Explanation string          `json:"explanation,omitempty"`
	Steps       []protocol.Step `json:"steps"`
}

// FileNote is one file that was read or changed. Hash and Version are its state
// when the model last saw it.
type FileNote struct {
	Path      pathname.Path `json:"path"`
	Operation string        `json:"deed"` // read, created, modified, deleted
	Hash      string        `json:"content_hash,omitempty"`
	Version   int           `json:"version,omitempty"`
	// Stale is set when a command or somebody else changed it since it was seen.
	Stale bool `json:"stale,omitempty"`
}

// CommandNote is one command; Exit is nil when it was still running.
type CommandNote struct {
	Command string `json:"command"`
	Exit    *int   `json:"exit_code,omitempty"`
}

// Bounds of the notes.
const (
	maxFileNotes    = 200
	maxCommandNotes = 60
	maxCommandBytes = 300
	maxPlanBytes    = 16 << 10
)

// Observe takes in what r tells. Other records are passed over.
func (n *Notes) Observe(r Record) {
	switch r := r.(type) {
	case AssistantMessage:
		if r.Plan != "" && !r.Partial {
			n.Proposed = cut(r.Plan, maxPlanBytes)
		}
	case ToolCall:
		n.call(r)
	case FileChange:
		n.change(r)
	}
}

func (n *Notes) call(r ToolCall) {
	if r.Plan != nil {
		n.Plan = r.Plan
	}
	if r.Command != "" {
		n.Commands = append(n.Commands, CommandNote{cut(r.Command, maxCommandBytes), r.Exit})
		if len(n.Commands) > maxCommandNotes {
			n.Commands = slices.Delete(n.Commands, 0, 1)
			n.MoreCommands++
		}
	}
	for _, s := range r.Observed {
		if s.Sum == "" {
			continue
		}
		f := n.file(string(s.Path))
		f.Hash, f.Version, f.Stale = s.Hash, s.Version, false
		if f.Operation == "" || f.Operation == "deleted" {
			f.Operation = "read"
		}
		n.touch(f)
	}
}

func (n *Notes) change(r FileChange) {
	f := n.file(string(r.Path))
	if !(f.Operation == "created" && r.Operation == "modified") {
		f.Operation = r.Operation
	}
	switch {
	case r.Operation == "deleted":
		f.Hash, f.Version, f.Stale = "", 0, false
	default:
		f.Stale = r.Cause != "tool"
	}
	n.touch(f)
}

// file takes the note of path out, or makes one.
func (n *Notes) file(path string) FileNote {
	for i := len(n.Files) - 1; i >= 0; i-- {
		if string(n.Files[i].Path) == path {
			f := n.Files[i]
			n.Files = slices.Delete(n.Files, i, i+1)
			return f
		}
	}
	return FileNote{Path: pathname.Path(path)}
}

func (n *Notes) touch(f FileNote) {
	n.Files = append(n.Files, f)
	if len(n.Files) > maxFileNotes {
		i := slices.IndexFunc(n.Files, func(f FileNote) bool { return f.Operation == "read" })
		n.Files = slices.Delete(n.Files, max(i, 0), max(i, 0)+1)
		n.MoreFiles++
	}
}

// Clone returns a copy that shares nothing that changes.
func (n *Notes) Clone() *Notes {
	c := *n
	c.Files, c.Commands = slices.Clone(n.Files), slices.Clone(n.Commands)
	return &c
}

// Text tells the notes to the model. It is empty when there are none.
func (n *Notes) Text() string {
	var b strings.Builder
	n.tellPlan(&b)
	n.tellFiles(&b)
	n.tellCommands(&b)
	if b.Len() == 0 {
		return ""
	}
	return "<session_record>\nKerf keeps this record itself. It is exact, whatever the summary says.\n" + b.String() +
		"</session_record>"
}

func (n *Notes) tellPlan(b *strings.Builder) {
	if n.Proposed != "" {
		fmt.Fprintf(b, "\nThe plan you proposed:\n%s\n", plain(n.Proposed))
	}
	if n.Plan == nil || len(n.Plan.Steps) == 0 {
		return
	}
	b.WriteString("\nPlan (update_plan):\n")
	for _, s := range n.Plan.Steps {
		fmt.Fprintf(b, "- [%s] %s\n", plain(s.Status), oneLine(s.Step))
	}
}

func (n *Notes) tellFiles(b *strings.Builder) {
	if len(n.Files) == 0 {
		return
	}
	b.WriteString("\nFiles read or changed, with the state you last saw; their text is no longer in this conversation, " +
		"read again what you need:\n")
	for _, f := range n.Files {
		fmt.Fprintf(b, "- %s: %s", oneLine(string(f.Path)), f.Operation)
		if f.Hash != "" {
			fmt.Fprintf(b, ", version %d, contentHash %s", f.Version, f.Hash)
		}
		if f.Stale {
			b.WriteString(", changed since by something else")
		}
		b.WriteByte('\n')
	}
	if n.MoreFiles > 0 {
		fmt.Fprintf(b, "- and %d more\n", n.MoreFiles)
	}
}

func (n *Notes) tellCommands(b *strings.Builder) {
	if len(n.Commands) == 0 {
		return
	}
	b.WriteString("\nCommands run, oldest first:\n")
	if n.MoreCommands > 0 {
		fmt.Fprintf(b, "- (%d earlier ones)\n", n.MoreCommands)
	}
	for _, c := range n.Commands {
		how := "still running when last seen"
		if c.Exit != nil {
			how = "exit code " + strconv.Itoa(*c.Exit)
		}
		fmt.Fprintf(b, "- %s: %s\n", oneLine(c.Command), how)
	}
}

// oneLine keeps a hostile name or command from ending its line.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		s = strconv.Quote(s)
	}
	return plain(s)
}

// plain keeps text from ending the record.
func plain(s string) string { return strings.ReplaceAll(s, "</session_record", "<\\/session_record") }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:cutAfter(s, most)] + " …"
}
