package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/fleet/bundle"
	"kerf/fleet/git"
	"kerf/fleet/task"
	"kerf/internal/text/visible"
)

// ResultPrefix is how the names of a task's bundles begin, below those of the task. Each place has its own: one that the
// engine gave up may publish late, and what it publishes takes no other's place. The last name is that of the result.
const ResultPrefix = "result"

// ResultName is the name of the bundle that a place published.
func ResultName(id string, place int) string {
	return fmt.Sprintf("tasks/%s/%s-%04d", id, ResultPrefix, place)
}

// Publish is [flow.Activities]. The bundle has its name only when all of it is there.
func (w *Worker) Publish(ctx context.Context, t task.Task, p task.Place, r task.Result) (_ task.Result, err error) {
	ctx, done, err := w.work(ctx, t.ID)
	if err != nil {
		return r, err
	}
	defer func() { done(err) }()
	defer w.alive(ctx, nothing)()
	f := w.files(t.ID)
	b := bundle.Bundle{Task: t.ID, Repository: t.Repository, Base: p.Base, Made: time.Now().UTC(), Worker: w.Name,
		Session: r.Session, Prompt: t.Prompt, Outcome: r.Outcome, Problem: r.Problem, Message: r.Message, Checks: r.Checks}
	if b.Tree, err = f.snapshot(ctx); err != nil {
		return r, err
	}
	if err = w.changes(ctx, f, &b); err != nil {
		return r, err
	}
	if err = w.record(ctx, f, &b); err != nil {
		return r, err
	}
	if err = b.Seal(); err != nil {
		return r, err
	}
	if r.Bundle, err = w.Store.PutJSON(ctx, b); err != nil {
		return r, err
	}
	r.Tree, r.Files = b.Tree, len(b.Changes)
	if err = w.Store.Point(ctx, ResultName(t.ID, p.Number), r.Bundle); err == nil {
		w.trouble.well()
	}
	return r, err
}

// changes fills in what differs, the patch and the causes.
func (w *Worker) changes(ctx context.Context, f files, b *bundle.Bundle) error {
	raw, err := f.git.Run(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", b.Base, b.Tree)
	if err != nil {
		return err
	}
	if b.Changes, err = parse(raw); err != nil || len(b.Changes) == 0 {
		return err
	}
	patch, err := f.git.Run(ctx, nil, "diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
		"--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", b.Base, b.Tree)
	if err != nil {
		return err
	}
	if b.Patch, err = w.putParts(ctx, patch); err != nil {
		return err
	}
	causes := w.causes(ctx, f)
	for i, c := range b.Changes {
		b.Changes[i].Cause, b.Changes[i].Certainty = "unknown", "unproven"
		if k, ok := causes[filepath.Join(f.tree, string(c.Path))]; ok {
			b.Changes[i].Cause, b.Changes[i].Certainty, b.Changes[i].Calls = k.cause, k.certainty, k.calls
		}
		if c.After.Mode == "160000" {
			b.Left = append(b.Left, visible.Plain(string(c.Path))+": a repository of its own; its files are not in the bundle")
		}
	}
	return nil
}

// parse reads git diff-tree -r -z --raw.
func parse(raw []byte) (list []bundle.Change, err error) {
	fields := bytes.Split(bytes.TrimSuffix(raw, []byte{0}), []byte{0})
	for i := 0; i+1 < len(fields); i += 2 {
		head := strings.Fields(strings.TrimPrefix(string(fields[i]), ":"))
		if len(head) != 5 {
			return nil, fmt.Errorf("git diff-tree says %q", fields[i])
		}
		list = append(list, bundle.Change{Path: bundle.Name(fields[i+1]), Before: side(head[0], head[2]), After: side(head[1], head[3])})
	}
	return list, nil
}

func side(mode, blob string) bundle.Side {
	if mode == "000000" {
		return bundle.Side{}
	}
	return bundle.Side{Mode: mode, Blob: blob}
}

type cause struct {
	cause, certainty string
	calls            []string
}

// causes asks the task's ledger who changed which path. The weakest certainty counts. A
// ledger that cannot be read leaves the causes unknown.
func (w *Worker) causes(ctx context.Context, f files) map[string]cause {
	cmd := exec.CommandContext(ctx, w.Kerf, append(w.overrides(f, false), "log", "--json", "--limit", "0")...)
	cmd.Dir, cmd.Env = f.tree, append(git.Env(), "KERF_HOME="+f.home)
	out, err := cmd.Output()
	var entries []struct {
		Cause, Certainty, Call string
		Changes                []struct{ Path bundle.Name }
	}
	if err != nil || json.Unmarshal(out, &entries) != nil {
		w.Log.Warn("the ledger cannot be read", "dir", f.dir, "error", err)
		return nil
	}
	all := map[string]cause{}
	for _, e := range entries {
		for _, c := range e.Changes {
			path := string(c.Path)
			k, known := all[path]
			switch {
			case !known:
				k.cause, k.certainty = e.Cause, e.Certainty
			case k.cause != e.Cause:
				k.cause = "both"
			}
			k.certainty = weaker(k.certainty, e.Certainty)
			if e.Call != "" && !slices.Contains(k.calls, e.Call) {
				k.calls = append(k.calls, e.Call)
			}
			all[path] = k
		}
	}
	return all
}

func weaker(a, b string) string {
	for _, c := range []string{"unproven", "outside", "proven"} {
		if a == c || b == c {
			return c
		}
	}
	return "unproven"
}

// record keeps the session's own files.
func (w *Worker) record(ctx context.Context, f files, b *bundle.Bundle) error {
	b.Record = map[string][]string{}
	for _, pattern := range []string{"sessions/*/rollout.jsonl", "sessions/*/metadata.json", "workspaces/*/ledger.jsonl"} {
		names, _ := filepath.Glob(filepath.Join(f.home, pattern))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(f.home, name)
			if b.Record[rel], err = w.putParts(ctx, data); err != nil {
				return err
			}
		}
	}
	return nil
}
