// Package stays tells what an undo leaves: where the commands of the turn moved HEAD of the git
// repository, the commits on the way, and what still runs.
package stays

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"kerf/internal/text/order"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/ledger"
	"kerf/internal/work/repo"
	"kerf/internal/work/repo/commit"
)

// Lines are for a user who took back the entries with the given numbers: whether what made them still
// runs, where their turns moved HEAD of the repository that holds dir, and the command of git that puts
// it back. There are none for what is not known.
func Lines(ctx context.Context, l *ledger.Ledger, dir string, undone []int64) (list []string, err error) {
	entries, err := l.Read(0)
	if err != nil {
		return nil, err
	}
	if running(entries, undone) {
		list = append(list, "note: the command still runs, and may change more; take that back when it has ended")
	}
	if _, _, gitDir, ok := repo.At(dir); ok {
		if what := repo.Midst(gitDir, began(entries, undone)); what != "" {
			list = append(list, "note: git is in the middle of a "+what+", and stays so: git status tells how to end it")
		}
	}
	if m, ok := moved(entries, undone); ok {
		list = append(list, lines(m, lookAt(dir, m.From.Branch), commit.Steps(ctx, dir, m.From.Commit, m.To.Commit))...)
	}
	return list, nil
}

// Running reports whether a command that has not ended belongs to a turn that changed a file.
func Running(rows []row.Entry, path string) bool {
	running := map[string]bool{}
	for i := range rows {
		if e := &rows[i]; e.Running {
			running[e.Session+" "+e.Turn] = true
		}
	}
	for i := range rows {
		if !running[rows[i].Session+" "+rows[i].Turn] {
			continue
		}
		for _, c := range rows[i].Changes {
			if string(c.Path) == path {
				return true
			}
		}
	}
	return false
}

// running reports whether a command that made one of the entries has not ended.
func running(entries []ledger.Entry, undone []int64) bool {
	began := map[int64]bool{}
	for i := range entries {
		e := &entries[i]
		if e.Of > 0 && slices.Contains(undone, e.Seq) {
			began[e.Of] = true
		}
	}
	for i := range entries {
		e := &entries[i]
		if e.Ended {
			delete(began, e.Of)
		}
	}
	return len(began) > 0
}

// began is when the first watched command began that made one of the entries, in Unix seconds.
func began(entries []ledger.Entry, undone []int64) int64 {
	for i := range entries {
		if of := entries[i].Of; of > 0 && slices.Contains(undone, entries[i].Seq) {
			for j := range entries[:i] {
				if entries[j].Seq == of {
					return entries[j].Time.Unix()
				}
			}
		}
	}
	return math.MaxInt64
}

// moved is the move of HEAD by the turns that some entries are of.
func moved(entries []ledger.Entry, undone []int64) (m ledger.HeadMove, ok bool) {
	type turn struct{ session, turn string }
	turns := map[turn]bool{}
	for i := range entries {
		e := &entries[i]
		if e.Turn != "" && slices.Contains(undone, e.Seq) {
			turns[turn{e.Session, e.Turn}] = true
		}
	}
	for i := range entries {
		e := &entries[i]
		if turns[turn{e.Session, e.Turn}] && e.Head != nil && e.Head.To != nil {
			m.From, m.To = cmp.Or(m.From, e.Head.From, &ledger.Head{}), e.Head.To
			m.Late = m.Late || e.Head.Late
		}
	}
	return m, m.To != nil && *m.From != *m.To
}

// present is what a repository is like now: its HEAD, whether git is in the middle of something, and the
// commit of the branch that was left, empty when that is gone.
type present struct {
	ledger.Head
	busy bool
	left string
}

func lookAt(dir, left string) (p present) {
	var gitDir string
	p.Branch, p.Commit, gitDir, _ = repo.At(dir)
	p.busy, p.left = repo.Busy(gitDir), repo.Tip(gitDir, left)
	return p
}

// lines tell of a move, by what the repository is like now and the steps between its ends.
func lines(m ledger.HeadMove, now present, steps []commit.Step) (list []string) {
	from, to := *m.From, *m.To
	ours := now.left == "" || now.left == from.Commit // nobody else gave the branch what a reset takes away
	if from == (ledger.Head{}) {
		steps = nil // they are from the beginning, for all that is known
	}
	for _, s := range steps {
		if subject, made := s.Commit(); made {
			list = append(list, fmt.Sprintf("  %.9s %s", s.ID, visible.Line(subject)))
		}
		ours = ours || s.ID == now.left
	}
	onlyCommits := len(list) > 0 && len(list) == len(steps) && from.Branch == to.Branch
	when := "during that turn"
	if m.Late {
		when += " or after it"
	}
	if len(list) > 0 {
		list = order.Insert(list, 0, "note: what was committed "+when+" stays committed:")
	}
	if !onlyCommits {
		moved := fmt.Sprintf("note: HEAD moved %s, and stays: %s -> %s", when, text(from), text(to))
		list = order.Insert(list, 0, moved)
	}
	const keep = "hint: to put HEAD back and keep the files: "
	switch {
	case from.Commit == "" || now.Head != to || now.busy || m.Late:
	case from.Branch == to.Branch:
		return append(list, fmt.Sprintf(keep+"git reset %.9s", from.Commit))
	case from.Branch != "" && ours && strings.Trim(from.Branch, unquoted) == "":
		// git branch refuses where the branch cannot be, or another working tree has it.
		return append(list, fmt.Sprintf(keep+"git branch -f %s %.9s && git symbolic-ref HEAD refs/heads/%s && git reset",
			from.Branch, from.Commit, from.Branch))
	}
	return list
}

// unquoted are the letters that a shell takes as they are.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

// text is what was checked out, for a line.
func text(h ledger.Head) string {
	switch {
	case h.Commit == "":
		return visible.Line(cmp.Or(h.Branch, "unknown"))
	case h.Branch == "":
		return fmt.Sprintf("%.9s, detached", h.Commit)
	}
	return fmt.Sprintf("%s at %.9s", visible.Line(h.Branch), h.Commit)
}
