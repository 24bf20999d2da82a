package workspace

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/atomicfile"
	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
)

// A workspace is known by the path of its first root. When a project was renamed, moved,
// or restored elsewhere, its history is below another name in Kerf's home. It is found
// again by what is kept there, and never by a file in the project:
//
//   - the names of staged files, which nobody can guess, while a transaction is open;
//   - the contents that the newest entries of the ledger say its files have: at least half
//     of them, or one if the root has the inode that it had.
//
// One history that fits, whose directory is gone, or that came here with a copy of Kerf's
// home, is joined, and Open tells. With several, somebody must say which: see Adopt. A
// copy beside its original begins a history of its own.

// place is what is kept of where a workspace is.
type place struct {
	Home string `json:"home"` // Kerf's own, when this was written
	Root string `json:"root"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

const placeName = "place"

// former is a history that fits a root, and is kept for another.
type former struct {
	dir, root string
	gone      bool // nothing is known to be at its old place any more
}

// settlePlace notes where the workspace is.
func (w *Workspace) settlePlace(home string) {
	root := rootName(w.Roots[0])
	now := place{Home: rootName(home), Root: root}
	now.Dev, now.Ino = identity(w.Tree, root)
	if readPlace(w.Dir) == now {
		return
	}
	line, err := json.Marshal(now)
	if err != nil || atomicfile.WriteCache(filepath.Join(w.Dir, placeName), append(line, '\n')) != nil {
		return // it is found again by its contents alone
	}
	_ = atomicfile.WriteCache(filepath.Join(w.Dir, "root"), []byte(root+"\n")) // the same
}

func readPlace(dir string) place {
	var p place
	data, err := atomicfile.Read(filepath.Join(dir, placeName))
	if err != nil || json.Unmarshal(data, &p) != nil {
		return place{}
	}
	return p
}

// identity is the device and the inode of a root; zero where the system does not tell.
func identity(t *tree.Tree, root string) (dev, ino uint64) {
	d, err := t.OpenDir(root)
	if err != nil {
		return 0, 0
	}
	defer d.Close()
	sig, err := d.Sig(".")
	if err != nil {
		return 0, 0
	}
	return sig.Dev, sig.Ino
}

// rejoin looks for the history of a root that has none, and joins it if there is no
// doubt. It runs before anything is made for the root.
func (w *Workspace) rejoin(home, root string) {
	root = rootName(root)
	if dir := homes.Of(home, root); hasHistory(dir) {
		// A join that was cut short leads to another name, and the directory has this one again.
		if m := ledger.Moves(dir); len(m) > 0 && string(m[len(m)-1].To) != root {
			_ = ledger.AddMove(dir, string(m[len(m)-1].To), root) // the next Open tries again
		}
		return
	}
	fit := formers(home, root)
	switch {
	case len(fit) == 1 && fit[0].gone:
		if err := fit[0].join(home, root); err == nil {
			w.Joined = fit[0].root
		} else {
			w.Doubt = append(w.Doubt, fit[0].root)
		}
	case len(fit) > 1:
		for _, f := range fit {
			w.Doubt = append(w.Doubt, f.root)
		}
	}
}

// Former is the directory whose history Open would join for a root, or "". It makes
// nothing.
func Former(home, root string) string {
	root = rootName(root)
	if hasHistory(homes.Of(home, root)) {
		return ""
	}
	if fit := formers(home, root); len(fit) == 1 && fit[0].gone {
		return fit[0].root
	}
	return ""
}

// Adopt lets the history of the directory from count for root, which has none of its own.
func Adopt(home, from, root string) error {
	from, root = rootName(from), rootName(root)
	dir := homes.Of(home, from)
	switch {
	case !hasHistory(dir):
		return fmt.Errorf("%s has no history in %s", from, home)
	case hasHistory(homes.Of(home, root)):
		return fmt.Errorf("%s has a history of its own, and two cannot be joined", root)
	}
	if st, err := os.Stat(from); err == nil && st.IsDir() && !elsewhere(dir, home) {
		return fmt.Errorf("%s is still there and keeps its history", from)
	}
	return former{dir: dir, root: from}.join(home, root)
}

// elsewhere reports whether the history in dir was written when Kerf's home had another
// name: home is a copy of it, or was moved, and the roots are those of another place.
func elsewhere(dir, home string) bool {
	was := readPlace(dir).Home
	return was != "" && rootName(was) != rootName(home)
}

// stays reports whether Kerf's home was moved, and the directory of f was not.
func (f former) stays() bool {
	_, err := os.Stat(readPlace(f.dir).Home)
	return err != nil && f.sameInode(f.root)
}

func hasHistory(dir string) bool {
	for _, name := range []string{"ledger.jsonl", "journal.jsonl"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && (st.Size() > 0 || !st.Mode().IsRegular()) {
			return true
		}
	}
	return false
}

// formers lists the histories that fit root and whose own directory is gone.
func formers(home, root string) []former {
	top := filepath.Join(home, "workspaces")
	dirs, err := os.ReadDir(top)
	if err != nil {
		return nil
	}
	var fit []former
	for _, d := range dirs {
		f := former{dir: filepath.Join(top, d.Name())}
		name, err := atomicfile.Read(filepath.Join(f.dir, "root"))
		if err != nil || !hasHistory(f.dir) {
			continue
		}
		f.root = strings.TrimSpace(string(name))
		st, err := os.Stat(f.root)
		f.gone = errors.Is(err, fs.ErrNotExist) || err == nil && !st.IsDir() || elsewhere(f.dir, home) && !f.stays()
		if f.root != root && f.gone && f.fits(root) {
			fit = append(fit, f)
		}
	}
	return fit
}

// How many files are compared to tell whether a history fits, and how large they may be.
const (
	mostCompared  = 32
	mostBytesEach = 1 << 20
)

// fits reports whether the tree at root looks like what f is about.
func (f former) fits(root string) bool {
	if data, err := atomicfile.Read(filepath.Join(f.dir, "journal.jsonl")); err == nil && len(data) > 0 {
		for _, tmp := range staged(data) {
			if there(ledger.Move{From: ledger.Path(f.root), To: ledger.Path(root)}.Path(tmp)) {
				return true
			}
		}
	}
	l, err := ledger.Open(f.dir)
	if err != nil {
		return false
	}
	defer l.Close()
	move := ledger.Move{From: ledger.Path(f.root), To: ledger.Path(root)}
	seen := map[string]bool{}
	same, other := 0, 0
	for e, err := range l.Backward() {
		if err != nil || same+other >= mostCompared {
			break
		}
		for _, c := range e.Changes {
			at := move.Path(c.Path)
			// A join that was cut short has given them their present names already.
			if seen[c.Path] || at == c.Path && !pathname.Inside(root, at) || same+other >= mostCompared {
				continue
			}
			seen[c.Path] = true
			switch {
			case c.Post == nil || c.Post.Kind != delta.File || c.Post.Size == 0 || c.Post.Size > mostBytesEach:
			case holds(at, *c.Post):
				same++
			default:
				other++
			}
		}
	}
	return same > 0 && (same >= other || f.sameInode(root))
}

// sameInode reports whether root has the inode that the root of f had. Alone it proves
// nothing: the number of a directory that is gone is given to another.
func (f former) sameInode(root string) bool {
	p := readPlace(f.dir)
	t, err := tree.Open(tree.Options{Roots: []string{root}})
	if err != nil || p.Ino == 0 {
		return false
	}
	dev, ino := identity(t, root)
	return dev == p.Dev && ino == p.Ino
}

// staged are the names of the files that a journal says were staged.
func staged(journal []byte) []string {
	var names []string
	for line := range strings.SplitSeq(string(journal), "\n") {
		var r struct {
			Ops []struct {
				Tmp ledger.Path `json:"tmp"`
			} `json:"ops"`
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			continue
		}
		for _, o := range r.Ops {
			if o.Tmp != "" {
				names = append(names, string(o.Tmp))
			}
		}
	}
	return names
}

func there(path string) bool {
	_, err := os.Lstat(filepath.FromSlash(path))
	return err == nil
}

func holds(path string, v ledger.Version) bool {
	st, err := os.Lstat(filepath.FromSlash(path))
	if err != nil || !st.Mode().IsRegular() || st.Size() != v.Size {
		return false
	}
	data, err := os.ReadFile(filepath.FromSlash(path))
	return err == nil && sha256.Sum256(data) == [sha256.Size]byte(v.Sum)
}

// join gives the history of f to root. It may be cut short and begun again. What is kept
// for root without a history, such as outputs that were shown, joins the contents of f.
func (f former) join(home, root string) error {
	to := homes.Of(home, root)
	err := ledger.AddMove(f.dir, f.root, root)
	if err == nil {
		err = ledger.NoteMove(filepath.Dir(to), f.root, root)
	}
	if err == nil {
		err = takeStore(to, f.dir)
	}
	if err == nil {
		err = os.Rename(f.dir, to)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "root"), []byte(root+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("join the history of %s: %w", f.root, err)
	}
	return nil
}

// takeStore moves the contents that are kept in the directory from to the directory into,
// and removes from.
func takeStore(from, into string) error {
	for _, shard := range subdirs(filepath.Join(from, "store")) {
		if shard == "live" {
			continue // the leases of processes
		}
		names, err := os.ReadDir(filepath.Join(from, "store", shard))
		if err == nil {
			err = os.MkdirAll(filepath.Join(into, "store", shard), 0o700)
		}
		if err != nil {
			return err
		}
		for _, n := range names {
			to := filepath.Join(into, "store", shard, n.Name())
			if there(filepath.ToSlash(to)) {
				continue
			}
			if err := os.Rename(filepath.Join(from, "store", shard, n.Name()), to); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(from)
}

func subdirs(dir string) []string {
	entries, _ := os.ReadDir(dir) // none if it is not there
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// rootName is a root as its workspace is named by.
func rootName(root string) string {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return filepath.ToSlash(filepath.Clean(root))
}
