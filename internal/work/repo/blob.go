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
