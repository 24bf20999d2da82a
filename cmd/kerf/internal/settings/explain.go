package settings

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// explainCommand tells what would happen to a command, and why.
func explainCommand(p *program.Program) *cobra.Command {
	var asJSON, escalate bool
	var sandbox, approval, path, address string
	var addDirs []string
	cmd := &cobra.Command{Use: "explain ['CMD']", Short: "Show what would be decided about a command or a path, and why",
		Long: `Prints how Kerf reads the command line, what decides about it, and what it could reach in the
sandbox. A session decides in the same way. The command does not run. With --path it says what
commands and the file tools may do with a file or directory, which need not exist. With --host it
says whether commands reach a host. "kerf explain env" also names the variables that commands do not get.

The exit code is 0 for every verdict.`,
		Example: "  kerf explain 'git log | head'\n  kerf explain -a untrusted 'npm test && rm -rf build' --json\n" +
			"  kerf explain --path .git/hooks/pre-commit",
		Args: program.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set := protocol.Settings{Sandbox: protocol.SandboxMode(sandbox), Approval: protocol.ApprovalPolicy(approval)}
			if err := program.CheckSettings(set); err != nil {
				return err
			}
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if address != "" {
				return explainHost(p, h, address, set, asJSON)
			}
			if path != "" {
				return explainPath(p, h, path, set, addDirs, asJSON)
			}
			if len(args) == 0 {
				return program.Misuse("name a command in quotes, a path with --path, or a host with --host")
			}
			e, err := h.Explain(args[0], set, addDirs, escalate)
			if err != nil {
				return err
			}
			if asJSON {
				return print.JSON(p.Stdout, explained(args[0], e))
			}
			explain(p.Stdout, explained(args[0], e))
			return nil
		}}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.StringVar(&path, "path", "", "say what may be done with this `file` or directory")
	f.StringVar(&address, "host", "", "say whether commands reach this `host`, or HOST:PORT; the port is 443 without one")
	f.BoolVar(&escalate, "escalate", false, "as if the model asked to leave the sandbox")
	f.StringVarP(&sandbox, "sandbox", "s", "", "read-only, workspace-write or danger-full-access (`mode`)")
	f.StringVarP(&approval, "ask-for-approval", "a", "",
		"untrusted, on-request, on-failure, never, auto-edit or plan (`policy`)")
	f.StringArrayVar(&addDirs, "add-dir", nil, "a further writable `directory`; may be repeated")
	return cmd
}

// explainPath prints what may be done with a path.
func explainPath(p *program.Program, h *host.Host, path string, set protocol.Settings, addDirs []string,
	asJSON bool) error {
	real, v, mode, err := h.ExplainPath(path, set, addDirs)
	if err != nil {
		return err
	}
	if asJSON {
		return print.JSON(p.Stdout, map[string]string{"path": path, "real": real, "mode": string(mode),
			"access": string(v.Access), "why": v.Why})
	}
	fmt.Fprintf(p.Stdout, "path      %s\n", visible.Line(path))
	if real != path {
		fmt.Fprintf(p.Stdout, "is        %s\n", visible.Line(real))
	}
	fmt.Fprintf(p.Stdout, "access    %s\nbecause   %s\nsandbox   %s\n", v.Access, visible.Line(v.Why), mode)
	return nil
}

// explainHost prints whether commands reach a host.
func explainHost(p *program.Program, h *host.Host, address string, set protocol.Settings, asJSON bool) error {
	name, port := address, 443
	if name == "" || strings.ContainsAny(name, "/@ ") {
		return program.Misuse("--host %q: expected HOST or HOST:PORT, such as example.com:443", address)
	}
	if head, tail, err := net.SplitHostPort(address); err == nil {
		n, err := strconv.ParseUint(tail, 10, 16)
		if err != nil || n == 0 {
			return program.Misuse("--host %q: %q is not a port", address, tail)
		}
		name, port = head, int(n)
	}
	v, mode, err := host.ExplainHost(h, name, port, set)
	if err != nil {
		return err
	}
	access := "reachable"
	if v.Access == "hidden" {
		access = "closed"
	}
	if asJSON {
		return print.JSON(p.Stdout, map[string]any{"host": name, "port": port, "mode": string(mode), "access": access,
			"why": v.Why})
	}
	fmt.Fprintf(p.Stdout, "host      %s, port %d\naccess    %s\n", visible.Line(name), port, access)
	fmt.Fprintf(p.Stdout, "because   %s\nsandbox   %s\n", visible.Line(v.Why), mode)
	return nil
}

