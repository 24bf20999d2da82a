package retention

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// Options say what is collected.
type Options struct {
	Home string // KERF_HOME; the stores of its workspaces are collected
	// Sessions is a directory whose .json and .jsonl files name contents that are
	// still in use.
	Sessions string
	Keep     Policy
	// MaxBytes bounds a store. Beyond it the oldest contents go although Keep wants
	// them, but never those that are younger than Keep.Least or of the last turn.
	// 0 is no bound.
	MaxBytes int64
	DryRun   bool // count only
}

// Collected is what a collection did in one workspace, or would do.
type Collected struct {
	Workspace    string `json:"workspace"` // its root
	Objects      int    `json:"objects"`
	Bytes        int64  `json:"bytes"`
	Removed      int    `json:"removed"`
	RemovedBytes int64  `json:"removed_bytes"`
	// Busy workspaces are being collected by another process.
	Busy bool `json:"busy,omitempty"`
}

// Collect removes from the stores of all workspaces what neither the ledgers, as
// far as they are kept, nor sessions, nor unfinished transactions refer to. One that
// cannot be read keeps all it has, and does not hold up the others.
func Collect(ctx context.Context, o Options) ([]Collected, error) {
	dirs, err := os.ReadDir(filepath.Join(o.Home, "workspaces"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var stores []*collection
	for _, d := range dirs {
		dir := filepath.Join(o.Home, "workspaces", d.Name())
		if _, err := os.Stat(filepath.Join(dir, "store")); err != nil {
			continue
		}
		c, err := open(dir, o, now)
		if err != nil {
			return nil, err
		}
		stores = append(stores, c)
	}
	// The horizons are fixed by now: what is referred to from here on is younger.
	used, err := usedIn(ctx, o.Sessions)
	if err != nil {
		return nil, err
	}
	var done []Collected
	var errs []error
	for _, c := range stores {
		one, err := c.run(ctx, used, now)
		if errs = append(errs, err); err == nil || one.Removed > 0 {
			done = append(done, one)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return done, errors.Join(errs...)
}

// How often Kerf collects by itself, and how long it may take at the end of a run.
// What is left then is collected the next day.
const (
	collectEvery = 24 * time.Hour
	collectAtEnd = 2 * time.Second
)

// CollectIfDue collects once a day, for a bounded time, so that stores do not grow
// without end. Errors are left to kerf gc to tell.
func CollectIfDue(ctx context.Context, o Options) {
	stamp := filepath.Join(o.Home, "workspaces", "collected")
	st, err := os.Stat(stamp)
	if err == nil && time.Since(st.ModTime()) < collectEvery {
		return
	}
	if os.WriteFile(stamp, nil, 0o600) != nil || err != nil {
		return // with the first stamp nothing is old yet
	}
	now := time.Now()
	_ = os.Chtimes(stamp, now, now) // writing nothing leaves the time as it was
	ctx, cancel := context.WithTimeout(ctx, collectAtEnd)
	defer cancel()
	_, _ = Collect(ctx, o)
}

// collection is the store of one workspace about to be collected.
type collection struct {
	Options
	dir     string
	store   *store.Store
	ledger  *ledger.Ledger
	horizon time.Time
}

func open(dir string, o Options, now time.Time) (*collection, error) {
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(dir)
	if err != nil {
		return nil, err
	}
	return &collection{o, dir, s, l, s.Horizon(now)}, nil
}

func (c *collection) run(ctx context.Context, used map[delta.Sum]bool, now time.Time) (Collected, error) {
	out := Collected{Workspace: c.root()}
	lock := flock.New(filepath.Join(c.dir, "gc.lock"), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return out, fmt.Errorf("lock %s: %w", c.dir, err)
	}
	if !got {
		out.Busy = true
		return out, nil
	}
	defer lock.Unlock()
	kept, err := c.Keep.retained(c.ledger, now)
	if err != nil {
		return out, err
	}
	firm, err := c.unfinished()
	if err != nil {
		return out, err
	}
	for sum, is := range kept {
		firm[sum] = firm[sum] || is
	}
	over, err := c.over(firm, used, kept)
	if err != nil {
		return out, err
	}
	swept, err := c.store.Sweep(ctx, c.horizon, func(o store.Object) bool {
		if firm[o.Sum] {
			return true
		}
		_, wanted := kept[o.Sum]
		return (wanted || used[o.Sum]) && !over[o.Sum]
	}, c.DryRun)
	out.Objects, out.Bytes, out.Removed, out.RemovedBytes = swept.Objects, swept.Bytes, swept.Removed, swept.RemovedBytes
	return out, err
}

// over returns what has to go although it is wanted, because there is too much: the
// oldest first.
func (c *collection) over(firm, used, kept map[delta.Sum]bool) (map[delta.Sum]bool, error) {
	all, err := c.store.Oldest()
	if err != nil || c.MaxBytes <= 0 {
		return nil, err
	}
	var wanted int64
	for _, o := range all {
		if _, k := kept[o.Sum]; k || used[o.Sum] || firm[o.Sum] || !o.Time.Before(c.horizon) {
			wanted += o.Size
		}
	}
	gone := map[delta.Sum]bool{}
	for _, o := range all {
		if wanted <= c.MaxBytes {
			break
		}
		if _, k := kept[o.Sum]; (k || used[o.Sum]) && !firm[o.Sum] && o.Time.Before(c.horizon) {
			gone[o.Sum] = true
			wanted -= o.Size
		}
	}
	return gone, nil
}

// unfinished are the contents that journals of transactions name.
func (c *collection) unfinished() (map[delta.Sum]bool, error) {
	sums := map[delta.Sum]bool{}
	paths, err := filepath.Glob(filepath.Join(c.dir, "journal*"))
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		if err := sumsOf(p, sums); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// root is the directory that the workspace is about.
func (c *collection) root() string {
	b, err := atomicfile.Read(filepath.Join(c.dir, "root"))
	if err != nil {
		return c.dir
	}
	return strings.TrimSpace(string(b))
}

// usedIn are the contents that the records of all sessions name.
func usedIn(ctx context.Context, sessions string) (map[delta.Sum]bool, error) {
	sums := map[delta.Sum]bool{}
	err := filepath.WalkDir(sessions, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted meanwhile, or no session yet
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.Type().IsRegular() && (strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".json")):
			return sumsOf(path, sums)
		}
		return nil
	})
	return sums, err
}

// sumsOf adds the sums that a file names.
func sumsOf(path string, sums map[delta.Sum]bool) error {
	f, err := atomicfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		sumsIn(line, func(s delta.Sum) { sums[s] = true })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
