package search

import (
	"bytes"
	"context"
	"kerf/internal/pathname"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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
			return lookOutside("rg", roots)
		}
		return name
	})
}

// lookOutside finds a program on PATH that lies in none of the roots: what a
// repository brings along is not run.
func lookOutside(name string, roots []string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err == nil && !within(roots, file) && !within(roots, real) {
			return real
		}
	}
	return ""
}

func within(roots []string, file string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return pathname.Inside(root, file) || pathname.Inside(resolved(root), file)
	})
}

func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
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
		"--no-ignore", "--hidden", "--color=never", "--no-messages", "--regexp=" + literal, "--"}
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
