package commit

import (
	"context"
	"strings"

	"kerf/internal/work/repo"
)

// Step is one step of HEAD as its reflog tells it: the commit that it came to, and how, such as
// "commit: a subject" or "reset: moving to HEAD~1".
type Step struct{ ID, How string }

// Commit is the subject of the commit that the step made.
func (s Step) Commit() (subject string, made bool) {
	how, subject, _ := strings.Cut(s.How, ": ")
	return subject, how == "commit" || strings.HasPrefix(how, "commit (")
}

// Steps is how HEAD of the repository of dir came from one commit to another one, newest first;
// none where the last 200 steps do not tell, or without git. An empty commit is that of a branch
// without one.
func Steps(ctx context.Context, dir, from, to string) []Step {
	out, err := repo.Reflog(ctx, dir, "%H%x00%gs")
	if err != nil {
		return nil
	}
	var list []Step
	for line := range strings.Lines(string(out)) {
		id, how, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		list = append(list, Step{id, how})
	}
	return between(list, from, to)
}

// between is the shortest way from one commit to another one: HEAD may have come to both again since.
func between(list []Step, from, to string) (way []Step) {
	end := -1 // the last step seen that came to the other commit
	for i, s := range list {
		switch {
		case s.ID == to:
			end = i
		case s.ID == from && end >= 0:
			if way == nil || i-end < len(way) {
				way = list[end:i]
			}
			end = -1
		}
	}
	if from == "" && end >= 0 {
		return list[end:]
	}
	return way
}
