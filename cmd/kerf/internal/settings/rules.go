package settings

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/agent/policy"
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
			rule, err := h.RemoveRule(args[0])
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
		fmt.Fprintln(p.Stdout, "no rules; doc/approvals.md says how to write them")
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
