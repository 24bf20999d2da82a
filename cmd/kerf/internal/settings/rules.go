package settings

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/agent/policy"
	"kerf/internal/config"
	"kerf/internal/host"
	"kerf/internal/text/visible"
)

// rulesCommand lists, checks and removes the rules for commands.
func rulesCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "List, check and remove the rules that decide about commands",
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	list := &cobra.Command{Use: "list", Short: "Print all rules that apply here, with file and line",
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			list, err := h.Rules()
			if err != nil {
				return err
			}
			printRules(p, list)
			return nil
		}}
	check := &cobra.Command{Use: "check [FILE...]",
		Short: "Check rules and their examples; exit code 2 for the first wrong one",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			list, err := checkRules(h, args)
			if err != nil {
				return program.Misuse("%v", err)
			}
			fmt.Fprintf(p.Stdout, "%d rules: all are well formed and their examples are right\n", len(list))
			return nil
		}}
	remove := &cobra.Command{Use: "remove RULE | FILE:LINE", Short: "Remove one of your own rules",
		Args:    program.Between(1, 1),
		Example: "  kerf rules remove 'go test -> allow in /src/app'\n  kerf rules remove ~/.kerf/rules/default.rules:3",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			rule, err := removeRule(h.Config, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "removed: %s\n", visible.Line(rule.String()))
			return nil
		}}
	cmd.AddCommand(list, check, remove)
	return cmd
}

func printRules(p *program.Program, list []policy.Rule) {
	for _, r := range list {
		fmt.Fprintf(p.Stdout, "%s: %s\n", visible.Line(r.At()), visible.Line(r.String()))
		if r.Why != "" {
			fmt.Fprintf(p.Stdout, "    because %s\n", visible.Line(r.Why))
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "no rules; kerf help approvals says how to write them")
	}
}

// checkRules reads the given files, or all rules that hold here.
func checkRules(h *host.Host, files []string) ([]policy.Rule, error) {
	if len(files) == 0 {
		return h.Rules()
	}
	var all []policy.Rule
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := policy.ParseRules(name, data)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// removeRule takes one of the user's rules away and returns it. What names it by its
// text, or by FILE:LINE.
func removeRule(c *config.Config, what string) (policy.Rule, error) {
	files, err := c.RulesFiles(false)
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
