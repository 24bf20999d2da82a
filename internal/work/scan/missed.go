package scan

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"kerf/internal/text/delta"
)

// Missed tells what others did to a file between the latest Snap and a change that
// Kerf makes itself: now is what the file held when that change was made. Without
// it the work of others would vanish behind the change once that is noted. It
// returns no change where there was none, or where the Snap does not know the path.
// To be called before Note.
func (s *Scanner) Missed(ctx context.Context, name string, now *delta.Image) (delta.Change, bool, error) {
	name = path.Clean(filepath.ToSlash(name))
	e, watched := s.known(name)
	if !watched {
		return delta.Change{}, false, nil
	}
	d := &differ{s: s, ctx: ctx, data: make(map[*body][]byte)}
	if e != nil && (e.dir != nil || e.body == nil) {
		e = nil // a directory, or what no image is made of
	}
	if e != nil {
		d.raw = []rawChange{{name, e, nil}}
		if err := d.fetch(); err != nil {
			return delta.Change{}, false, fmt.Errorf("scan: %s: %w", name, err)
		}
	}
	c := delta.Change{Path: name, Pre: d.image(name, e), Post: now}
	if c.Pre.Same(c.Post) {
		return delta.Change{}, false, nil
	}
	if len(d.gaps) > 0 {
		return c, false, fmt.Errorf("scan: %s: its former content: %s", name, d.gaps[0].Reason)
	}
	return c, true, nil
}

// known returns what the latest Snap has at a path, nil for nothing, and whether it
// would know.
func (s *Scanner) known(name string) (*entry, bool) {
	if s.last == nil {
		return nil, false
	}
	for i, root := range s.roots {
		below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
		if !ok {
			continue
		}
		n := s.last.roots[i]
		parts := strings.Split(below, "/")
		for j, part := range parts {
			switch {
			case part == ".git" || n != nil && n.shut != "":
				return nil, false
			case n == nil:
				return nil, true
			}
			e := n.entry(part)
			if e == nil || j == len(parts)-1 {
				return e, true
			}
			n = e.dir
		}
	}
	return nil, false
}
