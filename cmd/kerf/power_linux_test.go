package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/long"
	"kerf/internal/testkit/modeltest"
	"kerf/internal/testkit/powerloss"
)

// electric is a session of the real program whose calls are watched, and power lost.
type electric struct {
	t                     *testing.T
	kerf, base, dir, home string
	server                *modeltest.Server
	told                  atomic.Bool // the model was told of the change
}

// outage is a state that a loss of power left, and what had been said before.
type outage struct {
	what        string
	state       powerloss.State
	told, ended bool
}

func newElectric(t *testing.T) *electric {
	t.Helper()
	e := &electric{t: t, kerf: builtProgram(t), base: t.TempDir()}
	e.dir, e.home = filepath.Join(e.base, "w"), filepath.Join(e.base, "home")
	putFile(t, filepath.Join(e.dir, "old.txt"), "one\n", 0o644)
	putFile(t, filepath.Join(e.dir, "gone.txt"), "going\n", 0o644)
	putFile(t, filepath.Join(e.dir, "moved.txt"), "kept\nchanged\n", 0o755)
	if err := os.MkdirAll(e.home, 0o700); err != nil {
		t.Fatal(err)
	}
	patch := "*** Begin Patch\n*** Update File: old.txt\n@@\n-one\n+two\n*** Add File: new/made.txt\n+made\n" +
		"*** Delete File: gone.txt\n*** Update File: moved.txt\n*** Move to: to/there.txt\n@@\n-changed\n+new\n*** End Patch\n"
	e.server = modeltest.Start(t, modeltest.Answer(modeltest.Call("apply_patch", map[string]any{"input": patch})),
		modeltest.Answer(modeltest.Message("done")))
	requests := 0
	e.server.OnRequest = func(*modeltest.Request) {
		requests++
		e.told.Store(requests > 1)
	}
	return e
}

func (e *electric) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.kerf, append([]string{"-C", e.dir}, args...)...)
	cmd.Env = append(os.Environ(), "KERF_HOME="+e.home, "HOME="+e.base)
	return cmd
}

// exec is the run of the session.
func (e *electric) exec() *exec.Cmd {
	return e.command("exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "-m", "m",
		"-c", "model_provider=mock", "-c", "model_providers.mock.name=mock", "-c", "model_providers.mock.wire_api=responses",
		"-c", "model_providers.mock.base_url="+e.server.URL, "go")
}

// run carries the session out and gathers what a loss of power before each call might leave.
func (e *electric) run(see func(what string, ended bool, d *powerloss.Disk)) {
	e.t.Helper()
	d, err := powerloss.New(e.base)
	if err != nil {
		e.t.Fatal(err)
	}
	var watching error
	n := 0
	plan := faults.Plan{Below: []string{e.base}, See: func(c faults.Call) {
		n++
		if err := d.Observe(); err != nil {
			watching = errors.Join(watching, err)
			return
		}
		see(fmt.Sprintf("before call %d (%s)", n, c), false, d)
		switch {
		case c.Name == "syncfs":
			d.FlushAll()
		case c.Flush():
			d.Flush(c.Path)
		}
	}}
	cmd := e.exec()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	_, err = faults.Run(cmd, plan)
	if errors.Is(err, faults.ErrUnavailable) {
		e.t.Skip(err)
	}
	if err := errors.Join(err, watching, d.Observe()); err != nil {
		e.t.Fatalf("%v\n%s", err, out.String())
	}
	see("after the end", true, d)
}

// TestPowerLossOfASession loses power before each call of the real program by which it changes
// files, with what has not been flushed there, lost, or there in part. After a recovery all files
// are old or all are new; what the model was told of is new, and can be taken back; the record of
// a session that ended is whole. By default a part of the states is tried, with KERF_LONG many more.
func TestPowerLossOfASession(t *testing.T) {
	e := newElectric(t)
	old := treeOf(t, e.dir)
	r := rand.New(rand.NewPCG(1, 2))
	before, after := long.Of(1000, 500, 30), long.Of(1000, 500, 30)
	kinds := map[[2]bool][]outage{}
	seen, tried := map[[2]bool]int{}, map[string]bool{}
	e.run(func(what string, ended bool, d *powerloss.Disk) {
		kind := [2]bool{e.told.Load(), ended}
		room := before
		if kind[0] {
			room = after
		}
		d.Losses(r, ended, func(how string, s powerloss.State) {
			if seen[kind]++; len(kinds[kind]) >= room && r.IntN(seen[kind]) >= room {
				return
			}
			if key := s.Key(); tried[key] {
				return
			} else {
				tried[key] = true
			}
			o := outage{what + ", " + how, s, kind[0], ended}
			if len(kinds[kind]) < room {
				kinds[kind] = append(kinds[kind], o)
			} else {
				kinds[kind][r.IntN(room)] = o
			}
		})
	})
	next := treeOf(t, e.dir)
	olds, news := 0, 0
	for _, list := range kinds {
		for _, o := range list {
			if e.after(o, old, next) {
				news++
			} else {
				olds++
			}
		}
	}
	t.Logf("%d states after a loss of power of %v: %d old, %d new", olds+news, seen, olds, news)
	if olds == 0 || news == 0 || len(kinds) != 3 {
		t.Errorf("%d old, %d new, %d kinds of moments: not all came up", olds, news, len(kinds))
	}
}

// after makes what was left, and looks at what the program makes of it.
func (e *electric) after(o outage, old, next map[string]string) (isNew bool) {
	t := e.t
	t.Helper()
	if err := o.state.Build(); err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := e.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: kerf %s: %v: %s", o.what, args[0], err, out)
		}
	}
	must("recover")
	got := treeOf(t, e.dir)
	switch {
	case maps.Equal(got, next):
		isNew = true
	case !maps.Equal(got, old) || o.told:
		t.Fatalf("%s: told %v\n-old +got\n%s\n-new +got\n%s", o.what, o.told, cmp.Diff(old, got), cmp.Diff(next, got))
	}
	if o.ended {
		must("verify")
	}
	if isNew {
		must("undo", "--json")
		if d := cmp.Diff(old, treeOf(t, e.dir)); d != "" {
			t.Fatalf("%s: after undo (-want +got):\n%s", o.what, d)
		}
	}
	return isNew
}

// TestAShortRunFlushesOnce bounds what a short run waits for: what has to be on the disk when the
// end of a turn is told is flushed, and nothing of it again and again.
func TestAShortRunFlushesOnce(t *testing.T) {
	e := newElectric(t)
	e.server = modeltest.Start(t, modeltest.Answer(modeltest.Message("done")))
	calls, err := faults.Run(e.exec(), faults.Plan{Below: []string{e.base}})
	if errors.Is(err, faults.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var flushed []string
	for _, c := range calls {
		if c.Flush() {
			flushed = append(flushed, c.Path)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(e.home, "sessions", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	for _, path := range []string{filepath.Join(dirs[0], "rollout.jsonl"), dirs[0], filepath.Dir(dirs[0]), e.home} {
		if !slices.Contains(flushed, path) {
			t.Errorf("%s was not flushed", path)
		}
	}
	if len(flushed) > 5 { // these, and the metadata
		t.Errorf("%d flushes:\n%s", len(flushed), strings.Join(flushed, "\n"))
	}
}
