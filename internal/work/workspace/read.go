package workspace

import (
	"path/filepath"

	"kerf/internal/work/changes"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// Read uses a reader of what Kerf's home keeps about a root, as it is: the root may be gone, and
// what a crash left there stays.
func Read(home, root string, use func(changes.Reader) error) error {
	root = Real(root, root)
	dir := homes.Of(home, root)
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := ledger.Open(dir)
	if err != nil {
		return err
	}
	defer l.Close()
	return use(changes.Reader{Ledger: l, Images: s, Base: root, Elsewhere: InGit()})
}

// LedgerOf are the files in which the history of root is: the ledger, and its last entry.
func LedgerOf(home, root string) (ledger, head string) {
	dir := homes.Of(home, Real(root, root))
	return filepath.Join(dir, "ledger.jsonl"), filepath.Join(dir, "ledger.head")
}
