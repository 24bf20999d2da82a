package tries

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// What was kept of a try that stays is the ground on which the rest is kept later: a file
// in the directory of the try has the version of each such path, its contents are in the
// store of the try.

// keptPath is one of these paths. A version that is nil says that nothing is there.
type keptPath struct {
	Path    ledger.Path     `json:"path"`
	Version *ledger.Version `json:"version"`
}

func (t *Try) keptFile() string { return filepath.Join(t.Dir, "kept.json") }

func (t *Try) store() (*store.Store, error) {
	return store.Open(filepath.Join(homes.Of(t.Dir, t.Meta.Roots[0]), "store"))
}

// readKept reads what was kept of the try before.
func (t *Try) readKept() (map[string]*ledger.Version, error) {
	versions := map[string]*ledger.Version{}
	text, err := os.ReadFile(t.keptFile())
	if errors.Is(err, fs.ErrNotExist) {
		return versions, nil
	}
	var list []keptPath
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	for _, k := range list {
		versions[string(k.Path)] = k.Version
	}
	return versions, err
}

// Remember notes what was kept by a plan that is carried out, in a try that stays.
func (t *Try) Remember(p *Plan) error {
	versions, err := t.readKept()
	if err != nil {
		return fmt.Errorf("note what was kept: %w", err)
	}
	s, err := t.store()
	if err != nil {
		return fmt.Errorf("note what was kept: %w", err)
	}
	defer s.Close()
	changed := false
	for _, r := range p.Rows {
		switch r.Outcome {
		case Kept, Merged, Settled, There:
		default:
			continue
		}
		if err := put(s, r.Change.Post); err != nil {
			return fmt.Errorf("note what was kept of %s: %w", r.Path, err)
		}
		versions[r.Path], changed = ledger.VersionOf(r.Change.Post), true
	}
	if !changed {
		return nil
	}
	var list []keptPath
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		list = append(list, keptPath{ledger.Path(path), versions[path]})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return atomicfile.Write(t.keptFile(), text, 0o600)
}

func put(s *store.Store, img *delta.Image) error {
	if img == nil || !img.Loaded {
		return nil
	}
	_, err := s.Put(img.Data)
	return err
}
