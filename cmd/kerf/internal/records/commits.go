package records

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/row"
)

// tellCommits notes the git commits that were made during the turns that the last undo took
// back, by their commands: an undo leaves them as they are.
func (b *book) tellCommits() {
	list, err := b.ws.Changes().Log(changes.Filter{Limit: 1})
	if err != nil || len(list) == 0 || list[0].Cause != "undo" {
		return
	}
	var made []headCommit
	seen := map[string]bool{}
	for _, e := range b.rows {
		if slices.Contains(list[0].Undoes, e.Seq) && e.Session != "" && !seen[e.Session+e.Turn] {
			seen[e.Session+e.Turn] = true
			made = append(made, b.commitsOf(e)...)
		}
	}
	if len(made) == 0 {
		return
	}
	oldest := made[len(made)-1]
	fmt.Fprintf(b.p.Stderr, "note: what was committed during that turn stays committed:\n")
	for _, c := range made {
		fmt.Fprintf(b.p.Stderr, "  %s %s\n", c.id[:min(9, len(c.id))], visible.Line(c.subject))
	}
	if made[0].at == "HEAD@{0}" {
		fmt.Fprintf(b.p.Stderr, "hint: to take the commits back and keep the files: git reset --soft %s~1\n", oldest.id[:9])
		return
	}
	fmt.Fprintf(b.p.Stderr, "hint: to take them back: git revert")
	for _, c := range made {
		fmt.Fprintf(b.p.Stderr, " %s", c.id[:9])
	}
	fmt.Fprintln(b.p.Stderr)
}

// headCommit is a commit as the reflog of HEAD tells it.
type headCommit struct {
	id, at, subject string
	when            time.Time
}

// commitsOf are the commits that were made while the turn of an entry ran, newest first, if a
// command of it was about that.
func (b *book) commitsOf(e row.Entry) []headCommit {
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
	var found []headCommit
	for _, c := range b.reflog() {
		if !c.when.Before(began) && !c.when.After(ended) {
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

// reflog lists the commits that HEAD came to by a commit, newest first. Without git there are
// none.
func (b *book) reflog() []headCommit {
	git := osexec.Command("git", "log", "-g", "-n", "200", "--date=unix", "--format=%H%x00%gd%x00%gs", "HEAD", "--")
	git.Dir, git.Env = b.ws.Base(), b.p.Env
	out, err := git.Output()
	if err != nil {
		return nil
	}
	var list []headCommit
	lines := bufio.NewScanner(bytes.NewReader(out))
	for n := 0; lines.Scan(); n++ {
		parts := strings.SplitN(lines.Text(), "\x00", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[2], "commit") {
			continue
		}
		_, subject, _ := strings.Cut(parts[2], ": ")
		digits := strings.TrimSuffix(parts[1][strings.LastIndexByte(parts[1], '{')+1:], "}")
		if at, err := strconv.ParseInt(digits, 10, 64); err == nil {
			list = append(list, headCommit{parts[0], fmt.Sprintf("HEAD@{%d}", n), subject, time.Unix(at, 0)})
		}
	}
	return list
}
