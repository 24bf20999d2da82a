package browser

import (
	"context"
	"os"
	"sync"

	"kerf/internal/front/web"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/workspace"
)

// checks are what was found in the histories of workspaces, as long as they are the same. The
// zero value is empty. One goroutine for each history that is checked ends by itself.
type checks struct {
	g   sync.WaitGroup
	mu  sync.Mutex
	all map[string]check
}

// check is what was found in the ledger of a workspace when it had this state.
type check struct {
	state   [2]stamp
	fault   string
	running bool
}

// stamp tells states of a file apart.
type stamp struct{ size, time int64 }

func stampOf(path string) stamp {
	st, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{st.Size(), st.ModTime().UnixNano()}
}

// atOnce is the size of a ledger up to which it is checked while the page waits.
const atOnce = 2 << 20

// Damage is [web.Data].
func (d *data) Damage(_ context.Context, root string) (web.Damage, error) {
	ledger, head := workspace.LedgerOf(d.h.Config.Home, root)
	now := [2]stamp{stampOf(ledger), stampOf(head)}
	d.checks.mu.Lock()
	was := d.checks.all[root]
	if was.state == now && was.state != [2]stamp{} && !was.running {
		d.checks.mu.Unlock()
		return web.Damage{Fault: was.fault}, nil
	}
	begin := !was.running
	if begin {
		if d.checks.all == nil {
			d.checks.all = map[string]check{}
		}
		d.checks.all[root] = check{state: was.state, fault: was.fault, running: true}
	}
	d.checks.mu.Unlock()
	look := func() (string, error) {
		fault, err := "", d.reading(root, func(r changes.Reader, _ present.Look) error {
			_, err := r.Ledger.Verify()
			return err
		})
		if err != nil {
			fault = err.Error()
		}
		d.checks.mu.Lock()
		d.checks.all[root] = check{state: now, fault: fault}
		d.checks.mu.Unlock()
		return fault, nil
	}
	switch {
	case !begin:
	case now[0].size <= atOnce:
		fault, err := look()
		return web.Damage{Fault: fault}, err
	default:
		d.checks.g.Go(func() { _, _ = look() })
	}
	return web.Damage{Fault: was.fault, Checking: was.fault == ""}, nil
}
