package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/config/document"
	"kerf/internal/config/trust"
)

// Hook is one program that watches a session.
type Hook struct {
	Event, Matcher, Command string
	Timeout                 time.Duration
	From                    string // the file it stands in
	// Required says that nothing happens without the hook: when it fails, what it was to
	// look at is refused.
	Required bool
}

// hookTimeout is how long a hook may take when it does not say.
const hookTimeout = time.Minute

// hookEvents are the moments at which hooks run.
var hookEvents = [...]string{"PreToolUse", "PostToolUse", "PermissionRequest", "SessionStart", "UserPromptSubmit",
	"Stop"}

// HookList reads the hooks: [[hooks.EVENT]] of the configuration, hooks.json of
// the home, and hooks.json of the project's .kerf when the user trusted exactly what
// is there now. Warnings name what was left out.
func (c *Config) HookList() (list []Hook, warnings []string, err error) {
	read := func(from string, events map[string]any) error {
		found, err := hooksOf(from, events)
		list = append(list, found...)
		return err
	}
	if err := read("", c.Hooks); err != nil {
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
		if !c.bound() {
			warnings = append(warnings, file+": ignored: the project is not trusted with this content")
			continue
		}
		data, err := trust.ReadBeneath(dir, ".kerf/hooks.json")
		if err := readHooks(file, data, err, read); err != nil {
			return nil, nil, err
		}
	}
	return list, warnings, nil
}

// finishHooks checks the hooks of the configuration, so that a fault is told with
// its line.
func (c *Config) finishHooks(Options) error {
	_, err := hooksOf("", c.Hooks)
	var fault *document.Error
	if errors.As(err, &fault) {
		event := strings.TrimPrefix(fault.Key, "hooks.")
		return c.fault(strings.TrimPrefix(fault.Message, fault.Key+": "), "hooks", event)
	}
	return err
}

// bound reports whether the user trusted exactly the content that the project has now.
func (c *Config) bound() bool {
	p, ok := c.projectAt(c.Root)
	return ok && len(p.TrustedHash) > 0 && c.Trust(c.Root) == Trusted
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

// hooksOf reads groups of handlers by event. A group may also be a handler itself.
func hooksOf(from string, events map[string]any) ([]Hook, error) {
	var list []Hook
	for _, event := range hookEvents {
		groups, ok := events[event].([]any)
		if !ok && events[event] != nil {
			return nil, hookFault(from, event, "expected a list of tables")
		}
		for _, g := range groups {
			group, ok := g.(map[string]any)
			if !ok {
				return nil, hookFault(from, event, "expected a list of tables")
			}
			matcher, _ := group["matcher"].(string)
			handlers, nested := group["hooks"].([]any)
			if !nested {
				handlers = []any{g}
			}
			for _, x := range handlers {
				h, err := hookOf(from, event, matcher, x)
				if err != nil {
					return nil, err
				}
				list = append(list, h)
			}
		}
	}
	for name := range events {
		if !slices.Contains(hookEvents[:], name) {
			return nil, hookFault(from, name, "no such event; the events are "+strings.Join(hookEvents[:], ", "))
		}
	}
	return list, nil
}

func hookOf(from, event, matcher string, x any) (Hook, error) {
	m, _ := x.(map[string]any)
	h := Hook{Event: event, Matcher: matcher, Timeout: hookTimeout, From: from}
	if kind, ok := m["type"]; ok && kind != "command" {
		return h, hookFault(from, event, fmt.Sprintf("type: only \"command\" is supported, found %q", kind))
	}
	if h.Command, _ = m["command"].(string); strings.TrimSpace(h.Command) == "" {
		return h, hookFault(from, event, "command: expected a command, found none")
	}
	if v, ok := m["required"]; ok {
		if h.Required, ok = v.(bool); !ok {
			return h, hookFault(from, event, "required: expected true or false")
		}
	}
	seconds := 0.0
	switch n := m["timeout"].(type) {
	case nil:
		return h, nil
	case int64:
		seconds = float64(n)
	case float64:
		seconds = n
	}
	if seconds <= 0 || seconds > 3600 || math.IsNaN(seconds) {
		return h, hookFault(from, event, "timeout: expected seconds, more than 0 and at most 3600")
	}
	h.Timeout = time.Duration(seconds * float64(time.Second))
	return h, nil
}

func hookFault(from, event, message string) error {
	return &document.Error{File: from, Key: "hooks." + event, Message: "hooks." + event + ": " + message}
}
