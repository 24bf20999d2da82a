//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"kerf/internal/model/script"
	"kerf/internal/testkit/modeltest"
)

// patchFiles is how many files of a few kilobytes the patch changes.
const patchFiles = 1000

// patchRuns is how often the patch is applied by each.
const patchRuns = 7

// memory is a file system that waits for no disk, where there is one.
const memory = "/dev/shm"

// patches applies one patch by kerf and by git in turn. On a disk kerf flushes what it
// does and git does not; "git, flushed" is git followed by sync. In memory nobody
// waits for a disk.
func (b *bencher) patches() error {
	fmt.Printf("\npatch of %d files, ms            kerf       git  git, flushed     ratio  ratio, flushed\n", patchFiles)
	for _, at := range []struct{ name, dir string }{{"disk", b.tmp}, {"memory", memory}} {
		dir, err := os.MkdirTemp(at.dir, "kerf-bench-")
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = b.patchesIn(at.name, dir)
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bencher) patchesIn(name, dir string) error {
	programs := []struct {
		tree  string
		flush bool
		args  []string
	}{{"kerf", false, []string{b.kerf, "apply", "-"}}, {"git", false, []string{"git", "apply", "-"}},
		{"flushed", true, []string{"git", "apply", "-"}}}
	for _, p := range programs {
		if err := plant(filepath.Join(dir, p.tree)); err != nil {
			return err
		}
	}
	took := make([][]time.Duration, len(programs))
	for version := 1; version <= patchRuns+1; version++ {
		text := patch(version)
		for i, p := range programs {
			run := func(args ...string) error {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir, cmd.Stdin = filepath.Join(dir, p.tree), bytes.NewReader(text)
				cmd.Env = append(os.Environ(), "KERF_HOME="+filepath.Join(dir, "home"), "GIT_CONFIG_GLOBAL="+os.DevNull)
				if out, err := cmd.CombinedOutput(); err != nil {
					return fmt.Errorf("%v: %w: %.200s", args, err, out)
				}
				return nil
			}
			began := time.Now()
			err := run(p.args...)
			if err == nil && p.flush {
				err = run("sync")
			}
			if err != nil {
				return err
			}
			if version > 1 { // the first one warms up
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	kerf, git, flushed := took[0], took[1], took[2]
	fmt.Printf("%-28s %9.1f %9.1f  %12.1f  %8.2f  %14.2f\n", name, ms(median(kerf)), ms(median(git)), ms(median(flushed)),
		paired(kerf, git), paired(kerf, flushed))
	return nil
}

// paired is the median of the ratios of runs that followed each other.
func paired(a, b []time.Duration) float64 {
	var ratios []time.Duration
	for i := range a {
		ratios = append(ratios, time.Duration(ratio(a[i], b[i])*1e6))
	}
	return float64(median(ratios)) / 1e6
}

func fileName(i int) string { return fmt.Sprintf("d%02d/f%d.txt", i%20, i) }

func plant(root string) error {
	for i := range patchFiles {
		var text bytes.Buffer
		for line := range 100 {
			if line == 50 {
				text.WriteString("version 0\n")
				continue
			}
			fmt.Fprintf(&text, "file %d, line %d: the quick brown fox\n", i, line)
		}
		name := filepath.Join(root, fileName(i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	out, err := exec.Command("git", "init", "-q", root).CombinedOutput()
	if err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	return nil
}

// patch changes the version before to version.
func patch(version int) []byte {
	var p bytes.Buffer
	for i := range patchFiles {
		fmt.Fprintf(&p, "--- a/%[1]s\n+++ b/%[1]s\n@@ -50,3 +50,3 @@\n file %[2]d, line 49: the quick brown fox\n-version "+
			"%[3]d\n+version %[4]d\n file %[2]d, line 51: the quick brown fox\n", fileName(i), i, version-1, version)
	}
	return p.Bytes()
}

// largeEdits edits a file of 10 MB by the tool, round after round.
func (b *bencher) largeEdits() error {
	const rounds, line = 20, "a line of the file that says little, but says it\n"
	fmt.Printf("\nedit of a file of 10 MB, ms per round\n")
	for _, at := range []struct{ name, dir string }{{"disk, flushed", b.tmp}, {"memory", memory}} {
		dir, err := os.MkdirTemp(at.dir, "kerf-bench-")
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("git init: %w: %s", err, out)
		}
		file := filepath.Join(dir, "file.txt")
		half := bytes.Repeat([]byte(line), 5<<20/len(line))
		err = os.WriteFile(file, bytes.Join([][]byte{half, half}, []byte("line 0\n")), 0o644)
		var answers []script.Round
		for k := range rounds {
			answers = append(answers, script.Round{Items: []script.Item{modeltest.Call("edit_file", map[string]any{
				"file_path": file, "old_string": fmt.Sprintf("line %d\n", k), "new_string": fmt.Sprintf("line %d\n", k+1)})}})
		}
		answers = append(answers, script.Round{Items: []script.Item{{Message: "done"}}})
		var r result
		if err == nil {
			r, err = b.once(answers, dir, func(dir, base string) *exec.Cmd {
				cmd := b.kerfArgs("workspace-write")(dir, base)
				cmd.Env = append(cmd.Env, "KERF_HOME="+filepath.Join(dir, ".home"))
				return cmd
			})
		}
		var whole []byte
		if err == nil {
			whole, err = os.ReadFile(file)
		}
		if err == nil && !bytes.Contains(whole, fmt.Appendf(nil, "line %d\n", rounds)) {
			err = io.ErrUnexpectedEOF
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return fmt.Errorf("edit of a large file: %w", err)
		}
		fmt.Printf("%-28s %9.1f   peak %.0f MB\n", at.name, ms(median(r.gaps)), float64(r.peak)/1e6)
	}
	return nil
}
