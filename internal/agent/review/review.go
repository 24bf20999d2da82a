// Package review writes the task of a reviewer and reads its findings. It is pure.
package review

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/order"
)

// Role is the name of the reviewer among sub-agents.
const Role = "review"

// Instructions are what every reviewer is told.
//
//go:embed review.md
var Instructions string

// Tools are the names of the tools that a reviewer may use.
func Tools() []string {
	return []string{"read_file", "list_dir", "glob", "grep", "exec_command", "write_stdin"}
}

// Uncommitted asks for a review of what is not committed.
func Uncommitted() string {
	return "Review the changes in this work tree that are not committed: staged, unstaged, and files that git does not " +
		"know yet. " +
		"Look at them with git status, git diff HEAD, and by reading the new files."
}

// Base asks for a review of what was done since a branch was left at mergeBase.
func Base(branch, mergeBase string) string {
	return fmt.Sprintf("Review the changes since branch %q was left. They begin at commit %s: look at them with git "+
		"diff %s", branch, mergeBase, mergeBase)
}

// Commit asks for a review of one commit.
func Commit(commit string) string {
	return fmt.Sprintf("Review the changes of commit %s: look at them with git show %s", commit, commit)
}

// Words asks for what the user says.
func Words(words string) string { return "Review as the user asks:\n\n" + words }

// report is what a reviewer is asked to write.
type report struct {
	Findings    []finding `json:"findings"`
	Verdict     string    `json:"overall_correctness"`
	Explanation string    `json:"overall_explanation"`
}

type finding struct {
	Title      string          `json:"title"`
	Body       string          `json:"body"`
	Confidence *float64        `json:"confidence_score"`
	Confident  *float64        `json:"confidence"`
	Priority   json.RawMessage `json:"priority"`
	Place      struct {
		Path     string `json:"absolute_file_path"`
		Relative string `json:"path"`
		Lines    struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
		} `json:"line_range"`
	} `json:"code_location"`
}

// Parse reads a reviewer's last message. It finds the JSON object that the reviewer
// was asked for, also inside other text; without one the whole message is the
// result. Paths below cwd become relative to it.
func Parse(text, cwd string) protocol.ReviewResult {
	var r report
	if !find(text, &r) {
		return protocol.ReviewResult{Text: strings.TrimSpace(text)}
	}
	out := protocol.ReviewResult{Text: strings.TrimSpace(r.Explanation)}
	if out.Text == "" {
		out.Text = strings.TrimSpace(r.Verdict)
	}
	for _, f := range r.Findings {
		if f.Title != "" || f.Body != "" {
			out.Findings = append(out.Findings, f.told(cwd))
		}
	}
	order.Stably(out.Findings, func(a, b protocol.Finding) int { return a.Priority - b.Priority })
	return out
}

// find reads the first object in text that is a report.
func find(text string, r *report) bool {
	for at := strings.IndexByte(text, '{'); at >= 0; {
		var fields map[string]json.RawMessage
		d := json.NewDecoder(strings.NewReader(text[at:]))
		if d.Decode(&fields) == nil {
			_, findings := fields["findings"]
			_, words := fields["overall_explanation"]
			if whole := text[at : at+int(d.InputOffset())]; (findings || words) && json.Unmarshal([]byte(whole), r) == nil {
				return true
			}
		}
		next := strings.IndexByte(text[at+1:], '{')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

func (f finding) told(cwd string) protocol.Finding {
	title, urgency := urgent(f.Title)
	out := protocol.Finding{Title: title, Body: strings.TrimSpace(f.Body), Priority: urgency,
		Confidence: confidence(f.Confidence, f.Confident),
		Path:       below(f.Place.Path, cwd), Start: line(f.Place.Lines.Start), End: line(f.Place.Lines.End)}
	if out.Path == "" {
		out.Path = below(f.Place.Relative, cwd)
	}
	if p, ok := priority(f.Priority); ok {
		out.Priority = p
	}
	if out.End < out.Start {
		out.End = out.Start
	}
	return out
}

// least is the priority of findings that have none.
const least = 3

// urgent takes a mark such as [P1] off a title.
func urgent(title string) (string, int) {
	title = strings.TrimSpace(title)
	if len(title) >= 4 && title[0] == '[' && (title[1] == 'P' || title[1] == 'p') && title[2] >= '0' && title[2] <= '3' &&
		title[3] == ']' {
		return strings.TrimSpace(title[4:]), int(title[2] - '0')
	}
	return title, least
}

// priority reads 1, "1" and "P1".
func priority(raw json.RawMessage) (int, bool) {
	s := strings.TrimLeft(strings.Trim(string(raw), `" `), "Pp")
	if len(s) == 0 || s[0] < '0' || s[0] > '3' {
		return 0, false
	}
	return int(s[0] - '0'), true
}

func confidence(all ...*float64) float64 {
	for _, c := range all {
		if c != nil && !math.IsNaN(*c) {
			return min(max(*c, 0), 1)
		}
	}
	return 0
}

func line(n float64) int {
	if !(n >= 1 && n < 1e9) {
		return 0
	}
	return int(n)
}

// below is a path as seen from cwd, if it lies there.
func below(name, cwd string) string {
	name, cwd = strings.ReplaceAll(name, "\\", "/"), strings.ReplaceAll(cwd, "\\", "/")
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(cwd, "/")+"/"); ok {
		name = rest
	}
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// Render is a result in words, as people and models read it.
func Render(r protocol.ReviewResult) string {
	var b strings.Builder
	b.WriteString(r.Text)
	switch {
	case len(r.Findings) == 0 && b.Len() == 0:
		return "Nothing was found."
	case len(r.Findings) == 0:
		return b.String()
	}
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString("Review comments:\n")
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n- [P%d] %s", f.Priority, f.Title)
		if f.Path != "" {
			b.WriteString(" — " + place(f))
		}
		for _, l := range strings.Split(f.Body, "\n") {
			if l != "" {
				b.WriteString("\n  " + l)
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

func place(f protocol.Finding) string {
	switch {
	case f.Start == 0:
		return f.Path
	case f.End == f.Start:
		return fmt.Sprintf("%s:%d", f.Path, f.Start)
	}
	return fmt.Sprintf("%s:%d-%d", f.Path, f.Start, f.End)
}
