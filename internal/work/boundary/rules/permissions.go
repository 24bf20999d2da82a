// Package rules makes rules of a boundary out of what the user configured, and of what
// is known of homes.
package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/order"
	"kerf/internal/work/boundary"
)

// Places are what the names in a table of permissions stand for.
type Places struct {
	Home  string
	Roots []string // the directories of the workspace
	Tmp   string   // the value of TMPDIR
}

// minimal are the directories without which no program runs.
var minimal = []string{"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc",
	"/sys", "/dev", "/run", "/tmp", "/System", "/Library", "/private"}

// Permissions makes rules of a table of paths. A path is absolute, begins with ~/, or is
// below every root of the workspace; it may begin with one of the names
//
//	:root  :workspace_roots  :project_roots  :tmpdir  :slash_tmp  :minimal
//
// and go on behind a slash. The most specific rule wins, so they come in the order of
// their length; of two for the same path that which grants less comes last.
func Permissions(table map[string]string, places Places) ([]boundary.Rule, error) {
	var rules []boundary.Rule
	for _, key := range slices.Sorted(maps.Keys(table)) {
		access := boundary.Access(table[key])
		for _, path := range places.paths(key) {
			why := fmt.Sprintf("the rule %q = %q", key, access)
			if access == boundary.Write {
				path = strings.TrimSuffix(path, "/**")
			}
			if path == "/" && access != boundary.Read {
				more, err := ofRoot(key, access)
				if err != nil {
					return nil, err
				}
				for _, dir := range more {
					rules = append(rules, boundary.Rule{Path: dir, Access: access, Why: why})
				}
				continue
			}
			rules = append(rules, boundary.Rule{Path: path, Access: access, Why: why})
		}
	}
	less := map[boundary.Access]int{boundary.Write: 0, boundary.Read: 1, boundary.None: 2}
	order.Stably(rules, func(a, b boundary.Rule) int {
		if d := len(a.Path) - len(b.Path); d != 0 {
			return d
		}
		return less[a.Access] - less[b.Access]
	})
	return rules, nil
}

// paths are what a key of a table stands for.
func (p Places) paths(key string) []string {
	name, rest, _ := strings.Cut(key, "/")
	var bases []string
	switch {
	case name == ":root":
		bases = []string{"/"}
	case name == ":workspace_roots", name == ":project_roots":
		bases = p.Roots
	case name == ":tmpdir":
		if filepath.IsAbs(p.Tmp) {
			bases = []string{p.Tmp}
		}
	case name == ":slash_tmp":
		bases = []string{"/tmp"}
	case name == ":minimal":
		for _, dir := range minimal {
			if _, err := os.Lstat(dir); err == nil && dir != "/tmp" {
				bases = append(bases, dir)
			}
		}
	case name == "~" && p.Home != "":
		bases = []string{p.Home}
	case filepath.IsAbs(key):
		return []string{clean(key)}
	default:
		bases, rest = p.Roots, key
	}
	var all []string
	for _, base := range bases {
		all = append(all, clean(base+"/"+rest))
	}
	return all
}

// clean is filepath.Clean; patterns have nothing that it takes away.
func clean(path string) string { return filepath.Clean(filepath.FromSlash(path)) }

// ofRoot is what a rule for the whole disk means. Closed are the directories that
// programs do not need; to open all for writing there is a mode.
func ofRoot(key string, access boundary.Access) ([]string, error) {
	if access == boundary.Write {
		return nil, fmt.Errorf("permissions: %q = \"write\" opens the whole disk: say sandbox_mode = %q instead, or name "+
			"directories", key, boundary.FullAccess)
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, fmt.Errorf("permissions: %q: %w", key, err)
	}
	var dirs []string
	for _, e := range entries {
		if path := "/" + e.Name(); e.IsDir() && !slices.Contains(minimal, path) {
			dirs = append(dirs, path)
		}
	}
	return dirs, nil
}
