// Package headmove notices that somebody else checked out, reset or pulled in the repository
// that a session works in.
package headmove

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/repo"
)

// Watch knows where HEAD was when this session last moved it, or looked. It may be used by several
// goroutines. A session and its sub-agents in the same tree share one.
type Watch struct {
	Dir string

	mu      sync.Mutex
	known   bool
	last    position
	news    []string // for the model and the user
	pending string   // what has to be asked before files are changed
}

// position is what HEAD is at.
type position struct{ branch, commit string }

func (p position) String() string {
	if p.branch == "" {
		return fmt.Sprintf("%.9s", p.commit)
	}
	return fmt.Sprintf("%s at %.9s", p.branch, p.commit)
}

func (w *Watch) look() (p position, gitDir string, ok bool) {
	p.branch, p.commit, gitDir, ok = repo.At(w.Dir)
	return p, gitDir, ok
}

// Tell looks as a turn begins, and puts what it finds into what is told: the user is warned, the
// model gets a notice. Before are the facts of the last turn.
func (w *Watch) Tell(in *turn.Gathered, before map[string]string) {
	for _, text := range w.begin(before["git_branch"]) {
		in.Warnings = append(in.Warnings, text)
		in.Notices = append(in.Notices, model.UserText("<notice>"+text+". Files may not be as you saw them.</notice>"))
	}
}

// Pause has the user asked before files are changed on top of what somebody else checked out.
// Question makes the question about the action, a change or a command, with a reason.
func (w *Watch) Pause(p *turn.Prepared, a tool.Action, s protocol.Settings, question func(string) *protocol.Approval) {
	if p.Outcome != nil || s.Mode().Approval() == protocol.PolicyNever {
		return
	}
	switch a := a.(type) {
	case tool.Change:
	case tool.Command:
		if policy.KnownSafe(a.Line) {
			return
		}
	default:
		return
	}
	reason := w.Pending()
	switch {
	case reason == "":
	case p.Verdict == turn.Ask:
		p.Approval.Reason += "; " + reason
	default:
		p.Approval, p.Verdict = question(reason), turn.Ask
	}
}

// Ours does something that may move HEAD for the session. What others did before is noticed; what
// they do meanwhile counts as the session's own.
func Ours(w *Watch, do func() turn.Outcome) turn.Outcome {
	w.Pending()
	defer w.own()
	return do()
}

// begin looks as a turn begins, and returns what has to be told once. Of a session that goes
// on in a new process only the branch of its last turn is known; empty if it is not.
func (w *Watch) begin(branch string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, gitDir, ok := w.look()
	if ok && !w.known && branch != "" && now.branch != "" && branch != now.branch {
		w.moved(fmt.Sprintf("the branch is %s; at the last turn it was %s", now.branch, branch), false)
	}
	if ok {
		w.compare(now, gitDir)
	}
	news := w.news
	w.news = nil
	return news
}

// own takes HEAD as it is now for the work of this session.
func (w *Watch) own() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now, _, ok := w.look(); ok {
		w.last, w.known = now, true
	}
}

// Pending says what has to be asked before files are changed, or nothing.
func (w *Watch) Pending() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.check()
	return w.pending
}

// Accept notes that the user, if it was asked, wants the work to go on as HEAD is.
func (w *Watch) Accept(v turn.Verdict) {
	if v != turn.Ask {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = ""
}

// check compares HEAD with what it was.
func (w *Watch) check() {
	if now, gitDir, ok := w.look(); ok {
		w.compare(now, gitDir)
	}
}

func (w *Watch) compare(now position, gitDir string) {
	if w.known && now != w.last {
		how, calm := steps(gitDir, w.last.commit, now.commit)
		text := fmt.Sprintf("HEAD moved, and not by this session: it was %s and is %s", w.last, now)
		if how != "" {
			text += " (" + how + ")"
		}
		w.moved(text, calm && now.branch == w.last.branch)
	}
	w.last, w.known = now, true
}

// moved notes a move. Commits alone change no file, so they are only told.
func (w *Watch) moved(text string, calm bool) {
	text = visible.OneLine(text, 400)
	w.news = append(w.news, text)
	if !calm {
		w.pending = text
	}
}

// maxLog is how much of the end of the log of HEAD is read.
const maxLog = 64 << 10

// steps reads from the log of HEAD how it came from one commit to another one: the newest step,
// and whether all of them are commits.
func steps(gitDir, from, to string) (newest string, calm bool) {
	f, err := os.Open(filepath.Join(gitDir, "logs", "HEAD"))
	if err != nil {
		return "", false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, st.Size()-maxLog), maxLog))
	if err != nil {
		return "", false
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		ids, message, _ := strings.Cut(lines[i], "\t")
		words := strings.Fields(ids)
		if len(words) < 2 || words[1] != to {
			return newest, false
		}
		if newest == "" {
			newest = message
		}
		if !commits(message) {
			return newest, false
		}
		if to = words[0]; to == from {
			return newest, true
		}
	}
	return newest, false
}

func commits(message string) bool {
	for _, how := range []string{"commit:", "commit (amend):", "commit (initial):"} {
		if strings.HasPrefix(message, how) {
			return true
		}
	}
	return false
}
