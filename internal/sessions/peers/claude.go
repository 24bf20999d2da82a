package peers

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// claudeLine is a line of a file below ~/.claude/projects. Lines form a tree: going back to an
// earlier message begins another branch. The conversation is the branch that ends last.
type claudeLine struct {
	Type, Subtype string
	UUID          string
	Parent        string `json:"parentUuid"`
	Logical       string `json:"logicalParentUuid"` // across a compaction
	Session       string `json:"sessionId"`
	Cwd           string
	Branch        string `json:"gitBranch"`
	Timestamp     time.Time
	Sidechain     bool `json:"isSidechain"` // of a sub-agent
	Meta          bool `json:"isMeta"`      // written by the program, not by the user
	Compact       bool `json:"isCompactSummary"`
	Message       struct {
		ID, Role, Model string
		Content         json.RawMessage
		Usage           *struct {
			Input   int `json:"input_tokens"`
			Read    int `json:"cache_read_input_tokens"`
			Written int `json:"cache_creation_input_tokens"`
			Output  int `json:"output_tokens"`
		}
	}

	blocks []claudeBlock
}

// claudeBlock is a part of a message.
type claudeBlock struct {
	Type, Text, Thinking string
	ID, Name             string
	Input                json.RawMessage
	Call                 string `json:"tool_use_id"`
	Failed               bool   `json:"is_error"`
	Content              json.RawMessage
	Source               struct {
		Type string
		Kind string `json:"media_type"`
		Data string
	}
}

func claude(w *writer, path string, text []byte) error {
	var lines []*claudeLine
	for raw := range bytes.Lines(text) {
		l := &claudeLine{}
		if json.Unmarshal(raw, l) != nil || l.UUID == "" || l.Sidechain {
			continue
		}
		l.blocks = blocksOf(l.Message.Content)
		lines = append(lines, l)
	}
	lines = slices.DeleteFunc(lines, branch(lines))
	i := slices.IndexFunc(lines, func(l *claudeLine) bool { return l.Type == "user" })
	if i < 0 {
		return ErrNone
	}
	lines = lines[i:]
	first := lines[0]
	id := first.Session
	if name := strings.TrimSuffix(filepath.Base(path), ".jsonl"); uuid.Validate(name) == nil {
		id = name // a session that was gone on with may hold lines of the one before
	}
	w.at = first.Timestamp
	w.begin(id, first.Cwd, "anthropic", first.Branch)
	return written(w, lines)
}

// written writes the lines of a conversation.
func written(w *writer, lines []*claudeLine) error {
	counted, command, said := "", "", false
	for _, l := range lines {
		w.at = l.Timestamp
		switch l.Type {
		case "user":
			if c := l.command(); c != "" {
				command = c
			}
			if l.user(w) {
				command, said = "", true
			}
		case "assistant":
			if command != "" { // its text was put in by the program
				w.user(command, nil)
				command, said = "", true
			}
			if !said {
				continue
			}
			l.assistant(w)
			if u := l.Message.Usage; u != nil && l.Message.ID != counted { // each block of a message tells it
				counted = l.Message.ID
				w.tokens(u.Input+u.Read+u.Written, u.Read, u.Output, 0)
			}
		}
	}
	if !said {
		return ErrNone
	}
	return nil
}

// command is the command behind a slash that a message stands for, or nothing.
func (l *claudeLine) command() string {
	for _, b := range l.blocks {
		name := between(b.Text, "<command-name>", "</command-name>")
		if b.Type == "text" && name != "" {
			return strings.TrimSpace(name + " " + between(b.Text, "<command-args>", "</command-args>"))
		}
	}
	return ""
}

func between(text, begin, end string) string {
	_, text, ok := strings.Cut(text, begin)
	text, _, closed := strings.Cut(text, end)
	if !ok || !closed {
		return ""
	}
	return strings.TrimSpace(text)
}

