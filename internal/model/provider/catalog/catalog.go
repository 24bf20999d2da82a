// Package catalog holds what is known of models: what is built in, what servers
// told, and what the user says.
package catalog

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"kerf/internal/atomicfile"
	"kerf/internal/model/family"
)

// Catalog is what is known of models. It may be used by several goroutines.
type Catalog struct {
	path      string
	overrides map[string]Override

	mu     sync.Mutex
	loaded bool                               // guarded by mu
	told   map[string]map[string]family.Facts // by provider and model; guarded by mu
}

// file is what servers told when they were asked, as it is kept on disk.
type file struct {
	Version   int                                `json:"version"`
	Providers map[string]map[string]family.Facts `json:"providers"`
}

const maxFile = 32 << 20

// New returns the catalog that is kept at path. An override is for the models
// whose names begin with its key. Nothing is read before the first question.
func New(path string, overrides map[string]Override) *Catalog {
	return &Catalog{path: path, overrides: overrides}
}

// load reads the file once; one that cannot be read is as good as none. The
// caller holds mu.
func (c *Catalog) load() {
	if c.loaded {
		return
	}
	c.loaded, c.told = true, map[string]map[string]family.Facts{}
	st, err := os.Stat(c.path)
	if err != nil || st.Size() > maxFile {
		return
	}
	b, err := os.ReadFile(c.path)
	var f file
	if err == nil && json.Unmarshal(b, &f) == nil && f.Version == 1 && f.Providers != nil {
		c.told = f.Providers
	}
}

// Facts is what is known of a model of a provider: what the user says counts, then
// what the server told, then what is built in. The bool is false when the facts are
// only assumed.
func (c *Catalog) Facts(provider, name string) (family.Facts, bool) {
	facts, known := family.Lookup(name)
	c.mu.Lock()
	c.load()
	told, ok := c.told[provider][name]
	c.mu.Unlock()
	if ok {
		facts, known = merge(facts, told), true
	}
	if over, ok := c.override(name); ok {
		facts, known = over.apply(facts), true
	}
	return facts, known
}

// Names are the models that the server of a provider told of, in no order.
func (c *Catalog) Names(provider string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	return slices.Collect(maps.Keys(c.told[provider]))
}

// Learn takes over what a server told of one model. It is kept in this process.
func (c *Catalog) Learn(provider, name string, f family.Facts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	if c.told[provider] == nil {
		c.told[provider] = map[string]family.Facts{}
	}
	c.told[provider][name] = f
}

// Replace takes over what a server told of all its models, and writes the file.
func (c *Catalog) Replace(provider string, told map[string]family.Facts) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	c.told[provider] = told
	b, err := json.MarshalIndent(file{1, c.told}, "", " ")
	if err != nil {
		return err
	}
	path := c.path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteCache(path, append(b, '\n'))
}
