package rules

import (
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/names"
)

// HideHomeSecrets returns the rules that hide those of them that are in home. One that
// is, or holds, a root is the user's own choice and stays open.
func HideHomeSecrets(home string, roots []string) []boundary.Rule {
	if !filepath.IsAbs(home) {
		return nil
	}
	var rules []boundary.Rule
	for _, name := range names.HomeSecrets {
		path := filepath.Join(home, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err != nil ||
			slices.ContainsFunc(roots, func(root string) bool { return pathname.Inside(real, root) }) {
			continue
		}
		rules = append(rules, boundary.Rule{Path: path, Access: boundary.None})
	}
	return rules
}
