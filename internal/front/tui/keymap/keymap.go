// Package keymap says which keys do what while a message is written.
package keymap

import (
	"fmt"
	"slices"
	"strings"

	"kerf/internal/front/tui/style"
)

// Action is something a key does while a message is written. The first of its keys
// is the one that the rest of the program knows it by.
type Action struct {
	Name, Help string
	Keys       []string
}

// Actions lists what can be given other keys.
func Actions() []Action {
	return []Action{
		{"send", "send; while a turn runs: add to it", []string{"enter"}},
		{"queue", "while a turn runs: queue for the next; else complete", []string{"tab"}},
		{"take-back", "take back what waits for the model, to edit it", []string{"alt+up"}},
		{"newline", "new line", []string{"shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"}},
		{"interrupt", "interrupt; twice: go back to an earlier message", []string{"esc"}},
		{"leave", "leave, when nothing is written", []string{"ctrl+d"}},
		{"plan-mode", "plan mode on or off", []string{"shift+tab"}},
		{"transcript", "the transcript, whole and searchable", []string{"ctrl+t"}},
		{"last-item", "the last shortened item, whole", []string{"ctrl+o"}},
		{"search-history", "search earlier messages", []string{"ctrl+r"}},
		{"editor", "write in $VISUAL or $EDITOR", []string{"ctrl+g"}},
		{"paste-image", "paste an image", []string{"ctrl+v", "alt+v"}},
		{"changes", "what changed in this session", []string{"alt+c"}},
		{"next-agent", "look at the next sub-agent", []string{"alt+a"}},
		{"redraw", "draw again", []string{"ctrl+l"}},
		{"suspend", "suspend", []string{"ctrl+z"}},
		{"help", "all keys and commands", []string{"f1"}},
		{"up", "a row up; at the edge: the message before", []string{"up", "ctrl+p"}},
		{"down", "a row down; at the edge: the message after", []string{"down", "ctrl+n"}},
		{"left", "a character back", []string{"left", "ctrl+b"}},
		{"right", "a character on", []string{"right", "ctrl+f"}},
		{"word-left", "a word back", []string{"alt+left", "ctrl+left", "alt+b"}},
		{"word-right", "a word on", []string{"alt+right", "ctrl+right", "alt+f"}},
		{"line-start", "start of the line", []string{"home", "ctrl+a"}},
		{"line-end", "end of the line", []string{"end", "ctrl+e"}},
		{"delete-back", "delete the character before", []string{"backspace", "shift+backspace"}},
		{"delete", "delete the character after", []string{"delete"}},
		{"delete-word-back", "delete the word before", []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}},
		{"delete-word", "delete the word after", []string{"alt+d", "ctrl+delete"}},
		{"delete-to-start", "delete to the start of the line", []string{"ctrl+u"}},
		{"delete-to-end", "delete to the end of the line", []string{"ctrl+k"}},
		{"put-back", "put back what was deleted", []string{"ctrl+y"}},
		{"undo", "undo typing", []string{"ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-"}},
		{"redo", "redo typing", []string{"alt+/", "ctrl+shift+z"}},
	}
}

// Map says which keys do what while a message is written.
type Map struct {
	bound map[string]string   // by key: the key that it stands for, empty for none
	own   map[string][]string // by action: the keys that the user set
}

