// Package workspace opens the writable roots of a session together with what Kerf
// keeps about them: kept contents, the ledger, transactions and the scanner.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/work/boundary"
	"kerf/internal/work/changes"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/presence"
	"kerf/internal/work/repo"
	"kerf/internal/work/room"
	"kerf/internal/work/scan"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

// Options say what is opened.
type Options struct {
	// Home is KERF_HOME. What Kerf keeps about the roots is below it.
	Home string
	// Roots are the writable directories, at least one. Relative paths start at the
	// first one, and its name is that of the workspace.
	Roots []string
	// Full lets the file tools reach everything, as far as the boundary does.
	Full bool
	// Boundary says what may be read and written; nil for what holds where nothing is
	// configured: the roots are writable, but for what only the user changes.
	Boundary *boundary.Session
	// Unrecorded keeps what would be below Home in a directory of its own, which is
	// removed when the workspace is closed: nothing of what is done can be taken back
	// afterwards.
	Unrecorded bool
	// Outlive says that commands may go on when Kerf has ended.
	Outlive bool
	// Reading is for those who look, see [txn.Options].
	Reading bool
	// Check, when not nil, is asked about each root, without links, and its error becomes that
	// of Open. The workspace stays with the directories that it was asked about.
	Check func(dir string) error
	// Tmp asks for a private temporary directory with this word in its name; none
	// is made if it is empty.
	Tmp string
	// Before, when not nil, is asked before each part is opened, and its error
	// becomes that of Open. It exists for fault tests.
	Before func(part string) error
}

// Workspace is an open workspace. Its parts may be used concurrently.
type Workspace struct {
	Roots []string
	Dir   string // where Kerf keeps its data about the roots
	Tmp   string // the private temporary directory, or empty
	// Joined is the former name of the first root, when its history was found again now.
	// Doubt names those of several histories that fit, of which none was joined.
	Joined string
	Doubt  []string
	// Room says whether what is done here can be recorded.
	Room     *room.Room
	Boundary *boundary.Session
	Tree     *tree.Tree
	Store    *store.Store
	Ledger   *ledger.Ledger
	Txn      *txn.Workspace
	// Scanner finds what commands change. It is nil when Unscanned says why that
	// is not possible here.
	Scanner   *scan.Scanner
	Unscanned string
	// Witness sees what commands in the sandbox change. It is nil when Unwitnessed says
	// why that is not possible here.
	Witness     *witness.Witness
	Unwitnessed error
	// Recovered counts the commands whose Kerf was gone and whose changes were entered
	// now; Unrecovered says why those of others could not be.
	Recovered   int
	Unrecovered error

	here    *presence.Presence
	scratch string // in the place of the home of an unrecorded workspace, or empty
}

