package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/hookfile"
	"kerf/internal/config/peers"
	"kerf/internal/config/trust"
)

// Hook is one handler that watches a session.
type Hook = hookfile.Hook

// HookList reads the hooks: [[hooks.EVENT]] of the configuration, hooks.json of
// the home, hooks.json of the project's .kerf and those of other agents' files in the
// project. What stands in the project counts when the user trusted exactly what is there
// now. Warnings name what was left out.
func (c *Config) HookList() (list []Hook, warnings []string, err error) {
	// The JSON files may be those of other agents, which have more events and kinds.
	read := func(from string, events map[string]any) error {
		found, unused, err := hookfile.Of(from, events)
		list = append(list, found...)
		for _, f := range unused {
			if f.Required {
				return f.Fault
			}
			if text := f.Text(); !slices.Contains(warnings, text) {
				warnings = append(warnings, text)
			}
		}
		return err
	}
	if list, err = c.ownHooks(); err != nil {
		return nil, nil, err
	}
	own := filepath.Join(c.Home, "hooks.json")
	data, err := os.ReadFile(own)
	if err := readHooks(own, data, err, read); err != nil {
		return nil, nil, err
	}
	for _, dir := range trust.Chain(c.Root, c.Cwd) {
		file := filepath.Join(dir, ".kerf", "hooks.json")
		if trust.IsHome(dir, c.Home) {
			continue
		}
		if _, err := os.Lstat(file); err != nil {
			continue
		}
		files := trust.Once()
		data, err := files.Read(dir, ".kerf/hooks.json") // what was read is what is compared
		if !c.bound(files) {
			warnings = append(warnings, file+": ignored: the project is not trusted with this content")
			continue
		}
		if err := readHooks(file, data, err, read); err != nil {
			return nil, nil, err
		}
	}
	more, told := c.peerHooks()
	return append(list, more...), append(warnings, told...), nil
}

// finishHooks checks the hooks of the configuration, so that a fault is told with
// its line.
func (c *Config) finishHooks(Options) error {
	_, err := c.ownHooks()
	var fault *document.Error
	if errors.As(err, &fault) {
		event := strings.TrimPrefix(fault.Key, "hooks.")
		return c.fault(strings.TrimPrefix(fault.Message, fault.Key+": "), "hooks", event)
	}
	return err
}

// ownHooks are those of the configuration, where what Kerf does not know is a mistake.
func (c *Config) ownHooks() ([]Hook, error) {
	list, unused, err := hookfile.Of("", c.Hooks)
	if err == nil && len(unused) > 0 {
		err = unused[0].Fault
	}
	return list, err
}

// bound reports whether the user trusted exactly the content that the project has now; of
// other agents' files it is the one that files has.
func (c *Config) bound(files peers.Files) bool {
	p, ok := c.projectAt(c.Root)
	return ok && len(p.TrustedHash) > 0 && c.trustOf(c.Root, files) == Trusted
}

func readHooks(file string, data []byte, err error, read func(string, map[string]any) error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &document.Error{File: file, Message: document.Cause(err)}
	}
	var doc struct {
		Hooks map[string]any `json:"hooks"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return &document.Error{File: file, Message: err.Error()}
	}
	return read(file, doc.Hooks)
}
