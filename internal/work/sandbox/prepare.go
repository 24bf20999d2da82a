package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"kerf/internal/work/boundary"
)

// looks is how often the disk is looked at while it changes; before each look but the
// first two there is a pause, twice as long each time, 0.6 s in all: programs that make
// and delete repositories one after the other leave gaps.
const looks, pause = 8, 10 * time.Millisecond

// Prepare resolves a policy and wraps argv for it. What appears or vanishes between
// the two is a reason to look again: somebody else makes or deletes a repository in
// a writable directory, for instance.
func Prepare(ctx context.Context, p boundary.Policy, tty bool, argv []string) (*Box, error) {
	return (*Ahead)(nil).Prepare(ctx, p, tty, argv)
}

// Prepare is [Prepare] for a launcher that runs, or none. The policy is the one it began with.
func (a *Ahead) Prepare(ctx context.Context, p boundary.Policy, tty bool, argv []string) (*Box, error) {
	return persist(ctx, func() (*Box, error) {
		pl, err := p.Resolve()
		if err != nil {
			return nil, err
		}
		pl.TTY, pl.Witness = tty, p.Witness
		box, err := wrap(ctx, pl, argv, a)
		if err != nil {
			return nil, err
		}
		box.session = p.Session
		return box, nil
	})
}

// persist prepares until the disk holds still.
func persist(ctx context.Context, prepare func() (*Box, error)) (*Box, error) {
	for n := 1; ; n++ {
		box, err := prepare()
		moved := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)
		if err == nil || n == looks || !moved || ctx.Err() != nil {
			return box, err
		}
		if n > 1 {
			select {
			case <-ctx.Done():
			case <-time.After(pause << (n - 2)):
			}
		}
	}
}
