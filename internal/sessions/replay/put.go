package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// states are what an entry, or its inverse, makes of paths. What goes goes first, and
// directories come before what is in them.
type states struct {
	files map[string]*ledger.Version // nil for nothing
	gone  []string                   // directories, children first
	made  []ledger.Dir               // parents first
	modes []ledger.Dir               // of directories that stay
}

func forward(e *ledger.Entry) states {
	s := states{files: map[string]*ledger.Version{}}
	for _, c := range e.Changes {
		s.files[c.Path] = c.Post
	}
	for _, d := range slices.Backward(e.Gone) {
		s.gone = append(s.gone, string(d.Path))
	}
	for _, d := range e.Dirs {
		s.made = append(s.made, ledger.Dir{Path: d, Mode: ledger.AnyMode})
	}
	for _, m := range e.Modes {
		s.modes = append(s.modes, ledger.Dir{Path: m.Path, Mode: m.Post})
	}
	return s
}

func inverse(e *ledger.Entry) states {
	s := states{files: map[string]*ledger.Version{}, made: e.Gone}
	for _, c := range slices.Backward(e.Changes) { // the first change of a path counts
		s.files[c.Path] = c.Pre
	}
	for _, d := range slices.Backward(e.Dirs) {
		s.gone = append(s.gone, string(d))
	}
	for _, m := range e.Modes {
		s.modes = append(s.modes, ledger.Dir{Path: m.Path, Mode: m.Pre})
	}
	return s
}

// step gives paths of the copy other states.
func (r *replayer) step(s states) error {
	for path, v := range s.files {
		if v == nil {
			if err := r.put(path, nil); err != nil {
				return err
			}
		}
	}
	for _, d := range s.gone {
		if to, ok := r.mapped(d); ok && !r.shadowed(to) {
			if st, err := os.Lstat(to); err == nil && st.IsDir() {
				_ = os.Remove(to) // only an empty one goes
			}
		}
	}
	for _, d := range s.made {
		if err := r.makeDir(d); err != nil {
			return err
		}
	}
	for path, v := range s.files {
		if v != nil {
			if err := r.put(path, v); err != nil {
				return err
			}
		}
	}
	for _, d := range s.modes {
		if to, ok := r.mapped(string(d.Path)); ok && !r.shadowed(to) {
			if st, err := os.Lstat(to); err == nil && st.IsDir() {
				_ = os.Chmod(to, os.FileMode(d.Mode).Perm()|0o700)
			}
		}
	}
	return nil
}

func (r *replayer) makeDir(d ledger.Dir) error {
	to, ok := r.mapped(string(d.Path))
	if !ok {
		return nil
	}
	if st, err := os.Lstat(to); err == nil && st.IsDir() && !r.shadowed(to) {
		return nil
	}
	if err := r.clear(to); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil || d.Mode == ledger.AnyMode {
		return err
	}
	return os.Chmod(to, os.FileMode(d.Mode).Perm()|0o700)
}

// put gives a path of the copy the state of a version. Directories go with their own
// entries.
func (r *replayer) put(path string, v *ledger.Version) error {
	to, ok := r.mapped(path)
	if !ok {
		return nil
	}
	if v == nil {
		st, err := os.Lstat(to)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && st.IsDir() || r.shadowed(to) {
			return nil
		}
		return os.Remove(to)
	}
	data, err := r.images.Get(v.Delta().Sum)
	if err != nil {
		return fmt.Errorf("the content that %s had is no longer kept: %w", path, err)
	}
	if err := r.clear(to); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if v.Kind == delta.Symlink {
		return os.Symlink(string(data), to)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(to, os.FileMode(v.Mode).Perm())
}

// shadowed reports whether something above a path of the copy is no directory, so that
// nothing of the session is there: a link would lead elsewhere.
func (r *replayer) shadowed(to string) bool {
	for dir := filepath.Dir(to); len(dir) > len(r.scratch); dir = filepath.Dir(dir) {
		if st, err := os.Lstat(dir); err == nil && !st.IsDir() {
			return true
		}
	}
	return false
}

// clear makes the directories above a path of the copy, in the place of files and links.
func (r *replayer) clear(to string) error {
	rel, err := filepath.Rel(r.scratch, filepath.Dir(to))
	if err != nil || rel == "." {
		return err
	}
	dir := r.scratch
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, name)
		st, err := os.Lstat(dir)
		if err == nil && st.IsDir() {
			continue
		}
		if err == nil {
			if err := os.Remove(dir); err != nil {
				return err
			}
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
