package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kerf/internal/testkit/faults"
)

// TestSEC_E7_ManyPrograms runs 24 edits of one file by as many programs, at most
// eight at a time, and kills every fifth of them while it is at it. An edit that was
// acknowledged is in the file.
func TestSEC_E7_ManyPrograms(t *testing.T) {
	const edits = 24
	kerf, base := builtProgram(t), t.TempDir()
	dir := filepath.Join(base, "w")
	var text strings.Builder
	for i := range edits {
		fmt.Fprintf(&text, "slot %d is free;\n", i)
	}
	putFile(t, filepath.Join(dir, "f"), text.String(), 0o644)
	edit := func(i int, kill bool) (acked bool) {
		args, err := json.Marshal(map[string]string{"file_path": "f",
			"old_string": fmt.Sprintf("slot %d is free;", i), "new_string": fmt.Sprintf("slot %d is taken;", i)})
		if err != nil {
			t.Error(err)
			return false
		}
		cmd := exec.Command(kerf, "tool", "edit_file", string(args))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "KERF_HOME="+filepath.Join(base, "home"), "HOME="+base)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if kill { // in the middle of the commit, with the locks held
			_, err = faults.Run(cmd, faults.Plan{At: 12 + i, Kill: true, Below: []string{base}})
		} else {
			err = cmd.Run()
		}
		if err != nil && !kill && i%5 == 4 && strings.Contains(out.String(), "NOT_FOUND") &&
			holds(t, filepath.Join(dir, "f"), fmt.Sprintf("slot %d is taken;", i)) {
			return true // the killed one had made it, and nobody was left to say so
		}
		if err != nil && !kill && !strings.Contains(out.String(), "VERSION_MISMATCH") {
			t.Errorf("slot %d: %v: %s", i, err, out.String())
		}
		return err == nil
	}
	acked := make([]bool, edits)
	slots := make(chan struct{}, 8)
	var g sync.WaitGroup
	for i := range edits {
		slots <- struct{}{}
		g.Go(func() {
			defer func() { <-slots }()
			for try := 0; try < 200 && !acked[i]; try++ {
				acked[i] = edit(i, i%5 == 4 && try == 0)
				if i%10 == 4 {
					return // killed for good
				}
			}
		})
	}
	g.Wait()
	data, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		taken := line == fmt.Sprintf("slot %d is taken;", i)
		if !taken && (acked[i] || line != fmt.Sprintf("slot %d is free;", i)) {
			t.Errorf("line %d is %q, acknowledged %v", i, line, acked[i])
		}
		if !acked[i] && i%10 != 4 {
			t.Errorf("edit %d never went through", i)
		}
	}
}

// holds reports whether a file has a line.
func holds(t *testing.T, path, line string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return slices.Contains(strings.Split(string(data), "\n"), line)
}
