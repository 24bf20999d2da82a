package boundary

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// matchLimit bounds what one pattern may match, and walkLimit what is looked at
// for it. A pattern that is only half enforced would be worse than none.
const (
	matchLimit = 8192
	walkLimit  = 1_000_000
)

// Match walks the directory in which a pattern begins, without following links.
// A file with several names is matched with all those below that directory.
func (Disk) Match(pattern string) ([]string, error) {
	base, rest := doublestar.SplitPattern(filepath.ToSlash(pattern))
	if !doublestar.ValidatePattern(rest) {
		return nil, doublestar.ErrBadPattern
	}
	base, err := filepath.EvalSymlinks(filepath.FromSlash(base))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := matcher{base: base, pattern: rest, names: make(map[FileID][]string), wanted: make(map[FileID]bool)}
	if err := filepath.WalkDir(base, m.visit); err != nil {
		return nil, err
	}
	for id := range m.wanted {
		m.found = append(m.found, m.names[id]...)
	}
	return m.found, nil
}

// matcher gathers matches, and the names of files that have several.
type matcher struct {
	base, pattern string
	seen          int
	found         []string
	names         map[FileID][]string
	wanted        map[FileID]bool
}

func (m *matcher) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return nil // what Kerf cannot read, commands cannot either
	}
	if m.seen++; m.seen > walkLimit {
		return fmt.Errorf("more than %d files are below %s; use a pattern that begins deeper", walkLimit, m.base)
	}
	rel := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, m.base)), "/")
	matched := doublestar.MatchUnvalidated(m.pattern, rel)
	if d.Type().IsRegular() {
		if id, several := identity(d); several {
			m.names[id] = append(m.names[id], path)
			m.wanted[id] = m.wanted[id] || matched
			if !m.wanted[id] {
				delete(m.wanted, id)
			}
			return nil
		}
	}
	if !matched {
		return nil
	}
	if d.Type()&fs.ModeSymlink != 0 {
		if _, err := filepath.EvalSymlinks(path); err != nil {
			return nil // it leads nowhere
		}
	}
	if len(m.found) >= matchLimit {
		return fmt.Errorf("it matches more than %d files", matchLimit)
	}
	m.found = append(m.found, path)
	if d.IsDir() {
		return fs.SkipDir // all below is covered
	}
	return nil
}

// fileID tells a file from others.
type FileID struct{ Device, Inode uint64 }

// Multiple is one name of a file that has several.
type Multiple struct {
	Path string
	ID   FileID
}

// identity returns who a file is, and whether it has more names than one.
func identity(d fs.DirEntry) (FileID, bool) {
	info, err := d.Info()
	if err != nil {
		return FileID{}, false
	}
	return IdentityOf(info)
}

var _ View = Disk{}
