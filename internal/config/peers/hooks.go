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
	// Cursor says that events and answers are as Cursor has them.
	Cursor bool
	Dir    string // in which Cursor's programs start
	// Plugin is the plugin that brings them, and Vars are variables for their programs.
	Plugin string
	Vars   map[string]string
}

// Hooks reads the hooks in the files below dirs, from the first to the last. Files that
// cannot be read have none.
func Hooks(dirs []string, read Reader) (list []HookFile) {
	for _, dir := range dirs {
		for _, f := range files {
			if !f.hooks {
				continue
			}
			doc, _, err := f.read(dir, read)
			events, _ := doc[hooksKey].(map[string]any)
			if err != nil || len(events) == 0 || doc["disableAllHooks"] == true {
				continue
			}
			list = append(list, HookFile{File: filepath.Join(dir, filepath.FromSlash(f.name)), Events: events,
				Milliseconds: slices.Contains(inMilliseconds, f.name), Cursor: f.cursor, Dir: dir})
		}
	}
	return list
}

// hooksKey is the key of the table of hooks.
const hooksKey = "hooks"

// inMilliseconds are the files whose timeouts are in milliseconds.
var inMilliseconds = []string{".gemini/settings.json"}
