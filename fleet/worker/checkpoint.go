package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"kerf/fleet/blob"
	"kerf/fleet/task"
)

// A checkpoint is what another worker needs to go on with a task: the files of the tree as
// git objects that the base lacks, and those of Kerf's home and of the tree's repository.
type checkpoint struct {
	Place  int                 `json:"place"`
	Base   string              `json:"base"`
	Tree   string              `json:"tree"`
	Packs  [][]string          `json:"packs,omitempty"` // in their order; each has parts
	Files  map[string]keptFile `json:"files"`           // by path below the task's directory
	Event  uint64              `json:"event"`
	Rounds int                 `json:"rounds"`
	// Over is what came of the run when its turn was over.
	Over *task.Ran `json:"over,omitempty"`
}

type keptFile struct {
	Mode  fs.FileMode `json:"mode"`
	Parts []string    `json:"parts"`
	size  int64
	time  time.Time
}

// partSize is how large the parts are in which files are kept, in bytes: what only grows at
// its end, as records do, shares all but its last part with the checkpoint before.
const partSize = 1 << 20

// packsMost is after how many packs a checkpoint has one for all of it again.
const packsMost = 50

// Checkpoints is where the names of a task's checkpoints begin in the store.
func Checkpoints(id string) string { return "tasks/" + id + "/checkpoints/" }

// CheckpointParts are the contents that a checkpoint names.
func CheckpointParts(ctx context.Context, store *blob.Store, hash string) ([][]string, error) {
	var c checkpoint
	if err := store.GetJSON(ctx, hash, &c); err != nil {
		return nil, err
	}
	lists := c.Packs
	for _, f := range c.Files {
		lists = append(lists, f.Parts)
	}
	return lists, nil
}

// lastCheckpoint is the newest one of the last place that made one.
func (w *Worker) lastCheckpoint(ctx context.Context, id string) (*checkpoint, error) {
	name, err := w.Store.Last(ctx, Checkpoints(id))
	if err != nil || name == "" {
		return nil, err
	}
	hash, err := w.Store.Follow(ctx, name)
	if err != nil || hash == "" {
		return nil, err
	}
	c := new(checkpoint)
	return c, w.Store.GetJSON(ctx, hash, c)
}

// held runs while the session waits before a call.
func (s *session) held(ctx context.Context) {
	if time.Since(s.saved) < s.worker.Every {
		return
	}
	s.try(ctx, nil)
}

// try keeps a checkpoint. Without it a lost worker costs more, but nothing is wrong.
func (s *session) try(ctx context.Context, over *task.Ran) {
	if err := s.save(ctx, over); err != nil && ctx.Err() == nil {
		s.worker.Log.Warn("no checkpoint", "task", s.task.ID, "error", err)
	}
}

// save keeps a checkpoint, unless another call is at work.
func (s *session) save(ctx context.Context, over *task.Ran) error {
	done, busy := s.files.progress()
	if busy > 1 {
		return nil
	}
	c, err := s.worker.capture(ctx, s.files, s.place.Base, s.checkpoint)
	if err != nil {
		return err
	}
	c.Place, c.Base, c.Event, c.Rounds, c.Over = s.place.Number, s.place.Base, s.last.Load(), done.rounds, over
	hash, err := s.worker.Store.PutJSON(ctx, c)
	if err != nil {
		return err
	}
	// Of a place the last one counts, also over several runs.
	name := fmt.Sprintf("%s%04d-%016d", Checkpoints(s.task.ID), s.place.Number, time.Now().UnixMicro())
	if err = s.worker.Store.Point(ctx, name, hash); err != nil {
		return err
	}
	if s.former != "" {
		err = s.worker.Store.Delete(ctx, s.former)
	}
	s.checkpoint, s.former, s.saved = c, name, time.Now()
	return err
}

