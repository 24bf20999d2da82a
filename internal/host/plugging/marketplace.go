package plugging

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/peers"
	"kerf/internal/config/plugins"
	"kerf/internal/text/order"
	"kerf/internal/work/parcel"
)

// marketplace is a list of plugins.
type marketplace struct {
	name    string
	file    string
	entries []entry
}

// entry is one plugin of a list.
type entry struct {
	name, about string
	// path is below the marketplace, or below the repository at url, at a branch or commit.
	path             string
	url, ref, commit string
	why              string // why it cannot be used
	said             map[string]any
}

// Offer says that a source is a marketplace; the user chooses.
type Offer struct {
	Marketplace string
	Plugins     []Offered
}

// Offered is one plugin of a marketplace.
type Offered struct{ Name, About, Why string }

func (o *Offer) Error() string {
	return "the source is a marketplace; name one of its plugins: kerf plugin add SOURCE NAME"
}

const maxEntries = 5000

// marketplaceIn reads the list of plugins in a tree.
func marketplaceIn(tree *parcel.Tree) (*marketplace, error) {
	for _, file := range plugins.Marketplaces() {
		if !tree.Has(file) {
			continue
		}
		data, err := tree.Read(file)
		if err != nil {
			return nil, err
		}
		doc, err := peers.Table(file, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m := &marketplace{file: file}
		m.name, _ = doc["name"].(string)
		meta, _ := doc["metadata"].(map[string]any)
		base, _ := meta["pluginRoot"].(string)
		list, ok := doc["plugins"].([]any)
		if !ok || len(list) > maxEntries {
			return nil, fmt.Errorf("%s: expected a list of plugins", file)
		}
		for _, item := range list {
			if said, ok := item.(map[string]any); ok {
				m.entries = append(m.entries, entryOf(said, base))
			}
		}
		return m, nil
	}
	return nil, errors.New("there is neither a plugin nor a list of plugins: no plugin.json, " +
		"no .claude-plugin/plugin.json, no marketplace.json in .agents/plugins or .claude-plugin")
}

func (m *marketplace) entry(name string) (*entry, error) {
	i := slices.IndexFunc(m.entries, func(e entry) bool { return e.name == name })
	switch {
	case i < 0:
		return nil, fmt.Errorf("%s has no plugin %s", m.file, document.Quote(document.Clip(name)))
	case m.entries[i].why != "":
		return nil, fmt.Errorf("plugin %s of the marketplace: %s", name, m.entries[i].why)
	}
	return &m.entries[i], nil
}

func (m *marketplace) offer() *Offer {
	o := &Offer{Marketplace: m.name}
	for _, e := range m.entries {
		o.Plugins = append(o.Plugins, Offered{e.name, e.about, e.why})
	}
	return o
}

// entryOf reads an entry.
func entryOf(said map[string]any, base string) entry {
	e := entry{said: said}
	e.name, _ = said["name"].(string)
	e.about, _ = said["description"].(string)
	if !plugins.ValidName(e.name) {
		e.why = "its name is none"
	}
	e.source(said["source"], base)
	return e
}

// source reads where the plugin of an entry is.
func (e *entry) source(v any, base string) {
	fail := func(why string) {
		if e.why == "" {
			e.why = why
		}
	}
	local := func(dir, base string) {
		if base != "" && !strings.HasPrefix(dir, "./") {
			dir = path.Join(base, dir)
		}
		if e.path = path.Clean(dir); !filepath.IsLocal(filepath.FromSlash(e.path)) || strings.ContainsAny(dir, "\\\x00") {
			fail("its path leads out of the marketplace")
		}
	}
	if dir, ok := v.(string); ok {
		local(dir, base)
		return
	}
	table, _ := v.(map[string]any)
	text := func(key string) string { s, _ := table[key].(string); return s }
	e.ref, e.commit = text("ref"), text("sha")
	switch kind := text("source"); kind {
	case "local", "directory", "path":
		local(text("path"), base)
	case "github":
		if e.url = "https://github.com/" + text("repo") + ".git"; !shorthand().MatchString(text("repo")) {
			fail("its repository is none")
		}
		local(text("path"), "")
	case "url", "git", "git-subdir":
		if e.url = text("url"); strings.HasPrefix(e.url, "./") {
			dir := path.Join(e.url, text("path"))
			e.url = ""
			local(dir, "")
			return
		}
		if shorthand().MatchString(e.url) {
			e.url = "https://github.com/" + e.url + ".git"
		}
		if parcel.Address(e.url) != nil {
			fail("its address is none that Kerf fetches from")
		}
		local(text("path"), "")
	default:
		fail("Kerf does not fetch from " + document.Clip(kind))
	}
}

// parts are the keys of an entry that say what the plugin has.
var parts = []string{"name", "version", "description", "skills", "commands", "agents", "hooks", "mcpServers", "lspServers"}

// joined adds to the files of a plugin what its entry says of it, so that this is part of
// what the user agrees to.
func (e *entry) joined(files []parcel.File) ([]parcel.File, error) {
	files = slices.DeleteFunc(files, func(f parcel.File) bool { return f.Name == plugins.EntryFile })
	if e == nil {
		return files, nil
	}
	kept := map[string]any{}
	for _, key := range parts {
		if v := e.said[key]; v != nil {
			kept[key] = v
		}
	}
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return nil, err
	}
	files = append(files, parcel.File{Name: plugins.EntryFile, Data: append(data, '\n')})
	order.By(files, func(a, b parcel.File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