// New reads the keys that a user set: by name of the action the keys, none to
// leave it without. An action keeps its own keys when it is not named, but for
// those that another action was given. The error names the Action and the mistake.
func New(set map[string][]string) (*Map, error) {
	k := &Map{bound: map[string]string{}, own: map[string][]string{}}
	taken := map[string]string{}
	all := Actions()
	for _, a := range all {
		keys, ok := set[a.Name]
		if !ok {
			continue
		}
		for _, key := range keys {
			key, err := parseKey(key)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s: %w", a.Name, err)
			case taken[key] != "" && taken[key] != a.Name:
				return nil, fmt.Errorf("%s: %s is the key of %s already", a.Name, key, taken[key])
			}
			taken[key] = a.Name
			k.own[a.Name] = append(k.own[a.Name], key)
			k.bound[key] = a.Keys[0]
		}
		if len(keys) == 0 {
			k.own[a.Name] = []string{}
		}
		for _, key := range a.Keys {
			if _, ok := k.bound[key]; !ok {
				k.bound[key] = ""
			}
		}
	}
	for key, name := range taken { // a key left by its action above may be taken below
		i := slices.IndexFunc(all, func(a Action) bool { return a.Name == name })
		k.bound[key] = all[i].Keys[0]
	}
	for name := range set {
		if !slices.ContainsFunc(all, func(a Action) bool { return a.Name == name }) {
			var names []string
			for _, a := range all {
				names = append(names, a.Name)
			}
			return nil, fmt.Errorf("there is no action %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return k, nil
}

// parseKey checks the name of a key and writes it as terminals report it.
func parseKey(s string) (string, error) {
	var mods []string
	name := strings.ToLower(strings.TrimSpace(s))
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok || rest == "" {
			break
		}
		if mod == "control" {
			mod = "ctrl"
		}
		if mod == "option" || mod == "meta" {
			mod = "alt"
		}
		if !slices.Contains([]string{"ctrl", "alt", "shift"}, mod) {
			return "", fmt.Errorf("%q: use ctrl+, alt+ or shift+ before a key", s)
		}
		mods, name = append(mods, mod), rest
	}
	switch name {
	case "return":
		name = "enter"
	case "escape":
		name = "esc"
	}
	names := "enter tab esc backspace delete insert up down left right home end pgup pgdown space"
	named := slices.Contains(strings.Fields(names), name) ||
		len(name) > 1 && name[0] == 'f' && strings.Trim(name[1:], "0123456789") == ""
	switch {
	case !named && len([]rune(name)) != 1:
		return "", fmt.Errorf("there is no key %q", s)
	case (!named || name == "space") && !slices.Contains(mods, "ctrl") && !slices.Contains(mods, "alt"):
		return "", fmt.Errorf("%q types text; use it with ctrl+ or alt+", s)
	}
	var out []string
	for _, m := range []string{"ctrl", "alt", "shift"} {
		if slices.Contains(mods, m) {
			out = append(out, m)
		}
	}
	key := strings.Join(append(out, name), "+")
	if key == "ctrl+c" {
		return "", fmt.Errorf("ctrl+c always clears, interrupts and leaves")
	}
	return key, nil
}

// Means is the key that a pressed key stands for, empty for none.
func (k *Map) Means(key string) string {
	if k == nil {
		return key
	}
	if to, ok := k.bound[key]; ok {
		return to
	}
	return key
}

// Keys are the keys of an action, and whether the user set them.
func (k *Map) Keys(a Action) (keys []string, own bool) {
	if k == nil {
		return a.Keys, false
	}
	if set, ok := k.own[a.Name]; ok {
		return set, true
	}
	for _, key := range a.Keys {
		if k.Means(key) == key || k.Means(key) == a.Keys[0] {
			keys = append(keys, key)
		}
	}
	return keys, len(keys) < len(a.Keys)
}

// First is the key of an action that is told to the user, empty for none.
func (k *Map) First(name string) string {
	for _, a := range Actions() {
		if keys, _ := k.Keys(a); a.Name == name && len(keys) > 0 {
			return keys[0]
		}
	}
	return ""
}

// Rows shows every action with its keys and where they come from.
func (k *Map) Rows(width int) []style.Line {
	var rows []style.Line
	for _, a := range Actions() {
		keys, own := k.Keys(a)
		text, role := strings.Join(keys, "  "), style.Plain
		if len(keys) == 0 {
			text, role = "no key", style.Dim
		}
		l := style.Line{style.S(style.Accent, a.Name)}.Cut(17).Pad(18, style.As(style.Plain))
		l = append(l, style.S(role, text))
		if own {
			l = append(l, style.S(style.Good, "  config.toml"))
		}
		if width >= 70 {
			l = l.Cut(width/2+8).Pad(width/2+9, style.As(style.Plain))
			l = append(l, style.S(style.Dim, " "+a.Help))
		}
		rows = append(rows, l.Cut(width))
	}
	rows = append(rows, nil)
	about := "These work while you write a message; /help lists all others. ctrl+c cannot be changed. " +
		"To change them, in config.toml:"
	rows = append(rows, style.WrapText(style.Dim, about, width)...)
	for _, s := range []string{"[tui.keymap]", `queue = "ctrl+q"             # instead of tab`,
		`newline = ["ctrl+j", "alt+n"]`, `suspend = []                 # no key`} {
		rows = append(rows, style.L(style.Code, "  "+s).Cut(width))
	}
	return rows
}
