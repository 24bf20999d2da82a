// Package heads tells where the commands of a turn moved HEAD of the git repository: an undo leaves
// commits, branches and HEAD as they are.
package heads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/text/visible"
	"kerf/internal/work/ledger"
	"kerf/internal/work/repo"
	"kerf/internal/work/repo/commit"
)

// Stay are lines about HEAD of the repository that holds dir, for a user who took back the entries
// with the given numbers: where their turns moved it, the commits on the way, and the command of git
// that puts it back. They are none if it was not moved, or is not known to be.
func Stay(ctx context.Context, l *ledger.Ledger, dir string, undone []int64) ([]string, error) {
	entries, err := l.Read(0)
	if err != nil {
		return nil, err
	}
	m, ok := moved(entries, undone)
	if !ok {
		return nil, nil
	}
	branch, id, _, _ := repo.At(dir)
	return lines(m, ledger.Head{Branch: branch, Commit: id}, commit.Steps(ctx, dir, m.From.Commit, m.To.Commit)), nil
}

// moved is the move of HEAD by the turns that some entries are of.
func moved(entries []ledger.Entry, undone []int64) (m ledger.HeadMove, ok bool) {
	type turn struct{ session, turn string }
	turns := map[turn]bool{}
	for _, e := range entries {
		if e.Turn != "" && slices.Contains(undone, e.Seq) {
			turns[turn{e.Session, e.Turn}] = true
		}
	}
	for _, e := range entries {
		if turns[turn{e.Session, e.Turn}] && e.Head != nil && e.Head.To != nil {
			m.From, m.To = cmp.Or(m.From, e.Head.From, &ledger.Head{}), e.Head.To
		}
	}
	return m, m.To != nil && *m.From != *m.To
}

// lines tell of a move, by what HEAD is now and the steps between its ends.
func lines(m ledger.HeadMove, now ledger.Head, steps []commit.Step) (list []string) {
	from, to := *m.From, *m.To
	ids := ""
	for _, s := range steps {
		if subject, made := s.Commit(); made {
			list = append(list, fmt.Sprintf("  %.9s %s", s.ID, visible.Line(subject)))
			ids += fmt.Sprintf(" %.9s", s.ID)
		}
	}
	onlyCommits := len(list) > 0 && len(list) == len(steps) && from.Branch == to.Branch
	if len(list) > 0 {
		list = slices.Insert(list, 0, "note: what was committed during that turn stays committed:")
	}
	if !onlyCommits {
		moved := fmt.Sprintf("note: HEAD moved during that turn, and stays: %s -> %s", text(from), text(to))
		list = slices.Insert(list, 0, moved)
	}
	const keep = "hint: to put HEAD back and keep the files: "
	switch {
	case from.Commit == "" || now != to && ids == "":
		return list
	case now != to:
		return append(list, "hint: to take them back: git revert"+ids)
	case from.Branch == to.Branch:
		return append(list, fmt.Sprintf(keep+"git reset %.9s", from.Commit))
	case from.Branch != "" && strings.Trim(from.Branch, unquoted) == "":
		return append(list, fmt.Sprintf(keep+"git symbolic-ref HEAD refs/heads/%s && git reset", from.Branch))
	}
	return list
}

// unquoted are the letters that a shell takes as they are.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

// text is what was checked out, for a line.
func text(h ledger.Head) string {
	switch {
	case h.Commit == "":
		return visible.Line(cmp.Or(h.Branch, "nothing"))
	case h.Branch == "":
		return fmt.Sprintf("%.9s, detached", h.Commit)
	}
	return fmt.Sprintf("%s at %.9s", visible.Line(h.Branch), h.Commit)
}