// explanation is what is printed of a command.
type explanation struct {
	Command  string             `json:"command"`
	Cwd      string             `json:"cwd"`
	Policy   string             `json:"approval_policy"`
	Parsed   []explainedCommand `json:"parsed"`
	Problem  string             `json:"problem,omitempty"`
	Odd      []string           `json:"odd,omitempty"`
	Harm     string             `json:"harm"`
	HarmWhy  string             `json:"harm_reason,omitempty"`
	Verdict  string             `json:"verdict"`
	By       string             `json:"decided_by"`
	Reason   string             `json:"reason,omitempty"`
	Offer    string             `json:"offered_rule,omitempty"`
	Prefix   []string           `json:"offered_prefix,omitempty"`
	Sandbox  reach              `json:"sandbox"`
	LeftOut  []leftOut          `json:"left_out,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
}

// leftOut is a variable that commands do not get.
type leftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// explainedCommand is one simple command of a line.
type explainedCommand struct {
	Words   []string `json:"words"`
	Safe    bool     `json:"only_reads"`
	Started bool     `json:"started_by_another,omitempty"`
}

// reach is what the command could reach.
type reach struct {
	Mode      string   `json:"mode"`
	Confined  bool     `json:"confined"`
	Readable  string   `json:"readable"`
	Writable  []string `json:"writable"`
	Protected []string `json:"protected,omitempty"`
	Hidden    []string `json:"hidden,omitempty"`
	Network   string   `json:"network"`
}

func explained(line string, e host.Explanation) explanation {
	r := e.Reach
	x := explanation{Command: line, Cwd: e.Settings.Cwd, Policy: string(e.Settings.Approval),
		Parsed: []explainedCommand{}, Odd: e.Parsed.Odd,
		Harm: e.Harm.Level.String(), HarmWhy: e.Harm.Why, Verdict: e.Verdict.String(), By: e.By, Reason: e.Reason,
		Offer: e.Rule, Prefix: e.Prefix,
		Sandbox: reach{string(e.Mode), r.Confined, "everything", r.Writable, r.Protected, r.Hidden, r.Network}}
	for _, l := range e.LeftOut {
		x.LeftOut = append(x.LeftOut, leftOut(l))
	}
	if e.Parsed.Err != nil {
		x.Problem = e.Parsed.Err.Error()
	}
	for _, s := range e.Parsed.Commands {
		c := explainedCommand{Safe: s.Safe(), Started: s.Started}
		for _, w := range s.Words {
			c.Words = append(c.Words, w.Text)
		}
		x.Parsed = append(x.Parsed, c)
	}
	return x
}

// explain prints an explanation for people.
func explain(w io.Writer, e explanation) {
	fmt.Fprintf(w, "command   %s\n", strings.ReplaceAll(visible.String(e.Command), "\n", "\n          "))
	switch {
	case e.Problem != "":
		fmt.Fprintf(w, "parsed    no: %s\n", visible.Line(e.Problem))
	case len(e.Parsed) == 0:
		fmt.Fprintln(w, "parsed    no command in it")
	}
	const shown = 40
	for i, c := range e.Parsed {
		if i == shown {
			fmt.Fprintf(w, "          … and %d more\n", len(e.Parsed)-shown)
			break
		}
		label := "parsed    "
		if i > 0 {
			label = "          "
		}
		what := "may do more than read"
		if c.Safe {
			what = "only reads"
		}
		if c.Started {
			what += ", started by another"
		}
		fmt.Fprintf(w, "%s%d. %q (%s)\n", label, i+1, c.Words, what)
	}
	if len(e.Odd) > 0 {
		fmt.Fprintf(w, "has       %s\n", strings.Join(e.Odd, ", "))
	}
	if e.HarmWhy != "" {
		fmt.Fprintf(w, "harm      %s: %s\n", e.Harm, visible.Line(e.HarmWhy))
	}
	fmt.Fprintf(w, "verdict   %s: %s (policy %s)\n", e.Verdict, visible.Line(e.By), e.Policy)
	if e.Reason != "" {
		fmt.Fprintf(w, "because   %s\n", visible.Line(e.Reason))
	}
	if e.Offer != "" {
		fmt.Fprintf(w, "offered   %s\n", visible.Line(e.Offer))
	}
	explainSandbox(w, e.Sandbox)
	for i, l := range e.LeftOut {
		label := "left out  "
		if i > 0 {
			label = "          "
		}
		fmt.Fprintf(w, "%s%s: %s\n", label, visible.Line(l.Name), l.Why)
	}
}

func explainSandbox(w io.Writer, v reach) {
	fmt.Fprintf(w, "sandbox   %s\n", v.Mode)
	line := func(name string, list []string) {
		for i, s := range list {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "  %-10s %s\n", name, visible.Line(s))
		}
	}
	line("reads", []string{v.Readable})
	line("writes", orNothing(v.Writable))
	line("protected", v.Protected)
	line("hidden", v.Hidden)
	line("network", []string{v.Network})
}

func orNothing(list []string) []string {
	if len(list) == 0 {
		return []string{"nothing"}
	}
	return list
}
