package commands

import (
	"context"
	"os"
	"path/filepath"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/style"
)

// markdown is the conversation that is shown as Markdown.
func (c *Commands) markdown() string {
	t := c.ui.Shown().Transcript
	return t.Markdown(c.ui.Session.Title, c.ui.Session.Settings.Cwd)
}

// copyAnswer puts the last answer, or everything, on the clipboard by OSC 52. It
// is the only place that does.
func copyAnswer(c *Commands, words string) tea.Cmd {
	t := c.ui.Shown().Transcript
	text := t.LastAnswer()
	if words == "all" {
		text = c.markdown()
	}
	if text == "" {
		c.ui.Notice(style.Dim, "there is no answer to copy yet")
		return nil
	}
	const most = 1 << 20
	if len(text) > most {
		text = text[len(text)-most:]
	}
	c.ui.Notice(style.Dim, "copied "+humanize.Bytes(len(text)))
	c.ui.Write(ansi.SetSystemClipboard(text))
	return nil
}

// export writes the conversation to a new file; it never replaces one.
func export(c *Commands, words string) tea.Cmd {
	name, id := words, c.ui.Session.ID
	if name == "" {
		name = "kerf-" + string(id[:min(13, len(id))]) + ".md"
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.ui.Session.Settings.Cwd, name)
	}
	if ext := filepath.Ext(name); ext == ".html" || ext == ".json" {
		c.ui.Notice(style.Warn, "/export writes Markdown; another form: kerf export -o "+words+" "+string(id))
		return nil
	}
	text := c.markdown()
	return c.ui.Beside(func(context.Context) func() tea.Cmd {
		role, told := style.Good, "written to "+name
		if err := writeNew(name, text); err != nil {
			role, told = style.Bad, "export: "+err.Error()
		}
		return func() tea.Cmd { c.ui.Notice(role, told); return nil }
	})
}

// writeNew writes a file that is not there yet.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
