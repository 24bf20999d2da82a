package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
	"kerf/internal/work/workspace"
)

// watching follows a program by a witness.
type watching struct {
	ws      *workspace.Workspace
	origin  txn.Origin
	sum     *summary
	witness *witness.Witness
	watch   *witness.Watch
	dir     string       // the program's working directory
	head    *ledger.Head // there, at the start
	stop    chan struct{}
	wg      sync.WaitGroup
	failed  error      // since then what the program does is in the witness's journal alone
	mu      sync.Mutex // guards refused
	refused []string   // what the program was kept from
}

// watched begins to watch.
func watched(ws *workspace.Workspace, o txn.Origin, s *summary, dir string, available func() error) (*watching, error) {
	if err := available(); err != nil {
		return nil, err
	}
	w := &watching{ws: ws, origin: o, sum: s, dir: dir, head: enter.Head(dir), stop: make(chan struct{})}
	var err error
	w.witness, err = witness.New(witness.Options{Dir: ws.Dir, Roots: ws.Roots, Ledger: ws.Ledger, Store: ws.Store,
		Outlive: true})
	if err != nil {
		return nil, err
	}
	w.watch, err = w.witness.Begin(ledger.Entry{Turn: o.Turn, Call: o.Call, Tool: o.Tool, Client: o.Client,
		Head: enter.From(w.head)}, false, w.refuse)
	if err != nil {
		return nil, errors.Join(err, w.witness.Close())
	}
	w.wg.Go(w.follow)
	return w, nil
}

func (w *watching) socket() *os.File { return w.watch.Socket() }

// refuse keeps the program from destroying what cannot be kept.
func (w *watching) refuse(x witness.Loss) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, x.Path+" was not changed or removed, since its content cannot be kept: "+x.Why)
	return false
}

// follow enters what the program changed while it runs.
func (w *watching) follow() {
	err := w.watch.Follow(w.stop, func() error {
		err := w.watch.Collect(func(r witness.Report) { w.enter(r) })
		return errors.Join(w.failed, err)
	})
	w.failed = err
}

// enter puts a report into the ledger, and reports whether that is done.
func (w *watching) enter(r witness.Report) bool {
	if w.failed != nil {
		return false
	}
	o := w.origin
	if r.Ended {
		o.Head = enter.Moved(w.head, w.dir)
	}
	entered, err := enter.Report(context.Background(), w.ws.Txn, o, r)
	for _, e := range entered {
		if w.sum.add(e.Entry.Known(), e.Set); e.Entry.Known() != ledger.Outside {
			w.sum.addDirs(e.Entry.Dirs, e.Entry.Gone, e.Entry.Modes)
		}
	}
	w.sum.notes = append(w.sum.notes, r.Unsure()...)
	w.failed = err
	return err == nil
}

func (w *watching) end(context.Context) error {
	close(w.stop)
	w.wg.Wait()
	running, err := w.watch.Leave(w.enter)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum.running, w.sum.refused = running, slices.Compact(w.refused)
	if err = errors.Join(w.failed, err); err != nil {
		return fmt.Errorf("%w; kerf recover tries again", err)
	}
	return nil
}

// close ends the witness; it goes on by itself while something of the program runs.
func (w *watching) close() { _ = w.witness.Close() }