// branch reports of a line whether it is not in the branch that ends last. Calls that were made
// beside each other hang beside it, with their results: they belong to it.
func branch(lines []*claudeLine) func(*claudeLine) bool {
	byID, at := map[string]*claudeLine{}, map[*claudeLine]int{}
	var l *claudeLine
	for i, x := range lines {
		byID[x.UUID], at[x] = x, i
		if x.Type == "user" || x.Type == "assistant" {
			l = x
		}
	}
	kept, messages, calls := map[*claudeLine]bool{}, map[string]bool{}, map[string]bool{}
	for l != nil && !kept[l] {
		kept[l] = true
		if l.Message.ID != "" {
			messages[l.Message.ID] = true
		}
		parent := l.Parent
		if parent == "" {
			parent = l.Logical
		}
		next := byID[parent]
		if next == nil && parent != "" && at[l] > 0 { // the line was lost
			next = lines[at[l]-1]
		}
		l = next
	}
	for _, x := range lines {
		if x.Type == "assistant" && messages[x.Message.ID] {
			kept[x] = true
			for _, b := range x.blocks {
				calls[b.ID] = b.ID != ""
			}
		}
	}
	return func(x *claudeLine) bool {
		return !kept[x] && !slices.ContainsFunc(x.blocks, func(b claudeBlock) bool { return b.Call != "" && calls[b.Call] })
	}
}

// blocksOf are the parts of a content, which may be a text.
func blocksOf(raw json.RawMessage) []claudeBlock {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(raw, &blocks) // another form has no parts
	return blocks
}

// marks begin messages of the user that the program wrote.
var marks = []string{"<command-", "<ide_", "<local-command-", "<bash-", "<task-notification", "Caveat: The messages below",
	"[Request interrupted"}

// user writes what the user said and what tools answered. It reports whether the user said something.
func (l *claudeLine) user(w *writer) bool {
	var said []string
	var images []string
	for _, b := range l.blocks {
		switch b.Type {
		case "tool_result":
			text, pictures := contentOf(b.Content)
			if pictures > 0 {
				text = strings.TrimSpace(text + "\n[a picture]")
			}
			w.output(b.Call, text, !b.Failed)
		case "text":
			text := unreminded(b.Text)
			if !slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(strings.TrimSpace(text), m) }) &&
				strings.TrimSpace(text) != "" {
				said = append(said, text)
			}
		case "image":
			if b.Source.Type == "base64" {
				images = append(images, "data:"+b.Source.Kind+";base64,"+b.Source.Data)
			}
		}
	}
	switch text := strings.Join(said, "\n"); {
	case l.Meta || text == "" && len(images) == 0:
		return false
	case l.Compact:
		w.compacted(text)
		return false
	default:
		w.user(text, images)
		return true
	}
}

// unreminded is a text without what the program put into it.
func unreminded(text string) string {
	const begin, end = "<system-reminder>", "</system-reminder>"
	for {
		i := strings.Index(text, begin)
		if i < 0 {
			return text
		}
		j := strings.Index(text[i:], end)
		if j < 0 {
			return text
		}
		text = text[:i] + text[i+j+len(end):]
	}
}

// contentOf is the text of a result, and how many pictures it has.
func contentOf(raw json.RawMessage) (string, int) {
	var texts []string
	pictures := 0
	for _, b := range blocksOf(raw) {
		if b.Type == "image" {
			pictures++
		} else if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n"), pictures
}

func (l *claudeLine) assistant(w *writer) {
	if l.Message.Model != "<synthetic>" { // an error that the program tells
		w.uses(l.Message.Model)
	}
	for _, b := range l.blocks {
		switch b.Type {
		case "text":
			w.assistant(b.Text)
		case "thinking":
			if b.Thinking != "" {
				w.thought(b.Thinking)
			}
		case "tool_use", "server_tool_use":
			w.call(b.ID, b.Name, b.Input)
		}
	}
}
