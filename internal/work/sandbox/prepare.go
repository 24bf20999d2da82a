package sandbox

import (
	"context"
	"errors"
	"io/fs"

	"kerf/internal/work/boundary"
)

// looks is how often the disk is looked at while it changes.
const looks = 4

// Prepare resolves a policy and wraps argv for it. What appears or vanishes between
// the two is a reason to look again: somebody else makes or deletes a repository in
// a writable directory, for instance.
func Prepare(ctx context.Context, p boundary.Policy, tty bool, argv []string) (*Box, error) {
	for n := 1; ; n++ {
		pl, err := p.Resolve()
		var box *Box
		if err == nil {
			pl.TTY, pl.Witness = tty, p.Witness
			if box, err = Wrap(ctx, pl, argv); err == nil {
				box.session = p.Session
			}
		}
		moved := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)
		if err == nil || n == looks || !moved || ctx.Err() != nil {
			return box, err
		}
	}
}
