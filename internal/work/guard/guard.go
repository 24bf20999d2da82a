// Package guard runs one program of the user's, and records what it changes.
//
// Where the program can be watched, what it did is proven, and is in the ledger while it
// still runs. Elsewhere the roots are compared before and after, and what differs is
// unproven.
package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/sandbox/interactive"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
	"kerf/internal/work/workspace"
)

// Command is a program that is run under guard.
type Command struct {
	Argv []string
	Dir  string
	Env  []string // without a sandbox
	// Sandbox runs the program in a sandbox; nil without one.
	Sandbox *interactive.Command
	// Open opens the workspace that the changes are recorded in.
	Open func() (*workspace.Workspace, error)
	// Name is the command line, as the ledger tells it.
	Name string
	// MustWatch refuses to run what cannot be watched.
	MustWatch bool
	// Warn is told what the user should know before the program runs.
	Warn func(string)
}

// Client is what the ledger calls all runs by.
const Client = "kerf guard"

// The exit codes of a program that did not run.
const (
	CodeNotRun   = 125
	codeNoStart  = 126
	codeNotFound = 127
)

// Roots are the further directories in which the changes of a program are recorded that runs in dir.
// A sandbox makes them writable, so there they are as given. Nothing else holds a program back from the
// rest of its git repository, and that is recorded, too, unless all of the home directory or of the machine lies
// in it.
func Roots(given []string, dir, home string, confined bool) []string {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real // as dir is
	}
	if top := repo.Top(dir); !confined && top != dir && !pathname.Inside(top, home) && top != filepath.Dir(top) {
		return append(slices.Clone(given), top)
	}
	return given
}

// recorder finds out what a program changed, and enters it into the ledger.
type recorder interface {
	// socket is what the launcher needs, or nil.
	socket() *os.File
	// end is called once the program has ended.
	end(ctx context.Context) error
}

// Run runs the program on the user's own streams and returns its exit code, or 128 plus
// the number of the signal that ended it. Its changes are in the ledger before Run
// returns. An error with an empty Summary.Turn means that the program did not run.
func (c Command) Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (int, Summary, error) {
	ws, err := c.Open()
	if err != nil {
		return CodeNotRun, Summary{}, err
	}
	defer ws.Close()
	if err := ws.Room.Check(); err != nil {
		return CodeNotRun, Summary{}, err
	}
	s := &summary{turn: "guard-" + strings.ToLower(rand.Text()[:8]), files: map[string]*file{}, dirs: map[string]int{}, modes: map[string]bool{}}
	origin := txn.Origin{Turn: s.turn, Call: c.Name, Tool: "guard", Client: Client}
	rec, done, err := c.recorder(ctx, ws, origin, s)
	if err != nil {
		return CodeNotRun, Summary{}, err
	}
	defer done()
	began := placesOf(ws.Roots)
	code, err := c.run(ctx, rec.socket(), stdin, stdout, stderr)
	if lost := errors.Join(moved(ws.Roots, began), rec.end(context.WithoutCancel(ctx))); lost != nil {
		err = errors.Join(err, fmt.Errorf("not all that the program changed is recorded: %w", lost))
	}
	return code, s.summary(), err
}

// placesOf are what directories are, nil for one that is not there.
func placesOf(dirs []string) []os.FileInfo {
	list := make([]os.FileInfo, len(dirs))
	for i, dir := range dirs {
		list[i], _ = os.Stat(dir)
	}
	return list
}

// moved fails if one of the directories is another one by now, or gone: what was changed in it
// since then is not seen.
func moved(dirs []string, began []os.FileInfo) error {
	for i, now := range placesOf(dirs) {
		if began[i] != nil && (now == nil || !os.SameFile(began[i], now)) {
			return fmt.Errorf("%s was moved or removed while the program ran, and what was changed in it since is not known",
				dirs[i])
		}
	}
	return nil
}

// recorder chooses how the program is followed.
func (c Command) recorder(ctx context.Context, ws *workspace.Workspace, o txn.Origin,
	s *summary) (recorder, func(), error) {
	available := witness.Available
	if c.Sandbox == nil || c.Sandbox.Full {
		available = witness.AvailableUnconfined
	}
	w, err := watched(ws, o, s, c.Dir, available)
	if err == nil {
		s.watched = true
		return w, w.close, nil
	}
	switch {
	case c.MustWatch || !errors.Is(err, witness.ErrUnavailable):
		return nil, nil, err
	case ws.Scanner == nil:
		return nil, nil, fmt.Errorf("%w, and files cannot be compared: %s", err, ws.Unscanned)
	}
	c.Warn(err.Error() + ": files are compared before and after, and nobody knows who changed them")
	r := &compared{ws: ws, origin: o, sum: s, dir: c.Dir, head: enter.Head(c.Dir)}
	if r.before, err = ws.Scanner.Snapshot(ctx); err != nil {
		return nil, nil, err
	}
	return r, func() {}, nil
}

// run runs the program to its end.
func (c Command) run(ctx context.Context, socket *os.File, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if c.Sandbox != nil {
		inside := *c.Sandbox
		inside.Policy.Witness = socket
		return inside.Run(ctx, stdin, stdout, stderr)
	}
	box, err := sandbox.Prepare(ctx, boundary.Policy{Mode: boundary.FullAccess, Roots: []string{c.Dir}, Cwd: c.Dir, Witness: socket},
		false, c.Argv)
	if err != nil {
		return CodeNotRun, err
	}
	defer box.Close()
	return foreground{argv: box.Argv, dir: c.Dir, env: c.Env, files: box.Files}.run(stdin, stdout, stderr)
}
