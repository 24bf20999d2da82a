package repo

import (
	"context"
	"strings"
)

// Blob returns the content whose object name begins with id, if the repository
// of cwd has it and the name is not ambiguous. No filter is run.
func Blob(ctx context.Context, cwd, id string) ([]byte, bool) {
	root, _, ok := Find(cwd)
	if !ok || len(id) < 4 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	out, err := git(ctx, root, "cat-file", "blob", id)
	if err != nil {
		return nil, false
	}
	return out, true
}

// Entry is one file of a commit: its path from the root of the working tree, its mode and
// the name of its content.
type Entry struct{ Path, Mode, ID string }

// Files lists the files of a commit.
func Files(ctx context.Context, cwd, commit string) ([]Entry, error) {
	root, _, ok := Find(cwd)
	if !ok {
		return nil, ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, treeLimit)
	defer cancel()
	out, err := git(ctx, root, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if parts := strings.Fields(about); len(parts) == 3 && parts[1] == "blob" {
			list = append(list, Entry{path, parts[0], parts[2]})
		}
	}
	return list, nil
}
