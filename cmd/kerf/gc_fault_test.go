package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/faults"
)

// oldHome is a home with old contents of every kind, most of which nothing wants: small
// ones, many in one file, and a large one that is kept as differences.
type oldHome struct {
	t    *testing.T
	kerf string
	base string
}

func newOldHome(t *testing.T) *oldHome {
	t.Helper()
	h := &oldHome{t: t, kerf: builtProgram(t), base: t.TempDir()}
	h.fill(filepath.Join(h.base, "first"))
	return h
}

func (h *oldHome) command(state, stdin string, args ...string) *exec.Cmd {
	cmd := exec.Command(h.kerf, args...)
	cmd.Dir, cmd.Stdin = filepath.Join(h.base, "w"), strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KERF_HOME="+filepath.Join(state, "home"), "HOME="+state)
	return cmd
}

func (h *oldHome) must(state, stdin string, args ...string) []byte {
	h.t.Helper()
	cmd := h.command(state, stdin, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%v: %v: %s%s", args, err, out, errs.Bytes())
	}
	return out
}

// fill makes the history: 24 small edits of one file, four of a large one, and two of
// twelve files at once.
func (h *oldHome) fill(state string) {
	h.t.Helper()
	large := strings.Repeat("a line of a large file that is told by differences\n", 30_000)
	putFile(h.t, filepath.Join(h.base, "w", "large"), large+"version 0\n", 0o644)
	putFile(h.t, filepath.Join(h.base, "w", "small"), "version 0\n", 0o644)
	putFile(h.t, filepath.Join(state, "home", "config.toml"),
		"[backups]\nmax_backups_per_file = 2\nmin_retention_hours = 0\n", 0o600)
	edit := func(name string, i int) {
		h.must(state, fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n@@\n-version %d\n+version %d\n*** End Patch\n", name,
			i, i+1), "apply-patch")
	}
	for i := range 24 {
		edit("small", i)
	}
	for i := range 4 {
		edit("large", i)
	}
	for version := range 2 {
		var p strings.Builder
		p.WriteString("*** Begin Patch\n")
		for i := range 12 {
			if version == 0 {
				fmt.Fprintf(&p, "*** Add File: many%d\n+file %d\n+version 0\n", i, i)
			} else {
				fmt.Fprintf(&p, "*** Update File: many%d\n@@\n-version 0\n+version 1\n", i)
			}
		}
		h.must(state, p.String()+"*** End Patch\n", "apply-patch")
	}
	old := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(filepath.Join(state, "home"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(p, old, old)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// copy returns another state like the first, ages included.
func (h *oldHome) copy() string {
	h.t.Helper()
	to, err := os.MkdirTemp(h.base, "state")
	if err != nil {
		h.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", filepath.Join(h.base, "first", "home"), to).CombinedOutput(); err != nil {
		h.t.Skipf("cp: %v: %s", err, out)
	}
	return to
}

// shown is what can be told of each entry: its diff, or that contents are missing.
func (h *oldHome) shown(state string) map[int64]string {
	h.t.Helper()
	var entries []struct {
		Seq  int64  `json:"seq"`
		Diff string `json:"diff"`
	}
	if err := json.Unmarshal(h.must(state, "", "log", "--json", "-p", "-n", "1000"), &entries); err != nil {
		h.t.Fatal(err)
	}
	diffs := map[int64]string{}
	for _, e := range entries {
		diffs[e.Seq] = e.Diff
	}
	return diffs
}

func missing(diff string) bool { return strings.Contains(diff, "Binary files") }

// TestGCKilledAtSomeCalls kills a real collection before each system call that changes
// a file. All that a collection in peace keeps can be told right after the kill, and
// the next collection comes to the same end.
func TestGCKilledAtSomeCalls(t *testing.T) {
	h := newOldHome(t)
	all := h.shown(filepath.Join(h.base, "first"))
	peace := h.copy()
	run := func(state string, p faults.Plan) ([]faults.Call, error) {
		t.Helper()
		p.Below = []string{state}
		calls, err := faults.Run(h.command(state, "", "gc"), p)
		if errors.Is(err, faults.ErrUnavailable) {
			t.Skip(err)
		}
		return calls, err
	}
	calls, err := run(peace, faults.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	want := h.shown(peace)
	kept, lost := 0, 0
	for seq, diff := range want {
		if !missing(diff) {
			kept++
			if diff != all[seq] || diff == "" {
				t.Fatalf("entry %d: %q before, %q after a collection", seq, all[seq], diff)
			}
		} else {
			lost++
		}
	}
	if kept < 3 || lost < 15 || len(calls) < 30 {
		t.Fatalf("%d entries can be told after a collection, %d not any more, %d calls", kept, lost, len(calls))
	}
	points := 0
	for k := 1; k <= len(calls); k += step(len(calls), 8) {
		state := h.copy()
		done, err := run(state, faults.Plan{At: k, Kill: true})
		if err == nil && len(done) >= k {
			t.Fatalf("call %d: the collection was not killed", k)
		}
		for seq, diff := range h.shown(state) {
			if diff != want[seq] && !missing(want[seq]) {
				t.Fatalf("killed at call %d of %d (%s): entry %d is lost: %s", k, len(calls), last(done), seq, diff)
			}
		}
		h.must(state, "", "gc")
		for seq, diff := range h.shown(state) {
			if diff != want[seq] {
				t.Fatalf("killed at call %d of %d (%s), then collected: entry %d is\n%s\nwant\n%s", k, len(calls), last(done),
					seq, diff, want[seq])
			}
		}
		points++
		_ = os.RemoveAll(state)
	}
	t.Logf("%d of %d calls tried; of %d entries %d can be told", points, len(calls), len(want), kept)
}
