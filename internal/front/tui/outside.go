package tui

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"kerf/internal/front/tui/composer"
	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

func (m *Model) changed(ctx context.Context) ([]protocol.Deed, error) {
	return m.o.Desk.Changes(ctx, m.id)
}

// editor is the user's editor and its arguments.
func (m *Model) editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if f := strings.Fields(m.env(name)); len(f) > 0 {
			return f
		}
	}
	return []string{"vi"}
}

// edit lets the user edit a text in the editor and hands it to then.
func (m *Model) edit(name, text string, then func(m *Model, text string) cmd) cmd {
	dir, err := os.MkdirTemp("", "kerf-edit-")
	if err != nil {
		m.notice(ink.Bad, "edit: "+err.Error())
		return nil
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.notice(ink.Bad, "edit: "+err.Error())
		return nil
	}
	args := append(m.editor(), path)
	c := exec.Command(args[0], args[1:]...)
	return m.run(c, func(err error) tea.Msg {
		defer os.RemoveAll(dir)
		if err != nil {
			return noticeMsg{ink.Bad, strings.Join(m.editor(), " ") + ": " + err.Error() + "; set VISUAL or EDITOR to your editor"}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return noticeMsg{ink.Bad, "edit: " + err.Error()}
		}
		return runMsg{func(m *Model) cmd { return then(m, string(b)) }}
	})
}

func (m *Model) editExternally() cmd {
	return m.edit("message.md", m.comp.Value(), func(m *Model, text string) cmd {
		m.comp.Set(strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\n"))
		return nil
	})
}

// editChange edits a proposed file; the change is then shown again.
func editChange(m *Model, a *approval) (cmd, bool) {
	var files []protocol.FileText
	for _, f := range a.a.Change.Files {
		if f.New != nil {
			files = append(files, f)
		}
	}
	one := func(f protocol.FileText) cmd {
		return m.edit(safeName(f.Path), *f.New, func(m *Model, text string) cmd {
			if text == *f.New {
				m.notice(ink.Dim, "nothing was edited")
				return nil
			}
			return a.reply(m, protocol.Answer{Decision: protocol.Once, Edited: map[string]string{f.Path: text}})
		})
	}
	switch len(files) {
	case 0:
		m.notice(ink.Warn, "there is no text to edit")
		return nil, true
	case 1:
		return one(files[0]), true
	}
	p := &picker{title: "Edit which file?", filter: true}
	for _, f := range files {
		p.items = append(p.items, pick{label: m.draw().path(f.Path), value: f})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) { return one(it.value.(protocol.FileText)), false }
	m.push(p)
	return nil, true
}

// safeName keeps the ending of a file's name, so that the editor knows the
// language, and nothing that could be read as an option or a path.
func safeName(path string) string {
	ext := filepath.Ext(lastElement(path))
	for _, r := range ext[min(1, len(ext)):] {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return "file.txt"
		}
	}
	return "file" + ext
}

// maxImage bounds an image that is attached.
const maxImage = 20 << 20

// dropped takes a paste that is nothing but the path of an image, as terminals
// send a file that is dragged onto them.
func (m *Model) dropped(text string) (cmd, bool) {
	path := strings.Trim(strings.TrimSpace(text), `'"`)
	if strings.Contains(path, "\n") || len(path) > 1000 || path == "" {
		return nil, false
	}
	if u, err := url.Parse(path); err == nil && u.Scheme == "file" {
		path = u.Path
	}
	path = strings.ReplaceAll(path, `\ `, " ")
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return nil, false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.settings.Cwd, path)
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > maxImage {
		return nil, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	return nil, m.attach(b, filepath.Base(path))
}

// attach puts an image into the composer, if it is one.
func (m *Model) attach(b []byte, name string) bool {
	kind := http.DetectContentType(b)
	if !strings.HasPrefix(kind, "image/") || len(b) > maxImage {
		return false
	}
	m.comp.InsertChip(composer.Chip{Label: fmt.Sprintf("Image #%d: %s", len(m.comp.Images())+1, name), Image: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)})
	return true
}

