package host

import (
	"cmp"
	"errors"
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
	"kerf/internal/host/roles"
	"kerf/internal/host/skillset"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
	"kerf/internal/work/boundary/nested"
)

// configured joins one configuration and one environment with the Options of the
// packages that obey them.
type configured struct {
	*config.Config
	env     []string
	layers  []nested.Layer
	secrets *redact.Secrets // in use; noted while options are made
}

// settings are the configured ones, overridden by what the front end asks for.
func (c configured) settings(over protocol.Settings) (protocol.Settings, error) {
	sandbox, approval := c.Modes(string(over.Sandbox), string(over.Approval))
	set := protocol.Settings{Model: cmp.Or(over.Model, c.Model), Effort: cmp.Or(over.Effort, c.Effort), Cwd: c.Cwd,
		Approval: protocol.ApprovalPolicy(approval), Sandbox: protocol.SandboxMode(sandbox), Edits: over.Edits}
	if why := cmp.Or(set.Fault(), c.refuse(set)); why != "" {
		return set, misconfigured{errors.New(why)}
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

// refuse says why the administrator of the machine does not allow settings; empty if they are.
func (c configured) refuse(set protocol.Settings) string {
	return c.Required.Refuse(string(set.Sandbox), string(set.Approval))
}

// offered are the tools of a session.
func (c configured) offered() []tool.Spec {
	var specs []tool.Spec
	for _, s := range tools.Told() {
		if s.Name == "update_plan" && !c.Tools.UpdatePlan || s.Name == tools.WebFetch && !c.Tools.WebFetch {
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
		Network: c.WorkspaceWrite.NetworkAccess, Memory: c.Memory.Enabled, Now: time.Now}
}

// skillset knows the skills and commands here.
func (c configured) skillset() skillset.Set {
	return skillset.Set{Config: c.Config, Home: c.getenv("HOME")}
}

// roles knows the kinds of sub-agents here.
func (c configured) roles() roles.Set {
	return roles.Set{Config: c.Config, Home: c.getenv("HOME"), Plugged: c.skillset().Agents()}
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
