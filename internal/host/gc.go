package host

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

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

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

// Collect removes from the stores of all workspaces what neither the ledgers within
// the retention of the configuration, nor sessions, nor unfinished transactions refer
// to. Beyond backups.max_bytes the oldest goes too, but never what is younger than
// min_retention_hours or belongs to the last turn.
func (h *Host) Collect(ctx context.Context, dry bool) ([]Collected, error) {
	dirs, err := os.ReadDir(filepath.Join(h.Config.Home, "workspaces"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var stores []*collection
	for _, d := range dirs {
		dir := filepath.Join(h.Config.Home, "workspaces", d.Name())
		if _, err := os.Stat(filepath.Join(dir, "store")); err != nil {
			continue
		}
		c, err := h.collection(dir, now)
		if err != nil {
			return nil, err
		}
		stores = append(stores, c)
	}
	// The horizons are fixed by now: what is referred to from here on is younger.
	used, err := h.usedBySessions(ctx)
	if err != nil {
		return nil, err
	}
	var done []Collected
	for _, c := range stores {
		one, err := c.run(ctx, h.retention(), used, now, dry)
		if err != nil {
			return done, err
		}
		done = append(done, one)
	}
	return done, nil
}

// How often Kerf collects by itself, and how long it may take at the end of a run.
// What is left then is collected the next day.
const (
	collectEvery = 24 * time.Hour
	collectAtEnd = 2 * time.Second
)

// CollectIfDue collects once a day, for a bounded time, so that stores do not grow
// without end. Trouble is left to kerf gc to tell.
func (h *Host) CollectIfDue(ctx context.Context) {
	stamp := filepath.Join(h.Config.Home, "workspaces", "collected")
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
	_, _ = h.Collect(ctx, false)
}

// retention is the configured one.
func (h *Host) retention() changes.Retention {
	b := h.Config.Backups
	return changes.Retention{PerFile: b.MaxPerFile, Least: time.Duration(b.MinHours) * time.Hour, Most: time.Duration(b.MaxDays) * 24 * time.Hour}
}

// collection is the store of one workspace about to be collected.
type collection struct {
	dir     string
	store   *store.Store
	ledger  *ledger.Ledger
	horizon time.Time
	most    int64 // bytes
}

func (h *Host) collection(dir string, now time.Time) (*collection, error) {
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(dir)
	if err != nil {
		return nil, err
	}
	return &collection{dir, s, l, s.Horizon(now), h.Config.Backups.MaxBytes}, nil
}

func (c *collection) run(ctx context.Context, keep changes.Retention, used map[delta.Sum]bool, now time.Time, dry bool) (Collected, error) {
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
	kept, err := changes.Reader{Ledger: c.ledger, Images: c.store}.Retained(keep, now)
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
	}, dry)
	out.Objects, out.Bytes, out.Removed, out.RemovedBytes = swept.Objects, swept.Bytes, swept.Removed, swept.RemovedBytes
	return out, err
}

// over returns what has to go although it is wanted, because there is too much: the
// oldest first.
func (c *collection) over(firm, used, kept map[delta.Sum]bool) (map[delta.Sum]bool, error) {
	all, err := c.store.Oldest()
	if err != nil || c.most <= 0 {
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
		if wanted <= c.most {
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
	b, err := os.ReadFile(filepath.Join(c.dir, "root"))
	if err != nil {
		return c.dir
	}
	return strings.TrimSpace(string(b))
}

// usedBySessions are the contents that the records of all sessions name.
func (h *Host) usedBySessions(ctx context.Context) (map[delta.Sum]bool, error) {
	sums := map[delta.Sum]bool{}
	err := filepath.WalkDir(h.SessionsDir(), func(path string, d fs.DirEntry, err error) error {
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
	f, err := os.Open(path)
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
		for _, s := range changes.SumsIn(line) {
			sums[s] = true
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
