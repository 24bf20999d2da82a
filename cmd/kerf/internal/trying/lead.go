package trying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/atomicfile"
	"kerf/internal/host"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
)

// Wish is how the user of the terminal UI wants a session to go on.
type Wish struct {
	Do      string `json:"do"` // Enter, Keep, Leave or Discard
	Session string `json:"session"`
	Request string `json:"request,omitempty"` // for kerf tries
}

// The ways in which a session goes on.
const (
	Enter   = "enter"   // in a new try
	Keep    = "keep"    // outside, when what the try changed is kept
	Leave   = "leave"   // outside; the try waits
	Discard = "discard" // outside; the try is thrown away
)

// Current is the number of the try that this process runs in, 0 for none.
func Current(p *program.Program, h *host.Host) int {
	n, err := strconv.Atoi(p.Getenv(tries.Env))
	if err != nil || !tries.Inside(h.Config.Cwd) {
		return 0
	}
	return n
}

// wishFile has the wish that is told at the end of a run, in the directory of its try.
func wishFile(t *tries.Try) string { return filepath.Join(t.Dir, "wish.json") }

// Tell has the Kerf that started this one in a try do what the user wishes, once this one
// has ended.
func Tell(p *program.Program, h *host.Host, w Wish) error {
	t, err := tries.Get(h.Config.Home, strconv.Itoa(Current(p, h)))
	if err != nil {
		return err
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return atomicfile.Write(wishFile(t), text, 0o600)
}

// told takes what a run in a try wished for.
func told(t *tries.Try) Wish {
	var w Wish
	text, err := os.ReadFile(wishFile(t))
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &w), os.Remove(wishFile(t)))
	}
	if err != nil {
		return Wish{}
	}
	return w
}

// Lead is [Run] for the terminal UI, in which the user may ask to leave the try. It then
// returns the session that goes on outside. again makes the arguments by which Kerf goes on
// with a session.
func (s Session) Lead(ctx context.Context, p *program.Program, h *host.Host,
	again func(session string) []string) (ran bool, session string, err error) {
	t, err := s.start(p, h)
	if t == nil {
		return err != nil, "", err
	}
	defer t.Unlock()
	_ = told(t) // of a run that was killed
	for {
		code, err := s.hold(ctx, p, h, t)
		if err != nil {
			return true, "", err
		}
		w := told(t)
		switch w.Do {
		case Keep:
			kept, err := s.kept(ctx, p, h, t)
			if err != nil || kept {
				return true, w.Session, err
			}
			s.Try, s.Args = strconv.Itoa(t.ID), again(w.Session)
			continue
		case Discard:
			fmt.Fprintf(p.Stderr, "kerf: try %d is gone\n", t.ID)
			return true, w.Session, t.Remove()
		case Leave:
			return true, w.Session, tell(ctx, p, h, t)
		}
		return true, "", errors.Join(program.Exit(code), tell(ctx, p, h, t))
	}
}

// kept keeps a try as the user of the terminal UI wishes, and tells why it did not.
func (s *Session) kept(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try) (bool, error) {
	verdicts, err := checked(ctx, p, h, t)
	if err != nil {
		fmt.Fprintf(p.Stderr, "kerf: %s. The session goes on in try %d.\n"+
			"kerf: /try leave, then kerf keep %d --no-checks keeps it all the same\n", visible.OneLine(err.Error(), 300),
			t.ID, t.ID)
		return false, nil
	}
	kept, err := keepAll(ctx, p, h, t, verdicts)
	if err == nil && !kept {
		fmt.Fprintf(p.Stderr, "kerf: nothing was written: files are in conflict. The session goes on in try %d.\n"+
			"kerf: /try leave, then kerf keep %d with --merge, --theirs, --ours or --skip settles it\n", t.ID, t.ID)
	}
	return kept, err
}

// keepAll keeps a try as `kerf keep` does, and tells what became of each file. It reports
// whether that was done: in a conflict nothing is.
func keepAll(ctx context.Context, p *program.Program, h *host.Host, t *tries.Try, verdicts tries.Verdicts) (bool,
	error) {
	plan, ws, err := planOf(ctx, h, t, tries.Options{})
	if err != nil {
		return false, err
	}
	defer ws.Close()
	o := keepOptions{}
	stuck := plan.Count(tries.Conflict) > 0
	if !stuck {
		if err := carryOut(ctx, p, ws, plan, verdicts); err != nil {
			return false, err
		}
	}
	if err := o.tell(p, t, plan, stuck); err != nil {
		return false, err
	}
	switch {
	case stuck:
		return false, nil
	case plan.Count(tries.Git, tries.Closed) > 0:
		tellStays(p, t, plan)
		return true, nil
	}
	return true, t.Remove()
}
