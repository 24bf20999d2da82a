package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"kerf/internal/front/tui/ink"
)

// Hook is a program of the user's that watches the session.
type Hook struct {
	Event, Matcher, Command string
	From                    string // the file it stands in
	Required                bool
}

// hooksPanel shows the hooks that hold here.
func (m *Model) hooksPanel() cmd {
	const where = "Hooks are set by [[hooks.EVENT]] in config.toml, in hooks.json of KERF_HOME, and in .kerf/hooks.json of a trusted project; doc/approvals.md tells how."
	if m.o.Hooks == nil {
		m.emit(m.draw().note(ink.Plain, "  ", where)...)
		return nil
	}
	type found struct {
		list     []Hook
		warnings []string
	}
	return fetch(m, func(context.Context) (found, error) {
		list, warnings, err := m.o.Hooks()
		return found{list, warnings}, err
	}, func(m *Model, f found) cmd {
		return m.show("Hooks", func(width int) []ink.Line {
			var rows []ink.Line
			for _, w := range f.warnings {
				rows = append(rows, ink.WrapText(ink.Warn, w, width)...)
			}
			if len(f.list) == 0 {
				rows = append(rows, ink.WrapText(ink.Plain, "No hook is set.", width)...)
			}
			last := ""
			for _, h := range f.list {
				if h.Event != last {
					if last != "" {
						rows = append(rows, nil)
					}
					rows, last = append(rows, ink.Line{ink.Styled(ink.Strong(ink.Heading), h.Event)}.Cut(width)), h.Event
				}
				l := ink.Line{ink.S(ink.Accent, "  "+orAll(h.Matcher)), ink.S(ink.Plain, "  "), {Text: ink.Exact(oneLine(h.Command)), Style: ink.As(ink.Code)}}
				if h.Required {
					l = append(l, ink.S(ink.Warn, "  required"))
				}
				rows = append(rows, ink.Wrap(append(l, ink.S(ink.Dim, "  "+m.home(h.From))), width)...)
			}
			return append(append(rows, nil), ink.WrapText(ink.Dim, where, width)...)
		})
	})
}

func orAll(matcher string) string {
	if matcher == "" {
		return "all"
	}
	return matcher
}

// apply carries the changes of this session to another checkout, once the user saw
// what that would do there. Without a directory it says how.
func (m *Model) apply(words string) cmd {
	if words == "" || m.o.Apply == nil {
		m.emit(m.draw().note(ink.Plain, "  ", "/apply DIRECTORY carries this session's changes to another checkout; in a shell: kerf apply -C DIRECTORY "+string(m.id))...)
		return nil
	}
	dir := strings.Trim(words, `"'`)
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && m.env("HOME") != "" {
		dir = filepath.Join(m.env("HOME"), rest)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(m.settings.Cwd, dir)
	}
	id, carry := string(m.id), m.o.Apply
	type outcome struct{ diff, told string }
	return fetch(m, func(ctx context.Context) (outcome, error) {
		diff, told, err := carry(ctx, dir, id, true)
		return outcome{diff, told}, err
	}, func(m *Model, o outcome) cmd {
		files := parseDiff(o.diff)
		if len(files) == 0 {
			m.notice(ink.Dim, "this session changed no file; there is nothing to apply")
			return nil
		}
		p := menuOf(fmt.Sprintf("Apply %s in %s?", plural(len(files), "changed file"), m.home(dir)), []entry{
			{"No", "", func(*Model) cmd { return nil }},
			{"Yes, apply them there", "", func(m *Model) cmd {
				return fetch(m, func(ctx context.Context) (string, error) {
					_, told, err := carry(ctx, dir, id, false)
					return told, err
				}, func(m *Model, told string) cmd {
					m.notice(ink.Good, "applied in "+m.home(dir)+"; kerf undo -C "+dir+" takes it back\n"+strings.TrimSpace(told))
					return nil
				})
			}},
		})
		p.preview = func(_ pick, width int) []ink.Line {
			rows := ink.WrapText(ink.Dim, strings.TrimSpace(o.told), width)
			return append(rows, drawing{width: width, cwd: m.settings.Cwd}.hunks(files)...)
		}
		m.push(p)
		return nil
	})
}
