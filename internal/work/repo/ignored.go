package repo

import (
	"context"
	"errors"
	"strings"
)

// Ignored returns which of the absolute paths, all below root, git ignores there. Outside
// of a repository it ignores none.
func Ignored(ctx context.Context, root string, paths []string) (map[string]bool, error) {
	are := map[string]bool{}
	if _, _, ok := Find(root); !ok {
		return are, nil
	}
	out, err := gitTold(ctx, root, nil, strings.NewReader(strings.Join(paths, "\x00")), "check-ignore", "-z", "--stdin")
	var exit *exitError
	if err != nil && (!errors.As(err, &exit) || exit.code != 1) { // 1 says that none is
		return are, err
	}
	for _, p := range strings.Split(string(out), "\x00") {
		if p != "" {
			are[p] = true
		}
	}
	return are, nil
}
