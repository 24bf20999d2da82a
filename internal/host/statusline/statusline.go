// Package statusline runs the command of the user's own that says what stands in the status
// line of the terminal UI.
package statusline

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"kerf/internal/config"
	"kerf/internal/text/visible"
	"kerf/internal/work/proc"
)

// The bounds of a run, and of what is shown of its output, in bytes.
const (
	limit    = 2 * time.Second
	maxShown = 200
	maxKept  = 4096
)

// Told is what the command gets on standard input, with the names that Claude Code has.
type Told struct {
	Session string `json:"session_id"`
	Cwd     string `json:"cwd"`
	Version string `json:"version"`
	Model   struct {
		ID string `json:"id"`
	} `json:"model"`
	Workspace struct {
		Current string `json:"current_dir"`
		Project string `json:"project_dir"`
	} `json:"workspace"`
	Context struct {
		Size  int `json:"context_window_size"`
		Input int `json:"total_input_tokens"`
		Out   int `json:"total_output_tokens"`
	} `json:"context_window"`
}

// Run runs the command and returns the first line that it prints; nothing when it fails or
// takes too long: then it is ended with all that it started. It starts where hooks start, and
// finds programs where they do.
func Run(c *config.Config, env []string, command string, t Told) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return run(ctx, c, env, command, t)
}

func run(ctx context.Context, c *config.Config, env []string, command string, t Told) string {
	t.Workspace.Current, t.Workspace.Project = t.Cwd, c.Root
	data, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	p, err := proc.Start(ctx, proc.Spec{Argv: []string{"/bin/sh", "-c", "exec 2>/dev/null\n" + command}, Dir: c.HookDir(t.Cwd),
		Env: proc.OwnEnv(env, c.Workspaces(t.Cwd)), Stdin: true, Cap: maxKept, Abrupt: true})
	if err != nil {
		return ""
	}
	var writing sync.WaitGroup
	writing.Go(func() { // ends when the command has read all, or is gone
		_, _ = p.Write(string(data))
		_ = p.CloseInput()
	})
	<-p.Done() // the context ends it
	writing.Wait()
	if code, signal, _ := p.ExitCode(); code != 0 || signal != "" || ctx.Err() != nil {
		return ""
	}
	out, _ := p.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(out), "\uFFFD")), "\n")
	return visible.OneLine(line, maxShown)
}
