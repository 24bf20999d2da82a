package host

import (
	"cmp"
	"errors"

	"kerf/internal/agent/executor/place"
	"kerf/internal/agent/policy"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// Rules reads all rules that hold here.
func (h *Host) Rules() ([]policy.Rule, error) { return h.configured().rules() }

// Explanation is what would happen to a command, and why.
type Explanation struct {
	policy.Explanation
	Settings protocol.Settings
	Mode     protocol.SandboxMode // in which it would run
	Reach    sandbox.Reach
	LeftOut  []proc.Left // what commands do not get of the environment
}

// Explain judges a command with the rules that judge at run time.
func (h *Host) Explain(line string, over protocol.Settings, addDirs []string, escalate bool) (Explanation, error) {
	c := h.configured()
	set, rules, cmd, err := c.judging(over, addDirs)
	if err != nil {
		return Explanation{}, err
	}
	cmd.Line, cmd.Escalate = line, escalate
	e := Explanation{Settings: set, Explanation: rules.Explain(cmd),
		LeftOut: proc.LeftOut(c.env, c.envPolicy("", false))}
	e.Mode = set.Mode().Command(e.Unsandboxed)
	if e.Mode == protocol.SandboxFull {
		e.Reach = sandbox.ReachOf(boundary.Plan{Mode: boundary.FullAccess})
		return e, nil
	}
	pl, err := c.plan(set, e.Mode, addDirs)
	if err != nil {
		return e, err
	}
	e.Reach = sandbox.ReachOf(pl)
	return e, nil
}

// Safety judges commands by their words as a session that began here would, with the
// approval policy untrusted: where it is, with its roots, rules and PATH.
func Safety(h *Host) (func(argv []string) (policy.Explanation, error), error) {
	_, rules, cmd, err := h.configured().judging(protocol.Settings{Approval: protocol.PolicyUntrusted,
		Sandbox: protocol.SandboxWorkspace}, nil)
	return func(argv []string) (policy.Explanation, error) { return rules.CommandSafety(cmd, argv) }, err
}

// judging is with what a session that began here would judge a command.
func (c configured) judging(over protocol.Settings, addDirs []string) (set protocol.Settings, rules policy.Rules,
	cmd policy.Command, err error) {
	if set, err = c.settings(over); err != nil {
		return set, rules, cmd, err
	}
	if rules.List, err = c.rules(); err != nil {
		return set, rules, cmd, err
	}
	rules.Mode = set.Mode()
	roots, err := c.roots(set.Cwd, addDirs)
	confined := func() boundary.Policy { return c.policy(roots, "")(protocol.SandboxWorkspace) }
	here := place.New(confined, c.childEnv("")(false))
	return set, rules, policy.Command{Dir: set.Cwd, Repo: here.Repo(set.Cwd), Place: here}, err
}

// ExplainHost asks the plan of a session that would begin here about a host.
func ExplainHost(h *Host, host string, port int, over protocol.Settings) (v boundary.Verdict,
	mode protocol.SandboxMode, err error) {
	c := h.configured()
	set, err := c.settings(over)
	if err != nil {
		return v, "", err
	}
	mode = set.Mode().Sandbox()
	pl, err := c.plan(set, mode, nil)
	return pl.Host(host, port), mode, err
}

// ExplainPath asks the plan of a session that would begin here about a path, and returns
// what it is without links.
func (h *Host) ExplainPath(path string, over protocol.Settings, addDirs []string) (real string, v boundary.Verdict,
	mode protocol.SandboxMode, err error) {
	c := h.configured()
	set, err := c.settings(over)
	mode = set.Mode().Sandbox()
	pl, unmet := c.plan(set, mode, addDirs)
	if err = cmp.Or(err, unmet); err != nil {
		return "", v, "", err
	}
	real, v = pl.Named(set.Cwd, path)
	return real, v, mode, nil
}

// plan is what a session that began here would be held by.
func (c configured) plan(set protocol.Settings, mode protocol.SandboxMode, addDirs []string) (boundary.Plan, error) {
	roots, err := c.roots(set.Cwd, addDirs)
	if err != nil {
		return boundary.Plan{}, err
	}
	pol := c.policy(roots, "")(mode)
	pol.Cwd = set.Cwd
	return pol.Resolve()
}

// rules reads all rules files. A fault in any of them is an error that names file
// and line: a rule that forbids must not get lost.
func (c configured) rules() ([]policy.Rule, error) {
	files, err := c.RulesFiles(c.trusted())
	if err != nil {
		return nil, err
	}
	var all []policy.Rule
	for _, f := range files {
		list, err := policy.ParseRules(f.Path, f.Data)
		var fault *policy.RuleError
		if errors.As(err, &fault) {
			return nil, &config.Error{File: fault.File, Line: fault.Line, Message: fault.Message}
		}
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if f.Layer == "project" && r.Unsandboxed {
				return nil, &config.Error{File: f.Path, Line: r.Line, Message: "a project's rule cannot say unsandboxed"}
			}
			all = append(all, r)
		}
	}
	return all, nil
}
