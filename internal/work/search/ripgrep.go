package search

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kerf/internal/work/proc"
)

// ripgrepFrom is the number of files below which starting rg costs more than it
// saves.
const ripgrepFrom = 5000

// ripgrep returns a function that finds the rg to run, once, or "".
func ripgrep(name string, roots []string) func() string {
	return sync.OnceValue(func() string {
		switch name {
		case "-":
			return ""
		case "":
			file, _ := proc.Program("rg", roots) // what a repository brings along is not run
			return file
		}
		return name
	})
}

// candidates leaves of dirs the files that contain literal, as rg finds them.
// Every one is searched again by the pattern, so rg need only be asked for what
// all regexp engines agree on. If rg cannot do it, all files stay.
func candidates(ctx context.Context, rg string, q Query, literal string, dirs map[string][]string) map[string][]string {
	if strings.ContainsAny(literal, "\n\r\x00") {
		return dirs
	}
	found := make(map[string][]string)
	var batch []string
	size := 0
	flush := func() bool {
		if len(batch) == 0 {
			return true
		}
		names, ok := runRipgrep(ctx, rg, q.Dir, literal, batch)
		for _, name := range names {
			found[path.Dir(name)] = append(found[path.Dir(name)], path.Base(name))
		}
		batch, size = batch[:0], 0
		return ok
	}
	for dir, names := range dirs {
		for _, name := range names {
			batch = append(batch, "./"+path.Join(dir, name))
			if size += len(dir) + len(name) + 4; size > maxArgs && !flush() {
				return dirs
			}
		}
	}
	if !flush() {
		return dirs
	}
	return found
}

// runRipgrep names the files that contain literal, cleaned.
func runRipgrep(ctx context.Context, rg, dir, literal string, files []string) ([]string, bool) {
	args := []string{"--no-config", "--files-with-matches", "--null", "--fixed-strings", "--text",
		"--no-ignore", "--hidden", "--color=never", "--no-messages",
		"--regexp=" + literal, "--"}
	cmd := exec.CommandContext(ctx, rg, append(args, files...)...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "RIPGREP_CONFIG_PATH=")
	})
	out, err := cmd.Output()
	// 1 means that nothing was found, 2 that some file could not be read: that one
	// might have matched.
	if err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1) {
		return nil, false
	}
	var names []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if len(name) > 0 {
			names = append(names, path.Clean(filepath.ToSlash(string(name))))
		}
	}
	return names, true
}
