package repo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Contents finds former contents of files in the object stores of git. The zero value
// is ready; it may be used by several goroutines.
type Contents struct {
	mu    sync.Mutex
	known map[string]map[string][]string // by git directory: the blobs of each path
}

// commitsSearched is how many commits of a path are looked at.
const commitsSearched = 100

// Find returns the content of the file at an absolute path that fits says is the one:
// it is asked with the names and the bytes of blobs that the path has in the index, in
// HEAD, or in the commits of a branch. Only blobs of the given size are looked at, and
// no filter is run.
func (c *Contents) Find(ctx context.Context, path string, size int64,
	fits func(blob string, data []byte) bool) ([]byte, bool) {
	if size > maxOutput {
		return nil, false
	}
	root, gitDir, ok := Find(filepath.Dir(path))
	if !ok {
		return nil, false
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, false
	}
	root, gitDir, rel = inModule(root, gitDir, filepath.ToSlash(rel))
	tried := map[string]bool{}
	try := func(blobs []string) ([]byte, bool) {
		for _, id := range blobs {
			if tried[id] {
				continue
			}
			tried[id] = true
			if data, ok := blobOf(ctx, root, gitDir, id, size); ok && fits(id, data) {
				return data, true
			}
		}
		return nil, false
	}
	if data, ok := try(c.now(ctx, root, gitDir)[rel]); ok {
		return data, true
	}
	return try(before(ctx, root, gitDir, rel))
}

// inModule finds the git directory of a submodule whose work tree is gone.
func inModule(root, gitDir, rel string) (string, string, string) {
	for i, b := range rel {
		if b != '/' {
			continue
		}
		module := filepath.Join(gitDir, "modules", filepath.FromSlash(rel[:i]))
		if _, err := os.Stat(filepath.Join(module, "HEAD")); err == nil {
			return root, module, rel[i+1:]
		}
	}
	return root, gitDir, rel
}

// now are the blobs of the index and of HEAD, by path.
func (c *Contents) now(ctx context.Context, root, gitDir string) map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if blobs, ok := c.known[gitDir]; ok {
		return blobs
	}
	blobs := map[string][]string{}
	for _, args := range [][]string{{"ls-files", "-s", "-z"}, {"ls-tree", "-r", "-z", "HEAD"}} {
		out, err := ask(ctx, root, gitDir, args...)
		if err != nil {
			continue
		}
		for line := range bytes.SplitSeq(out, []byte{0}) {
			facts, path, ok := strings.Cut(string(line), "\t")
			words := strings.Fields(facts)
			if !ok || len(words) != 3 {
				continue
			}
			id := words[1] // "mode id stage", or "mode type id"
			if args[0] == "ls-tree" {
				id = words[2]
			}
			blobs[path] = append(blobs[path], id)
		}
	}
	if c.known == nil {
		c.known = map[string]map[string][]string{}
	}
	c.known[gitDir] = blobs
	return blobs
}

// before are the blobs that a path had in commits.
func before(ctx context.Context, root, gitDir, rel string) []string {
	out, err := ask(ctx, root, gitDir, "log", "--all", "-n", strconv.Itoa(commitsSearched), "--format=", "--raw",
		"--no-abbrev", "--no-renames", "-m", "--", ":(top,literal)"+rel)
	if err != nil {
		return nil
	}
	var blobs []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 5 || !strings.HasPrefix(line, ":") {
			continue
		}
		for _, id := range words[2:4] {
			if strings.Trim(id, "0") != "" && !slices.Contains(blobs, id) {
				blobs = append(blobs, id)
			}
		}
	}
	return blobs
}

func blobOf(ctx context.Context, root, gitDir, id string, size int64) ([]byte, bool) {
	out, err := ask(ctx, root, gitDir, "cat-file", "-s", id)
	if err != nil || strings.TrimSpace(string(out)) != strconv.FormatInt(size, 10) {
		return nil, false
	}
	out, err = ask(ctx, root, gitDir, "cat-file", "blob", id)
	return out, err == nil
}

func ask(ctx context.Context, root, gitDir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	return git(ctx, root, append([]string{"--git-dir=" + gitDir, "--work-tree=" + root}, args...)...)
}
