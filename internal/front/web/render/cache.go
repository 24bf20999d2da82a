package render

import "sync"

// Cache keeps the diffs that are being looked at, so that each window of a long one costs its
// own rows only. The zero value is empty; it may be used by several goroutines.
type Cache struct {
	mu   sync.Mutex
	keys []string
	made map[string]*Diff
}

// keptDiffs is how many there are.
const keptDiffs = 8

// Get returns the diff of a key, and reads it where it is not there.
func (c *Cache) Get(key string, read func() (string, error)) (*Diff, error) {
	c.mu.Lock()
	d := c.made[key]
	c.mu.Unlock()
	if d != nil {
		return d, nil
	}
	text, err := read()
	if err != nil {
		return nil, err
	}
	d = Parse(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[string]*Diff{}
	}
	if c.made[key] == nil {
		c.keys = append(c.keys, key)
	}
	c.made[key] = d
	if len(c.keys) > keptDiffs {
		delete(c.made, c.keys[0])
		c.keys = c.keys[1:]
	}
	return d, nil
}
