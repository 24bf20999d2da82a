// Package aim judges what the check of a goal came to.
package aim

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/goal"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// limit ends a check that nobody stopped.
const limit = time.Hour

// Command is the check of a goal, to be run like a command of the model.
func Command(g protocol.Goal, dir string) tool.Command {
	line := strings.TrimSpace(g.Check)
	return tool.Command{Line: line, Argv: []string{"bash", "-c", line}, Dir: dir, Timeout: limit, Yield: limit + time.Second}
}

// Aim knows the files of the running turn's check. The zero value with its directory is one
// without a goal. It may be used by several goroutines.
type Aim struct {
	Dir string // in which the check runs

	mu   sync.Mutex
	sums map[string][sha256.Size]byte // of the check's own files when the turn began
}

// Take remembers what the files of a check hold; nil leaves what is known.
func (a *Aim) Take(g *protocol.Goal) {
	if g == nil {
		return
	}
	now := map[string][sha256.Size]byte{}
	for _, name := range goal.Named(g.Check) {
		if sum, err := a.sum(name); err == nil {
			now[name] = sum
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sums = now
}

// Judge puts into the outcome of a check what model and user are told, and reports whether
// the goal is reached. Changed is what the turn changed.
func (a *Aim) Judge(o *turn.Outcome, changed delta.Set) bool {
	f := goal.Finding{Result: o.Text, Altered: a.altered(), Tests: a.tests(changed)}
	if body, ok := o.Body.(protocol.Command); ok {
		body.Check = true
		o.Body, f.Exit = body, body.ExitCode
	}
	o.Text = f.Text()
	o.Warnings = append(o.Warnings, f.Warnings()...)
	return o.Success && f.Passed()
}

// altered are the files of the check that hold something else now, or are gone.
func (a *Aim) altered() (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, had := range a.sums {
		if now, err := a.sum(name); err != nil || now != had {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tests are the changed files that may decide about the check.
func (a *Aim) tests(changed delta.Set) (names []string) {
	for _, c := range changed {
		name := filepath.ToSlash(pathname.Short(a.Dir, c.Path))
		if goal.Decides(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// maxSum bounds a file of a check that is looked at.
const maxSum = 256 << 20

// sum is the hash of a file inside the directory.
func (a *Aim) sum(name string) (sum [sha256.Size]byte, err error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.Dir, filepath.FromSlash(name))
	}
	if !pathname.Inside(a.Dir, name) {
		return sum, fs.ErrNotExist
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSum {
		return sum, errors.Join(err, fs.ErrInvalid)
	}
	f, err := os.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	d := sha256.New()
	if _, err := io.Copy(d, f); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(d.Sum(nil)), nil
}
