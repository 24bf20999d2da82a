package approval

import (
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// editChange edits a proposed file; the change is then shown again.
func editChange(q *Question) (tea.Cmd, bool) {
	var files []protocol.FileText
	for _, f := range q.Approval.Change.Files {
		if f.New != nil {
			files = append(files, f)
		}
	}
	edit := func(f protocol.FileText) tea.Cmd {
		return q.do.Edit(safeName(f.Path), *f.New, func(text string) tea.Cmd {
			if text == *f.New {
				q.do.Notice(style.Dim, "nothing was edited")
				return nil
			}
			return q.reply(protocol.Answer{Decision: protocol.Once, Edited: map[string]string{f.Path: text}})
		})
	}
	switch len(files) {
	case 0:
		q.do.Notice(style.Warn, "there is no text to edit")
		return nil, true
	case 1:
		return edit(files[0]), true
	}
	p := &panels.Picker{Title: "Edit which file?", Filter: true}
	for _, f := range files {
		p.Items = append(p.Items, panels.Item{Label: q.do.Path(f.Path), Value: f})
	}
	p.Choose = func(it panels.Item) (tea.Cmd, bool) { return edit(it.Value.(protocol.FileText)), false }
	q.do.Open(p)
	return nil, true
}

// safeName keeps the ending of a file's name, so that the editor knows the language,
// and nothing that could be read as an option or a path.
func safeName(path string) string {
	ext := filepath.Ext(humanize.Base(path))
	for _, r := range ext[min(1, len(ext)):] {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return "file.txt"
		}
	}
	return "file" + ext
}
