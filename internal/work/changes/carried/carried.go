// Package carried knows where the contents get of files that moved into the places of one another, when that is
// taken back.
package carried

import (
	"cmp"
	"maps"
	"slices"
)

// Contents are what is at paths and is to go to other ones. The zero value is ready to use.
type Contents struct {
	goes  map[string][]string
	taken map[string][]string
}

// Goes enters that what is at a path is to go to another one.
func (c *Contents) Goes(from, to string) {
	if c.goes == nil {
		c.goes = map[string][]string{}
	}
	c.goes[from] = append(c.goes[from], to)
}

// Taken enters where a change of a path is taken back: where the file is now that was there.
func (c *Contents) Taken(path, at string) {
	if c.taken == nil {
		c.taken = map[string][]string{}
	}
	c.taken[path] = append(c.taken[path], at)
}

// Paths are those whose contents are to go, sorted.
func (c *Contents) Paths() []string { return slices.Sorted(maps.Keys(c.goes)) }

// Arrives is where the content of a path gets, or is already; gets tells that of another path. It is "" if the
// content is to go nowhere. Lost is the first path that it should have gone to and gets to nowhere, or "": where other
// files came to be since, the path that it goes to may be its own.
func (c *Contents) Arrives(from string, gets func(path string) bool) (at, lost string) {
	for _, to := range c.goes[from] {
		places := c.taken[to]
		if len(places) == 0 {
			places = []string{to}
		}
		if i := slices.IndexFunc(places, func(p string) bool { return p != from && gets(p) }); i >= 0 {
			at = places[i]
		} else {
			lost = cmp.Or(lost, to)
		}
	}
	return at, lost
}
