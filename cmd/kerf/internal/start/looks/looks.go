// Package looks reads the keys and the themes that the user made for the terminal UI.
package looks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"kerf/internal/front/tui/style"
)

// Keys reads [tui.keymap]: a key, or a list of keys, by action.
func Keys(v any) (map[string][]string, error) {
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

// Themes reads the files *.toml of a directory, and tells which are broken.
func Themes(dir string) (map[string]style.Theme, map[string]error, error) {
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
