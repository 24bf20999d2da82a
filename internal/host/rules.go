package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kerf/internal/agent/policy"
	"kerf/internal/config"
	"kerf/internal/protocol"
	show "kerf/internal/text/visible"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox"
)

// rules reads all rules files. A fault in any of them is an error that names file
// and line: a rule that forbids must not get lost.
func (h *Host) rules() ([]policy.Rule, error) {
	files, err := h.Config.RulesFiles(h.Trusted())
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

// addRule writes a rule that the user chose to the user's own rules.
func (h *Host) addRule(line string) error { return config.AddRule(h.Config.Home, line) }

// ListRules prints all rules with where they stand.
func (h *Host) ListRules(w io.Writer) error {
	list, err := h.rules()
	if err != nil {
		return err
	}
	for _, r := range list {
		fmt.Fprintf(w, "%s: %s\n", show.Line(r.At()), show.Line(r.String()))
		if r.Why != "" {
			fmt.Fprintf(w, "    because %s\n", show.Line(r.Why))
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "no rules; doc/approvals.md says how to write them")
	}
	return nil
}

// CheckRules reads all rules with their examples, or those of the given files,
// and counts them.
func (h *Host) CheckRules(w io.Writer, files map[string][]byte) error {
	if len(files) == 0 {
		list, err := h.rules()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d rules, all well formed, all examples as they say\n", len(list))
		return nil
	}
	n := 0
	for name, data := range files {
		list, err := policy.ParseRules(name, data)
		if err != nil {
			return err
		}
		n += len(list)
	}
	fmt.Fprintf(w, "%d rules, all well formed, all examples as they say\n", n)
	return nil
}

// RemoveRule takes one of the user's rules away: by its text, or by FILE:LINE as
// ListRules prints it.
func (h *Host) RemoveRule(w io.Writer, what string) error {
	files, err := h.Config.RulesFiles(false)
	if err != nil {
		return err
	}
	var hits []policy.Rule
	var lines []string
	for _, f := range files {
		if f.Layer != "user" {
			continue
		}
		list, err := policy.ParseRules(f.Path, f.Data)
		if err != nil {
			return err
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
		return fmt.Errorf("none of your rules is %q; see kerf rules list", what)
	case 1:
	default:
		return fmt.Errorf("%d rules begin so; give one as kerf rules list prints it, FILE:LINE", len(hits))
	}
	if err := config.RemoveRule(hits[0].File, hits[0].Line, lines[0]); err != nil {
		return err
	}
	fmt.Fprintf(w, "removed: %s\n", show.Line(hits[0].String()))
	return nil
}

// Safety judges an argument list as if only what is known to read ran unasked.
func (h *Host) Safety(list []policy.Rule, argv []string) (string, error) {
	r := policy.Rules{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace, List: list}
	e, err := r.CommandSafety(argv)
	return e.Verdict.String(), err
}

// CommandSafety returns a judge of argument lists; it says auto, ask or deny.
func (h *Host) CommandSafety() (func(argv []string) (string, error), error) {
	list, err := h.rules()
	if err != nil {
		return nil, err
	}
	return func(argv []string) (string, error) { return h.Safety(list, argv) }, nil
}

// Explanation is what would happen to a command, and why.
type Explanation struct {
	Command  string             `json:"command"`
	Cwd      string             `json:"cwd"`
	Policy   string             `json:"approval_policy"`
	Parsed   []ExplainedCommand `json:"parsed"`
	Problem  string             `json:"problem,omitempty"`
	Odd      []string           `json:"odd,omitempty"`
	Harm     string             `json:"harm"`
	HarmWhy  string             `json:"harm_reason,omitempty"`
	Verdict  string             `json:"verdict"`
	By       string             `json:"decided_by"`
	Reason   string             `json:"reason,omitempty"`
	Offer    string             `json:"offered_rule,omitempty"`
	Prefix   []string           `json:"offered_prefix,omitempty"`
	Sandbox  SandboxView        `json:"sandbox"`
	Warnings []string           `json:"warnings,omitempty"`
}

// ExplainedCommand is one simple command of a line.
type ExplainedCommand struct {
	Words   []string `json:"words"`
	Safe    bool     `json:"only_reads"`
	Started bool     `json:"started_by_another,omitempty"`
}

// SandboxView is what the command could reach.
type SandboxView struct {
	Mode      string   `json:"mode"`
	Confined  bool     `json:"confined"`
	Readable  string   `json:"readable"`
	Writable  []string `json:"writable"`
	Protected []string `json:"protected,omitempty"`
	Hidden    []string `json:"hidden,omitempty"`
	Network   string   `json:"network"`
}

// Explain judges a command with the engine that judges at run time.
func (h *Host) Explain(_ context.Context, line string, over protocol.Settings, addDirs []string, escalate bool) (Explanation, error) {
	set, err := h.settings(over)
	if err != nil {
		return Explanation{}, err
	}
	list, err := h.rules()
	if err != nil {
		return Explanation{}, err
	}
	c := policy.Command{Line: line, Dir: set.Cwd, Escalate: escalate}
	if root, _, ok := repo.Find(set.Cwd); ok {
		c.Repo = root
	}
	e := policy.Rules{Approval: set.Approval, Sandbox: set.Sandbox, List: list}.Explain(c)
	out := Explanation{Command: line, Cwd: set.Cwd, Policy: string(set.Approval), Odd: e.Parsed.Odd, Harm: e.Harm.Level.String(), HarmWhy: e.Harm.Why,
		Verdict: e.Verdict.String(), By: e.By, Reason: e.Reason, Offer: e.Rule, Prefix: e.Prefix, Parsed: []ExplainedCommand{}}
	if e.Parsed.Err != nil {
		out.Problem = e.Parsed.Err.Error()
	}
	for _, s := range e.Parsed.Commands {
		x := ExplainedCommand{Safe: s.Safe(), Started: s.Started}
		for _, w := range s.Words {
			x.Words = append(x.Words, w.Text)
		}
		out.Parsed = append(out.Parsed, x)
	}
	out.Sandbox, err = h.view(policy.Mode(set, e.Unsandboxed), addDirs)
	return out, err
}

// view tells what the sandbox of a mode lets a command reach here.
func (h *Host) view(mode protocol.SandboxMode, addDirs []string) (SandboxView, error) {
	v := SandboxView{Mode: string(mode), Readable: "everything", Writable: []string{}, Network: "none"}
	if mode == protocol.SandboxFull {
		v.Writable, v.Network = append(v.Writable, "everything"), "everything"
		return v, nil
	}
	roots, err := h.roots(h.Config.Cwd, addDirs)
	if err != nil {
		return v, err
	}
	pol := h.policy(roots, "")(mode)
	pol.Cwd = h.Config.Cwd
	plan, err := sandbox.Resolve(pol, sandbox.Disk{})
	if err != nil {
		return v, err
	}
	v.Confined = plan.Confined()
	switch {
	case plan.Network:
		v.Network = "everything"
	case plan.Proxy != nil:
		v.Network = "allowed domains only"
	}
	for _, m := range plan.Mounts {
		switch {
		case m.Kind == sandbox.MountWrite || m.Kind == sandbox.MountTmp:
			v.Writable = append(v.Writable, m.Path)
		case m.Kind == sandbox.MountRead && m.Path != "/":
			v.Protected = append(v.Protected, m.Path)
		case m.Kind == sandbox.MountHideDir || m.Kind == sandbox.MountHideFile:
			v.Hidden = append(v.Hidden, m.Path)
		}
	}
	for _, m := range plan.Masks {
		v.Protected = append(v.Protected, m.Path)
	}
	slices.Sort(v.Protected)
	v.Protected = slices.Compact(v.Protected)
	return v, nil
}
