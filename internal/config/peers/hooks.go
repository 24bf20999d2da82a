package peers

import (
	"path/filepath"
	"slices"
)

// HookFile is a file with hooks.
type HookFile struct {
	File   string         // absolute
	Events map[string]any // lists of groups of handlers
	// Milliseconds says that the file has its timeouts in these.
	Milliseconds bool
	Form         Form
	Dir          string // in which programs of other forms than the usual start
	// Plugin is the plugin that brings them, and Vars are variables for their programs.
	Plugin string
	Vars   map[string]string
}

// Hooks reads the hooks in the files below dirs, from the first to the last. Files that
// cannot be read have none.
func Hooks(dirs []string, all Files) (list []HookFile) {
	for _, dir := range dirs {
		for _, kind := range files {
			if !kind.hooks {
				continue
			}
			for _, f := range kind.in(dir, all) {
				doc, _, err := f.read(dir, all)
				events, _ := doc[hooksKey].(map[string]any)
				if err != nil || len(events) == 0 || doc[disabledKey] == true {
					continue
				}
				list = append(list, HookFile{File: filepath.Join(dir, filepath.FromSlash(f.name)), Events: events,
					Milliseconds: slices.Contains(inMilliseconds, f.name), Form: f.form, Dir: dir})
			}
		}
	}
	return list
}

// The keys of the table of hooks, and of the word that turns them off.
const (
	hooksKey    = "hooks"
	disabledKey = "disableAllHooks"
)

// inMilliseconds are the files whose timeouts are in milliseconds.
var inMilliseconds = []string{".gemini/settings.json"}
