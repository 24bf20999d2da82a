package tui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/input"
	"kerf/internal/front/tui/style"
)

// files has the input find files and definitions in the workspace; nil when nobody can.
func (m *Model) files() func(word string) tea.Cmd {
	query := m.o.Workspace
	if query == nil {
		return nil
	}
	return func(word string) tea.Cmd {
		cwd := m.session.Settings.Cwd
		return do(func(ctx context.Context) tea.Msg {
			found, err := query.Mentions(ctx, cwd, word, input.MaxChoices)
			return runMsg{func() tea.Cmd { return m.input.Found(word, found, err) }}
		})
	}
}

// editor is the user's editor and its arguments.
func (o Options) editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if f := strings.Fields(o.env(name)); len(f) > 0 {
			return f
		}
	}
	return []string{"vi"}
}

// edit lets the user edit a text in the editor and hands it to then.
func (m *Model) edit(name, text string, then func(text string) tea.Cmd) tea.Cmd {
	dir, err := os.MkdirTemp("", "kerf-edit-")
	if err != nil {
		m.notice(style.Bad, "edit: "+err.Error())
		return nil
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.notice(style.Bad, "edit: "+err.Error())
		return nil
	}
	editor := m.o.editor()
	args := append(editor[:len(editor):len(editor)], path)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir // a project must not configure the editor
	return m.run(cmd, func(err error) tea.Msg {
		defer os.RemoveAll(dir)
		if err != nil {
			return noticeMsg{style.Bad, strings.Join(editor, " ") + ": " + err.Error() + "; set VISUAL or EDITOR to your editor"}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return noticeMsg{style.Bad, "edit: " + err.Error()}
		}
		return runMsg{func() tea.Cmd { return then(string(b)) }}
	})
}

// openFile opens a file of the user's in the editor, at a line where the editor's way to
// say so is known.
func openFile(m *Model, path string, line int) tea.Cmd {
	args := append(slices.Clip(m.o.editor()), fileArgs(m.o.editor()[0], path, line)...)
	return m.run(exec.Command(args[0], args[1:]...), func(err error) tea.Msg {
		if err != nil {
			return noticeMsg{style.Bad, args[0] + ": " + err.Error() + "; set VISUAL or EDITOR to your editor"}
		}
		return nil
	})
}

// fileArgs are the arguments by which an editor opens a file at a line.
func fileArgs(editor, path string, line int) []string {
	at := fmt.Sprintf("%s:%d", path, line)
	switch name := strings.TrimSuffix(filepath.Base(editor), ".exe"); {
	case line <= 0:
	case slices.Contains([]string{"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne"}, name):
		return []string{fmt.Sprintf("+%d", line), path}
	case slices.Contains([]string{"code", "codium", "cursor"}, name):
		return []string{"-g", at}
	case slices.Contains([]string{"hx", "helix", "subl", "zed"}, name):
		return []string{at}
	}
	return []string{path}
}

// program gives the terminal to a program until it ends. It told its error there itself.
func program(m *Model, argv []string, then func() tea.Cmd) tea.Cmd {
	return m.run(exec.Command(argv[0], argv[1:]...), func(error) tea.Msg { return runMsg{then} })
}

// editMessage edits the message in the editor.
func (m *Model) editMessage() tea.Cmd {
	return m.edit("message.md", m.shown.Composer.Value(), func(text string) tea.Cmd {
		m.shown.Composer.Set(strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\n"))
		return nil
	})
}

// pasteImage attaches the image on the clipboard.
func (m *Model) pasteImage() tea.Cmd {
	return do(func(ctx context.Context) tea.Msg {
		b, err := input.ClipboardImage(ctx)
		if err != nil {
			return noticeMsg{style.Warn, err.Error()}
		}
		return runMsg{func() tea.Cmd {
			if !m.input.AttachImage(b, "clipboard") {
				m.notice(style.Warn, "the clipboard holds no image")
			}
			return nil
		}}
	})
}

// notify tells the user something while the terminal is not looked at.
func (m *Model) notify(title, text string) {
	if m.focused || m.o.Notify == "off" {
		return
	}
	title = style.L(style.Plain, style.OneLine(title)).Cut(60).Text()
	text = style.L(style.Plain, strings.ReplaceAll(style.OneLine(text), ";", ",")).Cut(120).Text()
	switch m.o.Notify {
	case "bell":
		m.write("\a")
	case "osc777":
		m.write("\x1b]777;notify;" + title + ";" + text + "\a")
	default:
		m.write("\x1b]9;" + title + ": " + text + "\a")
	}
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
				return style.OneLine(name)
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
