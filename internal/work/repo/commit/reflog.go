package commit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kerf/internal/work/repo"
)

// Made is a commit as the reflog of HEAD tells it: At is HEAD@{N}.
type Made struct {
	ID, At, Subject string
	When            time.Time
}

// Reflog lists the commits that HEAD came to by a commit, newest first, 200 at most. Without
// git there are none.
func Reflog(ctx context.Context, dir string) []Made {
	out, err := repo.Reflog(ctx, dir, "%H%x00%gd%x00%gs")
	if err != nil {
		return nil
	}
	var list []Made
	lines := bufio.NewScanner(bytes.NewReader(out))
	for n := 0; lines.Scan(); n++ {
		parts := strings.SplitN(lines.Text(), "\x00", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[2], "commit") {
			continue
		}
		_, subject, _ := strings.Cut(parts[2], ": ")
		digits := strings.TrimSuffix(parts[1][strings.LastIndexByte(parts[1], '{')+1:], "}")
		if at, err := strconv.ParseInt(digits, 10, 64); err == nil {
			list = append(list, Made{parts[0], fmt.Sprintf("HEAD@{%d}", n), subject, time.Unix(at, 0)})
		}
	}
	return list
}