// capture keeps the files of a task. What is as in the checkpoint before is not read again.
func (w *Worker) capture(ctx context.Context, f files, base string, before *checkpoint) (*checkpoint, error) {
	c := &checkpoint{Files: map[string]keptFile{}}
	var err error
	if c.Tree, err = f.snapshot(ctx); err != nil {
		return nil, err
	}
	known := base
	if before != nil && len(before.Packs) < packsMost {
		c.Packs, known = before.Packs, before.Tree
	}
	if before == nil || before.Tree != c.Tree {
		parts, err := w.pack(ctx, f, c.Tree, known)
		if err != nil {
			return nil, err
		}
		if parts != nil {
			c.Packs = append(c.Packs[:len(c.Packs):len(c.Packs)], parts)
		}
	}
	for _, part := range []string{"home/sessions", "home/workspaces", "tree/.git"} {
		if err := w.keep(ctx, f, part, before, c.Files); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// snapshot writes the tree's files as git objects and returns the id of the tree.
func (f files) snapshot(ctx context.Context) (string, error) {
	if _, err := f.git.Run(ctx, nil, "add", "-A", "--ignore-errors", "."); err != nil {
		return "", err
	}
	return f.git.Line(ctx, "write-tree")
}

// pack keeps the objects of a tree that another one lacks.
func (w *Worker) pack(ctx context.Context, f files, tree, known string) ([]string, error) {
	objects, err := f.git.Run(ctx, nil, "rev-list", "--objects", tree, "--not", known)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(objects)) == 0 {
		return nil, nil
	}
	data, err := f.git.Run(ctx, objects, "pack-objects", "-q", "--stdout", "--threads=1", "--window=0")
	if err != nil {
		return nil, err
	}
	return w.putParts(ctx, data)
}

func (w *Worker) putParts(ctx context.Context, data []byte) (parts []string, err error) {
	for {
		n := min(len(data), partSize)
		hash, err := w.Store.Put(ctx, data[:n])
		if err != nil {
			return nil, err
		}
		if parts, data = append(parts, hash), data[n:]; len(data) == 0 {
			return parts, nil
		}
	}
}

func (w *Worker) getParts(ctx context.Context, parts []string) (data []byte, err error) {
	for _, hash := range parts {
		part, err := w.Store.Get(ctx, hash)
		if err != nil {
			return nil, err
		}
		data = append(data, part...)
	}
	return data, nil
}

// kept reports whether a file below Kerf's home or a repository belongs to what is kept:
// not locks, what is reserved, what each worker has of its own, and what lies in the cache.
func kept(rel string) bool {
	base := filepath.Base(rel)
	return !strings.HasSuffix(base, ".lock") && base != "lock" && base != "reserve" && base != "alternates" &&
		rel != "tree/.git/config" && rel != "home/workspaces/collected"
}

// keep keeps the files below one directory. Commands that run on may change the tree's
// repository meanwhile, so no name may lead out of it.
func (w *Worker) keep(ctx context.Context, f files, part string, before *checkpoint, into map[string]keptFile) error {
	root, err := os.OpenRoot(filepath.Join(f.dir, part))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel := filepath.Join(part, path)
		if err != nil || !e.Type().IsRegular() || !kept(rel) {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil // removed meanwhile
		}
		k := keptFile{Mode: info.Mode().Perm(), size: info.Size(), time: info.ModTime()}
		if before != nil {
			if old, ok := before.Files[rel]; ok && old.size == k.size && old.time.Equal(k.time) {
				into[rel] = old
				return nil
			}
		}
		data, err := readFile(root, path)
		if err != nil || data == nil {
			return err
		}
		k.Parts, err = w.putParts(ctx, data)
		into[rel] = k
		return err
	})
}

// keptLimit bounds a file beside the tree's own, in bytes: an object of git that a command
// made, or a record. A larger one is not kept.
const keptLimit = 512 << 20

// readFile reads a regular file that no link leads to; nil for anything else.
func readFile(root *os.Root, path string) ([]byte, error) {
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > keptLimit {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, keptLimit))
	if data == nil {
		data = []byte{}
	}
	return data, err
}

// restore brings the files of a task to where a checkpoint has them.
func (w *Worker) restore(ctx context.Context, t task.Task, f files, c *checkpoint) error {
	for _, parts := range c.Packs {
		data, err := w.getParts(ctx, parts)
		if err != nil {
			return err
		}
		if _, err = f.git.Run(ctx, data, "index-pack", "--stdin", "--fix-thin"); err != nil {
			return err
		}
	}
	if _, err := f.git.Run(ctx, nil, "read-tree", "-u", "--reset", c.Tree); err != nil {
		return err
	}
	for rel, k := range c.Files {
		if !filepath.IsLocal(rel) || !kept(rel) {
			return hopeless("the checkpoint of task %s names %q", t.ID, rel)
		}
		data, err := w.getParts(ctx, k.Parts)
		if err != nil {
			return err
		}
		path := filepath.Join(f.dir, rel)
		if err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, k.Mode.Perm()|0o600)); err != nil {
			return err
		}
	}
	return nil
}
