package start

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/internal/front/tui"
	"kerf/internal/front/tui/keymap"
	"kerf/internal/front/tui/style"
	"kerf/internal/host"
	"kerf/internal/work/apply"
)

// ownLook gives the terminal UI the themes and keys of the user's own.
func (o *tuiOptions) ownLook(h *host.Host, t *tui.Options) error {
	set, err := keysSet(h.Config.TUI.Keymap)
	if err == nil && set != nil {
		t.Keymap, err = keymap.New(set)
	}
	if err != nil {
		return program.Misuse("config.toml: tui.keymap: %v", err)
	}
	dir := filepath.Join(h.Config.Home, "themes")
	var broken map[string]error
	if t.Themes, broken, err = ownThemes(dir); err != nil {
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

// keysSet reads [tui.keymap]: a key, or a list of keys, by action.
func keysSet(v any) (map[string][]string, error) {
	if v == nil {
		return nil, nil
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New(`it is a table: [tui.keymap] with lines such as queue = "ctrl+q"`)
	}
	set := map[string][]string{}
	for name, v := range table {
		keys := []string{}
		switch v := v.(type) {
		case string:
			if v != "" {
				keys = append(keys, v)
			}
		case []any:
			for _, x := range v {
				s, ok := x.(string)
				if !ok {
					return nil, fmt.Errorf("%s: %v is not a key; a key is a string", name, x)
				}
				keys = append(keys, s)
			}
		default:
			return nil, fmt.Errorf("%s: %v is not a key; give a string or a list of strings", name, v)
		}
		set[name] = keys
	}
	return set, nil
}

const (
	// maxThemes and maxThemeSize bound what is read of themes.
	maxThemes    = 200
	maxThemeSize = 64 << 10
)

// ownThemes reads the files *.toml of a directory, and tells which are broken.
func ownThemes(dir string) (map[string]style.Theme, map[string]error, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil {
		return nil, nil, err
	}
	themes, broken := map[string]style.Theme{}, map[string]error{}
	for _, file := range files[:min(len(files), maxThemes)] {
		name := strings.TrimSuffix(filepath.Base(file), ".toml")
		if slices.Contains(style.Themes(), name) {
			broken[name+".toml"] = fmt.Errorf("%s: %s is a built-in theme; give the file another name", file, name)
			continue
		}
		t, err := readTheme(file)
		if err != nil {
			broken[name] = fmt.Errorf("%s: %w", file, err)
			continue
		}
		themes[name] = t
	}
	return themes, broken, nil
}

func readTheme(file string) (style.Theme, error) {
	st, err := os.Stat(file)
	if err != nil {
		return style.Theme{}, errors.Unwrap(err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxThemeSize {
		return style.Theme{}, fmt.Errorf("a theme is a file of at most %d bytes", maxThemeSize)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return style.Theme{}, errors.Unwrap(err)
	}
	var x struct {
		Base   string            `toml:"base"`
		Colors map[string]string `toml:"colors"`
	}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			row, _ := strict.Errors[0].Position()
			return style.Theme{}, fmt.Errorf("line %d: there is no key %s; use base and [colors]", row,
				strings.Join(strict.Errors[0].Key(), "."))
		}
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, _ := bad.Position()
			return style.Theme{}, fmt.Errorf("line %d: %s", row, strings.TrimPrefix(bad.Error(), "toml: "))
		}
		return style.Theme{}, err
	}
	return style.ParseTheme(x.Base, x.Colors)
}

// hooksOf lists the hooks that hold in the host's directory.
func hooksOf(h *host.Host) ([]tui.Hook, []string, error) {
	found, warnings, err := h.Config.HookList()
	var list []tui.Hook
	for _, f := range found {
		list = append(list, tui.Hook{Event: f.Event, Matcher: f.Matcher, Command: f.Command,
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
