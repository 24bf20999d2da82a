package config

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config/document"
)

// Profiles are the names of the profiles that the user configured, sorted: tables of
// config.toml, and files of their own. What cannot be read has none.
func Profiles(home string) []string {
	const ending = ".config.toml"
	var names []string
	if v, err := document.ReadFile(filepath.Join(home, "config.toml")); err == nil && v != nil {
		if profiles := v.Table["profiles"]; profiles != nil {
			names = append(names, profiles.InOrder()...)
		}
	}
	files, _ := filepath.Glob(filepath.Join(home, "*"+ending)) // the pattern is fine
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ending))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