// Open opens a workspace, and finishes or takes back what a crash cut off. When a
// part fails, the parts that are open already are closed in reverse order.
func Open(o Options) (*Workspace, error) {
	w := &Workspace{}
	if err := w.open(o); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Workspace) open(o Options) error {
	if len(o.Roots) == 0 {
		return errors.New("open workspace: no roots")
	}
	w.Roots = o.Roots
	if o.Unrecorded {
		var err error
		if w.scratch, err = os.MkdirTemp("", "kerf-unrecorded-"); err != nil {
			return fmt.Errorf("unrecorded workspace: %w", err)
		}
		o.Home = w.scratch
	}
	w.rejoin(o.Home, o.Roots[0])
	w.Dir = homes.For(o.Home, o.Roots)
	w.Room = room.New(w.Dir)
	parts := []struct {
		name string
		open func(Options) error
	}{{"tree", w.openTree}, {"tmp", w.makeTmp}, {"store", w.openStore}, {"ledger", w.openLedger}, {"txn", w.openTxn},
		{"scanner", w.openScanner}, {"witness", w.openWitness}}
	for _, p := range parts {
		var err error
		if o.Before != nil {
			err = o.Before(p.name)
		}
		if err == nil {
			err = p.open(o)
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	w.settlePlace(o.Home)
	return nil
}

// Join makes a session known to the others in this workspace. What it returns tells the ids of
// those that are open; nil if the session cannot be made known.
func (w *Workspace) Join(session string) func() []string {
	here, err := presence.Join(filepath.Join(w.Dir, "present"), session)
	if err != nil {
		return nil
	}
	w.here = here
	return here.Others
}

// Notice tells the user in a line what Open found out about the history of the first
// root; empty if there is nothing to tell.
func (w *Workspace) Notice() string {
	unfinished := w.Unrecovered
	if w.Txn != nil && w.Txn.Unrecovered != nil {
		unfinished = w.Txn.Unrecovered
	}
	switch {
	case unfinished != nil:
		return fmt.Sprintf("what an interrupted run left could not be finished yet: %v; kerf recover tries again", unfinished)
	case w.Joined != "":
		return "this directory was " + w.Joined + "; its history counts here now"
	case len(w.Doubt) > 0:
		return "the history of one of these directories may belong here: " + strings.Join(w.Doubt, ", ") +
			"; to take it over: kerf adopt DIRECTORY"
	}
	return ""
}

// Unrecordable says why nothing that is done here can be recorded now; empty if it can.
func (w *Workspace) Unrecordable() string {
	var e *room.Error
	if err := w.Room.Check(); errors.As(err, &e) {
		return e.Dir + ": " + e.Err.Error()
	} else if err != nil {
		return err.Error()
	}
	return ""
}

func (w *Workspace) openTree(o Options) (err error) {
	w.Boundary = o.Boundary
	if w.Boundary == nil {
		w.Boundary = plainBoundary(o)
	}
	to := tree.Options{Roots: w.Roots, Cwd: w.Roots[0], Boundary: w.Boundary}
	if o.Full {
		to.Roots = []string{w.Roots[0], filepath.VolumeName(w.Roots[0]) + string(filepath.Separator)}
	}
	if w.Tree, err = tree.Open(to); err != nil {
		return err
	}
	for _, root := range w.Roots {
		real, err := w.settled(root)
		if err == nil && o.Check != nil {
			err = o.Check(real)
		}
		if err != nil {
			return err
		}
		w.Boundary.Settle(root, real)
	}
	return nil
}

// settled is the directory that a root is from now on: as the tree has it.
func (w *Workspace) settled(root string) (string, error) {
	if real := w.Tree.Root(root); real != "" {
		return filepath.FromSlash(real), nil
	}
	return filepath.EvalSymlinks(root) // with full access the tree has no roots but all
}

func plainBoundary(o Options) *boundary.Session {
	mode := boundary.WorkspaceWrite
	if o.Full {
		mode = boundary.FullAccess
	}
	return boundary.NewSession(boundary.Disk{}, mode, func(mode string) boundary.Policy {
		return boundary.Policy{Mode: mode, Roots: o.Roots, Cwd: o.Roots[0], DenyRead: []string{o.Home}}
	})
}

func (w *Workspace) makeTmp(o Options) (err error) {
	if o.Tmp != "" {
		w.Tmp, err = PrivateTmp(o.Tmp)
	}
	return err
}

// OwnTmp is Tmp, or empty while the workspace is not open yet.
func (w *Workspace) OwnTmp() string {
	if w == nil {
		return ""
	}
	return w.Tmp
}

// Scratch is what is in the place of Kerf's home while nothing is recorded, or empty.
func (w *Workspace) Scratch() string {
	if w == nil {
		return ""
	}
	return w.scratch
}

func (w *Workspace) openStore(Options) (err error) {
	w.Store, err = store.Open(filepath.Join(w.Dir, "store"))
	return err
}

func (w *Workspace) openLedger(Options) (err error) {
	w.Ledger, err = ledger.Open(w.Dir)
	return err
}

func (w *Workspace) openTxn(o Options) (err error) {
	w.Txn, err = txn.Open(txn.Options{Tree: w.Tree, Store: w.Store, Ledger: w.Ledger, Dir: w.Dir, Durable: true,
		Room: w.Room, Reading: o.Reading})
	if err != nil {
		return fmt.Errorf("workspace %s: %w", w.Roots[0], err)
	}
	return nil
}

// openScanner makes the scanner. Without one the workspace still is of use.
func (w *Workspace) openScanner(Options) error {
	s, err := scan.Open(scan.Options{Roots: w.Roots, Store: w.Store, Hides: func(path string, below bool) bool {
		if below {
			return w.Boundary.HidesBelow(filepath.FromSlash(path))
		}
		return w.Boundary.At(filepath.FromSlash(path)).Access == boundary.Hidden
	}})
	switch {
	case err != nil:
		w.Unscanned = err.Error()
	case !s.Enabled():
		w.Unscanned = s.Reason()
	default:
		w.Scanner = s
	}
	return nil
}

// openWitness makes the witness, which begins with the first command.
func (w *Workspace) openWitness(wo Options) error {
	o := witness.Options{Dir: w.Dir, Roots: w.Roots, Ledger: w.Ledger, Store: w.Store, Outlive: wo.Outlive}
	w.Recovered, w.Unrecovered = witness.Recover(context.Background(), o, w.enter)
	w.Witness, w.Unwitnessed = witness.New(o)
	return nil
}

// enter makes entries of what became of a command whose Kerf is gone.
func (w *Workspace) enter(began ledger.Entry, r witness.Report) error {
	o := txn.Origin{Session: began.Session, Turn: began.Turn, Call: began.Call, Tool: began.Tool, Client: began.Client}
	if began.Head != nil && r.Ended {
		if o.Head = enter.Moved(began.Head.From, w.Roots[0]); o.Head != nil {
			o.Head.Late = true
		}
	}
	_, err := enter.Report(context.Background(), w.Txn, o, r)
	return err
}

// EndLost enters of commands that nobody watches any more, and of which no record is left,
// that nobody knows what they did. It returns how many there were.
func (w *Workspace) EndLost() (int, error) {
	return witness.Lost(witness.Options{Dir: w.Dir, Roots: w.Roots, Ledger: w.Ledger, Store: w.Store}, w.enter)
}

// Close releases files and locks, and removes the private temporary directory.
func (w *Workspace) Close() error {
	errs := []error{w.here.Leave()}
	if w.Witness != nil {
		errs = append(errs, w.Witness.Close())
	}
	if w.Txn != nil {
		errs = append(errs, w.Txn.Close())
	}
	if w.Ledger != nil {
		errs = append(errs, w.Ledger.Close())
	}
	if w.Store != nil {
		errs = append(errs, w.Store.Close())
	}
	errs = append(errs, w.Room.Close())
	for _, dir := range []string{w.Tmp, w.scratch} {
		if dir != "" {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// Base is the directory that diffs name paths relative to: the root of the
// repository that the first root is in, or the first root.
func (w *Workspace) Base() string { return repo.Top(w.Roots[0]) }

// Changes reads the ledger.
func (w *Workspace) Changes() changes.Reader {
	return changes.Reader{Ledger: w.Ledger, Images: w.Store, Base: w.Base(), Elsewhere: InGit()}
}

// Roots are the writable roots for a working directory: itself, then dirs, which
// are relative to it or absolute. Each must be a directory.
func Roots(cwd string, dirs []string) ([]string, error) {
	roots := []string{cwd}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		st, err := os.Stat(dir)
		if err != nil || !st.IsDir() {
			return nil, fmt.Errorf("writable root %s is not a directory", dir)
		}
		roots = append(roots, filepath.Clean(dir))
	}
	return slices.Clip(roots), nil
}

// PrivateTmp makes a directory that can be /tmp for commands.
func PrivateTmp(name string) (string, error) {
	dir, err := os.MkdirTemp("", "kerf-"+name[:min(8, len(name))]+"-")
	if err != nil {
		return "", fmt.Errorf("private temporary directory: %w", err)
	}
	return dir, nil
}
