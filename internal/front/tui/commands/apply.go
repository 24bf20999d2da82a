package commands

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
)

// apply carries the changes of this session to another checkout, once the user saw
// what that would do there. Without a directory it says how.
func apply(c *Commands, words string) tea.Cmd {
	if words == "" || c.ui.Apply == nil {
		c.ui.Shown().Note(style.Plain, "  ", "/apply DIRECTORY applies this session's changes to another checkout; "+
			"in a shell: kerf apply -C DIRECTORY "+string(c.ui.Session.ID))
		return nil
	}
	dir := strings.Trim(words, `"'`)
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && c.ui.Session.Home != "" {
		dir = filepath.Join(c.ui.Session.Home, rest)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.ui.Session.Settings.Cwd, dir)
	}
	id, place := string(c.ui.Session.ID), c.ui.Session.ShortHome(dir)
	type outcome struct{ diff, told string }
	carry := func(dry bool) func(context.Context) (outcome, error) {
		return func(ctx context.Context) (outcome, error) {
			diff, told, err := c.ui.Apply(ctx, dir, id, dry)
			return outcome{diff, told}, err
		}
	}
	return fetch(c, carry(true), func(o outcome) tea.Cmd {
		files := diffview.Parse(o.diff)
		if len(files) == 0 {
			c.ui.Notice(style.Dim, "this session changed no file; there is nothing to apply")
			return nil
		}
		question := menu(fmt.Sprintf("Apply %s in %s?", humanize.Count(len(files), "changed file"), place), []entry{
			{"No", "", nothing},
			{"Yes, apply them there", "", func(c *Commands) tea.Cmd {
				return fetch(c, carry(false), func(o outcome) tea.Cmd {
					c.ui.Notice(style.Good, "applied in "+place+"; kerf undo -C "+dir+" takes it back\n"+strings.TrimSpace(o.told))
					return nil
				})
			}},
		})
		question.preview = func(c *Commands, _ panels.Item, width int) []style.Line {
			return append(style.WrapText(style.Dim, strings.TrimSpace(o.told), width), diffview.Summary(files, width)...)
		}
		return c.choose(question)
	})
}
