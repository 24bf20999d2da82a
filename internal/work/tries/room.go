package tries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"kerf/internal/work/room"
	"kerf/internal/work/sandbox/repeat"
)

// abandoned is the age from which a directory that is no try is what was left of one.
const abandoned = time.Hour

// Left is a directory that is left of a try whose making or removal was cut off.
type Left struct {
	Dir   string
	Bytes int64
}

// Sweep removes what is left of tries that are none any more, or says what it would remove.
// Tries themselves stay.
func Sweep(home string, dry bool) ([]Left, error) {
	names, err := os.ReadDir(place(home))
	if err != nil {
		if os.IsNotExist(err) {
			err = nil
		}
		return nil, err
	}
	var list []Left
	for _, d := range names {
		id, err := strconv.Atoi(d.Name())
		if err != nil || !d.IsDir() {
			continue
		}
		t := &Try{ID: id, Dir: filepath.Join(place(home), d.Name())}
		if _, err := os.Lstat(filepath.Join(t.Dir, "meta.json")); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		info, err := d.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue // somebody is about to make it
		}
		left := Left{t.Dir, t.Size()}
		if !dry {
			if t.Lock() != nil {
				continue
			}
			if err := t.Remove(); err != nil {
				return list, fmt.Errorf("remove %s: %w", t.Dir, err)
			}
		}
		list = append(list, left)
	}
	return list, nil
}

// FullError says that the tries take more room than they may.
type FullError struct{ Bytes, Most int64 }

func (e *FullError) Error() string {
	return fmt.Sprintf("the tries take %.1f MB, and may take %.1f (tries.max_bytes)", float64(e.Bytes)/1e6,
		float64(e.Most)/1e6)
}

// Room is the error that says that all tries of home take more than most bytes; 0 is no
// bound.
func Room(home string, most int64) error {
	if most <= 0 {
		return nil
	}
	list, err := List(home)
	if err != nil {
		return err
	}
	var sum int64
	for _, t := range list {
		sum += t.Size()
	}
	if sum > most {
		return &FullError{sum, most}
	}
	return nil
}

// Fits is the error that says that so many bytes more have no room: not below most, where that
// is a bound, or not on the disk of home.
func Fits(home string, more, most int64) error {
	if most > 0 {
		list, err := List(home)
		if err != nil {
			return err
		}
		sum := more
		for _, t := range list {
			sum += t.Size()
		}
		if sum > most {
			return &FullError{sum, most}
		}
	}
	if free, ok := room.Free(home); ok && more > free {
		return fmt.Errorf("%.1f MB are free on the disk of %s, and %.1f are needed", float64(free)/1e6, home,
			float64(more)/1e6)
	}
	return nil
}

// look is how often the size of tries is looked at while one runs.
const look = 2 * time.Second

// Within runs something in a try of home, and ends its context when all tries take more
// than most bytes. It then returns a FullError, too. 0 is no bound.
func Within(ctx context.Context, home string, most int64, run func(context.Context) (int, error)) (int, error) {
	if most <= 0 {
		return run(ctx)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	looks := repeat.Start(look, func() bool {
		err := Room(home, most)
		if err != nil {
			stop(err)
		}
		return err == nil
	})
	code, err := run(ctx)
	looks.End()
	var full *FullError
	if errors.As(context.Cause(ctx), &full) {
		err = errors.Join(err, full)
	}
	return code, err
}
