package policy

import (
	"slices"
	"sync"
)

// Memory holds what the user allowed for the rest of a session. The zero value
// remembers nothing; it may be used by several goroutines.
type Memory struct {
	mu    sync.RWMutex
	exact map[grant][]string // what each would start
	rules []Rule
	paths map[string]bool
}

// grant is one command as it was shown: text, place, and whether it left the sandbox.
type grant struct {
	line, dir   string
	unsandboxed bool
}

// AllowCommand remembers exactly this command in this directory, as long as it would
// start what it would start now.
func (m *Memory) AllowCommand(c Command, unsandboxed bool) {
	bound := c.bound()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.exact == nil {
		m.exact = map[grant][]string{}
	}
	g := grant{c.Line, c.Dir, unsandboxed}
	m.exact[g] = append(m.exact[g], bound)
}

// AllowRule remembers a rule.
func (m *Memory) AllowRule(r Rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, r)
}

// AllowPaths remembers files that may be changed.
func (m *Memory) AllowPaths(paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paths == nil {
		m.paths = map[string]bool{}
	}
	for _, p := range paths {
		m.paths[p] = true
	}
}

// allowsPaths reports whether all paths may be changed.
func (m *Memory) allowsPaths(paths []string) bool {
	if m == nil || len(paths) == 0 {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return !slices.ContainsFunc(paths, func(p string) bool { return !m.paths[p] })
}

// allowsCommand reports whether exactly this was allowed.
func (m *Memory) allowsCommand(c Command, unsandboxed bool) bool {
	if m == nil {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	bounds := m.exact[grant{c.Line, c.Dir, unsandboxed}]
	return len(bounds) > 0 && slices.Contains(bounds, c.bound())
}

// bound is what the command would start now, if anybody knows.
func (c Command) bound() string {
	if c.Bound == nil {
		return ""
	}
	return c.Bound()
}

// Rules returns the remembered rules.
func (m *Memory) Rules() []Rule {
	if m == nil {
		return nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.rules)
}
