package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"kerf/internal/agent/executor/place"
	"kerf/internal/agent/policy"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
)

// Rules reads all rules that hold here.
func (h *Host) Rules() ([]policy.Rule, error) { return h.configured().rules() }

// RemoveRule takes one of the user's rules away and returns it. What names it by its
// text, or by FILE:LINE.
func (h *Host) RemoveRule(what string) (policy.Rule, error) {
	files, err := h.Config.RulesFiles(false)
	if err != nil {
		return policy.Rule{}, err
	}
	var hits []policy.Rule
	var lines []string
	for _, f := range files {
		if f.Layer != "user" {
			continue
		}
		list, err := policy.ParseRules(f.Path, f.Data)
		if err != nil {
			return policy.Rule{}, err
		}
		source := bytes.Split(f.Data, []byte("\n"))
		for _, r := range list {
			if r.At() == what || r.String() == what || strings.HasPrefix(r.String(), what+" -> ") {
				hits, lines = append(hits, r), append(lines, string(source[r.Line-1]))
			}
		}
	}
	switch len(hits) {
	case 0:
		return policy.Rule{}, fmt.Errorf("you have no rule %q; see kerf rules list", what)
	case 1:
	default:
		return policy.Rule{}, fmt.Errorf("%d rules begin with %q; name one by FILE:LINE, as kerf rules list prints it",
			len(hits), what)
	}
	return hits[0], config.RemoveRule(hits[0].File, hits[0].Line, lines[0])
}

// Explanation is what would happen to a command, and why.
type Explanation struct {
	policy.Explanation
	Settings protocol.Settings
	Mode     protocol.SandboxMode // in which it would run
	Reach    sandbox.Reach
}

// Explain judges a command with the rules that judge at run time.
func (h *Host) Explain(line string, over protocol.Settings, addDirs []string, escalate bool) (Explanation, error) {
	c := h.configured()
	set, err := c.settings(over)
	if err != nil {
		return Explanation{}, err
	}
	list, err := c.rules()
	if err != nil {
		return Explanation{}, err
	}
	cmd := policy.Command{Line: line, Dir: set.Cwd, Escalate: escalate}
	roots, err := c.roots(set.Cwd, addDirs)
	if err != nil {
		return Explanation{}, err
	}
	here := place.New(c.policy(roots, "")(protocol.SandboxWorkspace), c.childEnv("")(false))
	cmd.Repo, cmd.Place = here.Repo(set.Cwd), here
	e := Explanation{Settings: set, Explanation: policy.Rules{Approval: set.Approval, Sandbox: set.Sandbox,
		List: list}.Explain(cmd)}
	e.Mode = policy.Mode(set, e.Unsandboxed)
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

// ExplainPath asks the plan of a session that would begin here about a path, and returns
// what it is without links.
func (h *Host) ExplainPath(path string, over protocol.Settings, addDirs []string) (real string, v boundary.Verdict,
	mode protocol.SandboxMode, err error) {
	c := h.configured()
	set, err := c.settings(over)
	pl, unmet := c.plan(set, set.Sandbox, addDirs)
	if err = cmp.Or(err, unmet); err != nil {
		return "", v, "", err
	}
	real, v = pl.Named(set.Cwd, path)
	return real, v, set.Sandbox, nil
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
