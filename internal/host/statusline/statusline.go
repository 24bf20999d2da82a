// Package statusline runs the command of the user's own that says what stands in the status
// line of the terminal UI.
package statusline

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"

	"kerf/internal/config"
	"kerf/internal/text/visible"
	"kerf/internal/work/proc"
)

// The bounds of a run, and of what is shown of its output, in bytes.
const (
	limit    = 2 * time.Second
	maxShown = 200
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
// takes too long. It starts where hooks start, and finds programs where they do.
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
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir, cmd.Env = c.HookDir(t.Cwd), proc.OwnEnv(env, c.Workspaces(t.Cwd))
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = bytes.NewReader(data), &bounded{&out}, 100*time.Millisecond
	if cmd.Run() != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(out.String(), "\uFFFD")), "\n")
	return visible.OneLine(line, maxShown)
}

// bounded keeps the first bytes of an output.
type bounded struct{ to *bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.to.Write(p[:min(len(p), max(0, 4096-b.to.Len()))])
	return len(p), nil
}
