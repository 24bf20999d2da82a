package sandbox

import (
	"context"
	"errors"
	"io/fs"
)

// looks is how often the disk is looked at while it changes.
const looks = 4

// Prepare resolves a policy and wraps argv for it. What vanishes between the two,
// a repository that somebody deletes in a writable directory for instance, is a
// reason to look again.
func Prepare(ctx context.Context, p Policy, tty bool, argv []string) (*Box, error) {
	for n := 1; ; n++ {
		plan, err := Resolve(p, Disk{})
		var box *Box
		if err == nil {
			plan.TTY = tty
			box, err = Wrap(ctx, plan, argv)
		}
		if err == nil || n == looks || !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			return box, err
		}
	}
}
