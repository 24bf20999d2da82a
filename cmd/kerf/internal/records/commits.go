package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/repo/commit"
)

// tellCommits notes the git commits that were made during the turns that the last undo took
// back, by their commands: an undo leaves them as they are.
func (b *book) tellCommits() {
	list, err := b.ws.Changes().Log(changes.Filter{Limit: 1})
	if err != nil || len(list) == 0 || list[0].Cause != "undo" {
		return
	}
	var made []commit.Made
	seen := map[string]bool{}
	for _, e := range b.rows {
		if !slices.Contains(list[0].Undoes, e.Seq) || seen[e.Session+e.Turn] {
			continue
		}
		seen[e.Session+e.Turn] = true
		if e.Session != "" {
			made = append(made, b.commitsOf(e)...)
		} else if e.Tool == "guard" {
			made = append(made, b.commitsBeside(e.Turn)...)
		}
	}
	if len(made) == 0 {
		return
	}
	oldest := made[len(made)-1]
	fmt.Fprintf(b.p.Stderr, "note: what was committed during that turn stays committed:\n")
	for _, c := range made {
		fmt.Fprintf(b.p.Stderr, "  %s %s\n", c.ID[:min(9, len(c.ID))], visible.Line(c.Subject))
	}
	if made[0].At == "HEAD@{0}" {
		fmt.Fprintf(b.p.Stderr, "hint: to take the commits back and keep the files: git reset --soft %s~1\n", oldest.ID[:9])
		return
	}
	fmt.Fprintf(b.p.Stderr, "hint: to take them back: git revert")
	for _, c := range made {
		fmt.Fprintf(b.p.Stderr, " %s", c.ID[:9])
	}
	fmt.Fprintln(b.p.Stderr)
}

// commitsOf are the commits that were made while the turn of an entry ran, newest first, if a
// command of it was about that.
func (b *book) commitsOf(e row.Entry) []commit.Made {
	past, err := b.h.Sessions().Transcript(context.Background(), e.Session, 0)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(past, func(t protocol.PastTurn) bool { return string(t.ID) == e.Turn })
	if i < 0 || !commits(past[i]) {
		return nil
	}
	began, ended := past[i].Began.Truncate(time.Second), time.Now()
	if i+1 < len(past) {
		ended = past[i+1].Began
	} else if info, err := b.h.FindSession(e.Session); err == nil {
		ended = info.Updated.Add(time.Second)
	}
	return b.commitsBetween(began, ended)
}

// commitsBeside are the commits that were made while a program ran under kerf guard.
func (b *book) commitsBeside(turn string) []commit.Made {
	entries, err := b.ws.Ledger.Read(0)
	if err != nil {
		return nil
	}
	var began, ended time.Time
	for _, e := range entries {
		if e.Turn != turn || e.Session != "" {
			continue
		}
		if began.IsZero() {
			began = e.Time.Truncate(time.Second)
		}
		ended = e.Time
	}
	return b.commitsBetween(began, ended)
}

// commitsBetween are the commits of a time, newest first.
func (b *book) commitsBetween(began, ended time.Time) (found []commit.Made) {
	for _, c := range commit.Reflog(context.Background(), b.ws.Base()) {
		if !c.When.Before(began) && !c.When.After(ended) {
			found = append(found, c)
		}
	}
	return found
}

// commits reports whether a command of a turn may have made a commit.
func commits(t protocol.PastTurn) bool {
	return slices.ContainsFunc(t.Items, func(i protocol.Item) bool {
		c, ok := i.Body.(protocol.Command)
		return ok && strings.Contains(c.Command, "git") && strings.Contains(c.Command, "commit")
	})
}
