package host

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/turn"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
)

// configured joins one configuration and one environment with the Options of the
// packages that obey them.
type configured struct {
	*config.Config
	env     []string
	secrets *redact.Secrets // in use; noted while options are made
}

// settings are the configured ones, overridden by what the front end asks for.
func (c configured) settings(over protocol.Settings) (protocol.Settings, error) {
	set := protocol.Settings{Model: c.Model, Effort: c.Effort, Cwd: c.Cwd,
		Approval: protocol.ApprovalPolicy(c.ApprovalPolicy), Sandbox: protocol.SandboxMode(c.SandboxMode),
		Edits: over.Edits}
	if over.Model != "" {
		set.Model = over.Model
	}
	if over.Effort != "" {
		set.Effort = over.Effort
	}
	if over.Approval != "" {
		set.Approval = over.Approval
	}
	if over.Sandbox != "" {
		set.Sandbox = over.Sandbox
	}
	if set.Sandbox == "" {
		set.Sandbox = protocol.SandboxReadOnly
		if c.trusted() {
			set.Sandbox = protocol.SandboxWorkspace
		}
	}
	if set.Approval == "" {
		set.Approval = protocol.PolicyOnRequest
	}
	if st, err := os.Stat(set.Cwd); err != nil || !st.IsDir() {
		return set, fmt.Errorf("%s is not a directory", set.Cwd)
	}
	return set, nil
}

// budget bounds what a run may use.
func (c configured) budget() turn.Budget {
	b := c.Budget
	return turn.Budget{Rounds: b.MaxTurns, Tokens: b.MaxTokens, Cost: b.MaxCost,
		Wall: time.Duration(b.MaxSeconds) * time.Second}
}

// offered are the tools of a session.
func (c configured) offered() []tool.Spec {
	var specs []tool.Spec
	for _, t := range tools.All() {
		s := t.Spec()
		if s.Name == "update_plan" && !c.Tools.UpdatePlan {
			continue
		}
		specs = append(specs, s)
	}
	return specs
}

func (c configured) surroundings(set protocol.Settings) *instructions.Sources {
	root := c.Root
	if root == "" {
		root = set.Cwd
	}
	shell := filepath.Base(c.getenv("SHELL"))
	if shell == "." {
		shell = "bash"
		if runtime.GOOS == "windows" {
			shell = "powershell"
		}
	}
	return &instructions.Sources{Home: c.Home, Cwd: set.Cwd, Root: root, DocBytes: c.ProjectDocMaxBytes,
		DocNames: c.ProjectDocFallbackFilenames, Developer: c.DeveloperInstructions, Shell: shell,
		Network: c.WorkspaceWrite.NetworkAccess, Now: time.Now}
}

// trusted reports whether the user trusts the project.
func (c configured) trusted() bool { return c.Trust(c.Root) == config.Trusted }

// getenv reads from the environment of the program.
func (c configured) getenv(name string) string {
	for i := len(c.env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(c.env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
