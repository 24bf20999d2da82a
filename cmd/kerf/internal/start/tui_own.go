package start

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/cmd/kerf/internal/start/looks"
	"kerf/internal/front/tui"
	"kerf/internal/front/tui/keymap"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/host"
	"kerf/internal/host/statusline"
	"kerf/internal/protocol"
	"kerf/internal/work/apply"
)

// ownLook gives the terminal UI the themes and keys of the user's own.
func (o *tuiOptions) ownLook(h *host.Host, t *tui.Options) error {
	var err error
	if t.StatusItems, err = status.Items(h.Config.TUI.StatusLine); err != nil {
		return program.Misuse("config.toml: tui.status_line: %v", err)
	}
	if command := h.Config.TUI.StatusCommand; command != "" {
		t.StatusCommand = func(id protocol.SessionID, set protocol.Settings, used protocol.TokensUsed) string {
			told := statusline.Told{Session: string(id), Cwd: set.Cwd, Version: t.Version}
			told.Model.ID, told.Context.Size = set.Model, used.Window
			told.Context.Input, told.Context.Out = used.Total.Input, used.Total.Output
			return statusline.Run(h.Config, o.p.Env, command, told)
		}
	}
	set, err := looks.Keys(h.Config.TUI.Keymap)
	if err == nil && set != nil {
		t.Keymap, err = keymap.New(set)
	}
	if err != nil {
		return program.Misuse("config.toml: tui.keymap: %v", err)
	}
	dir := filepath.Join(h.Config.Home, "themes")
	var broken map[string]error
	if t.Themes, broken, err = looks.Themes(dir); err != nil {
		return err
	}
	if err := broken[t.Theme]; err != nil {
		return program.Misuse("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		h.Warnings = append(h.Warnings, broken[name].Error())
	}
	names := append(style.Themes(), slices.Sorted(maps.Keys(t.Themes))...)
	if !slices.Contains(names, t.Theme) {
		return program.Misuse("theme %q: use %s; themes of your own are files NAME.toml in %s", t.Theme,
			strings.Join(names, ", "), dir)
	}
	return nil
}

// hooksOf lists the hooks that hold in the host's directory.
func hooksOf(h *host.Host) ([]tui.Hook, []string, error) {
	found, warnings, err := h.Config.HookList()
	var list []tui.Hook
	for _, f := range found {
		list = append(list, tui.Hook{Event: f.Event, Matcher: f.Matcher, Command: f.Shown(),
			From: cmp.Or(f.From, "config.toml"), Required: f.Required})
	}
	return list, warnings, err
}

// applyElsewhere carries the changes of a session to another directory.
func applyElsewhere(ctx context.Context, p *program.Program, dir, session string,
	dry bool) (diff, told string, err error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", "", fmt.Errorf("apply: %s is not a directory", dir)
	}
	h, err := p.In(dir).Host(nil)
	if err != nil {
		return "", "", err
	}
	var out, lines bytes.Buffer
	o := records.ApplyOptions{Options: apply.Options{Tool: "apply", DryRun: dry}, Session: session, Out: &out, Err: &lines}
	err = o.Apply(ctx, h)
	if dry {
		diff, told = out.String(), lines.String()
	} else {
		told = out.String()
	}
	if err != nil {
		return "", "", fmt.Errorf("apply in %s: %w", dir, err)
	}
	return diff, told, nil
}