// pasteImage takes an image from the clipboard with the tool the desktop has.
func (m *Model) pasteImage() cmd {
	tools := [][]string{{"wl-paste", "--type", "image/png"}, {"xclip", "-selection", "clipboard", "-t", "image/png", "-o"}, {"pngpaste", "-"}}
	return do(func(ctx context.Context) tea.Msg {
		for _, t := range tools {
			if _, err := exec.LookPath(t[0]); err != nil {
				continue
			}
			b, err := exec.CommandContext(ctx, t[0], t[1:]...).Output()
			if err == nil && len(b) > 0 {
				return runMsg{func(m *Model) cmd {
					if !m.attach(b, "clipboard") {
						m.notice(ink.Warn, "the clipboard holds no image")
					}
					return nil
				}}
			}
		}
		return noticeMsg{ink.Warn, "no image could be read from the clipboard (wl-paste, xclip or pngpaste is needed)"}
	})
}

// copyAnswer puts the last answer, or everything, on the clipboard by OSC 52. It
// is the only place that does.
func (m *Model) copyAnswer(words string) cmd {
	text := m.markdown(false)
	if words != "all" {
		text = ""
		for i := len(m.store.items) - 1; i >= 0 && text == ""; i-- {
			text, _, _ = textOf(m.store.items[i].Body)
			if _, ok := m.store.items[i].Body.(protocol.Reasoning); ok {
				text = ""
			}
		}
	}
	if text == "" {
		m.notice(ink.Dim, "there is no answer to copy yet")
		return nil
	}
	const most = 1 << 20
	if len(text) > most {
		text = text[len(text)-most:]
	}
	m.notice(ink.Dim, "copied "+sizeText(len(text)))
	m.write(ansi.SetSystemClipboard(text))
	return nil
}

// markdown writes the conversation as Markdown.
func (m *Model) markdown(whole bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", strings.TrimSpace("Kerf session "+oneLine(m.title)))
	d := drawing{width: 100, cwd: m.settings.Cwd, whole: true}
	for _, it := range m.store.items {
		switch body := it.Body.(type) {
		case protocol.UserMessage:
			fmt.Fprintf(&b, "\n## You\n\n%s\n", inputText(body.Input))
		case protocol.AgentMessage:
			fmt.Fprintf(&b, "\n## Kerf\n\n%s\n", body.Text)
		case protocol.ProposedPlan:
			fmt.Fprintf(&b, "\n## Plan\n\n%s\n", body.Text)
		case protocol.Reasoning:
		default:
			b.WriteString("\n```text\n")
			for _, l := range d.item(it) {
				b.WriteString(strings.ReplaceAll(l.Text(), "```", "'''") + "\n")
			}
			b.WriteString("```\n")
		}
	}
	return b.String()
}

// export writes the conversation to a new file; it never replaces one.
func (m *Model) export(words string) cmd {
	name := words
	if name == "" {
		name = "kerf-" + string(m.id[:min(13, len(m.id))]) + ".md"
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(m.settings.Cwd, name)
	}
	text := m.markdown(true)
	return do(func(context.Context) tea.Msg {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			if e := f.Close(); err == nil {
				err = e
			}
		}
		if err != nil {
			return noticeMsg{ink.Bad, "export: " + err.Error()}
		}
		return noticeMsg{ink.Good, "written to " + name}
	})
}

// notify tells the user something while the terminal is not looked at.
func (m *Model) notify(title, text string) cmd {
	if m.focused || m.o.Notify == "off" {
		return nil
	}
	title, text = ink.L(ink.Plain, oneLine(title)).Cut(60).Text(), ink.L(ink.Plain, strings.ReplaceAll(oneLine(text), ";", ",")).Cut(120).Text()
	switch m.o.Notify {
	case "bell":
		m.write("\a")
	case "osc777":
		m.write("\x1b]777;notify;" + title + ";" + text + "\a")
	default:
		m.write("\x1b]9;" + title + ": " + text + "\a")
	}
	return nil
}

// write sends bytes of ours to the terminal, between frames.
func (m *Model) write(s string) {
	if m.o.Out != nil {
		_, _ = m.o.Out.Write([]byte(s))
	}
}

// branchOf reads what is checked out from git's files; nothing is started.
func branchOf(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		if b, err := readSmall(git); err == nil {
			if to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: "); ok {
				if !filepath.IsAbs(to) {
					to = filepath.Join(dir, to)
				}
				git = to
			}
		}
		if b, err := readSmall(filepath.Join(git, "HEAD")); err == nil {
			head := strings.TrimSpace(string(b))
			if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
				return oneLine(name)
			}
			return head[:min(8, len(head))]
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// readSmall reads a small regular file: nothing that could block or be endless.
func readSmall(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > 4096 {
		return nil, fmt.Errorf("%s is not a small file", path)
	}
	return os.ReadFile(path)
}
