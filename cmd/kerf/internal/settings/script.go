package settings

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/sessions/scenario"
	"kerf/internal/text/visible"
)

const scriptLong = `A scenario is a file with the answers of a model, one for each request. --record writes a
session into one. The provider "script" plays it. kerf help scenario describes the format.`

func scriptCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "script", Short: "Check and serve scenarios", Long: scriptLong,
		Example: "  kerf exec --record fix.json \"fix the test\"\n" +
			"  kerf script check fix.json\n" +
			"  kerf exec -c model_provider=script -c model_providers.script.base_url=fix.json \"fix the test\"",
		Args: program.AtMost(0), RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	check := &cobra.Command{Use: "check FILE...", Short: "Check scenarios and show what is wrong with them",
		Args: program.Between(1, 1000),
		RunE: func(cmd *cobra.Command, args []string) error { return scriptCheck(p, args) }}
	serve := &cobra.Command{Use: "serve FILE", Short: "Play a scenario as a model provider on this machine",
		Args: program.Between(1, 1),
		Long: "Prints a base_url and answers there until it is interrupted, in the wire protocol of each request\n" +
			"(responses, chat, anthropic, gemini). Request n gets round n.",
		RunE: func(cmd *cobra.Command, args []string) error { return scriptServe(p, args[0]) }}
	cmd.AddCommand(check, serve)
	return cmd
}

func scriptCheck(p *program.Program, files []string) error {
	bad := false
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return program.Misuse("%v", err)
		}
		report, err := scenario.Check(f)
		_ = f.Close() // it was only read
		if err != nil {
			bad = true
			fmt.Fprintf(p.Stderr, "kerf: %s: %v\n", visible.Plain(name), err)
			continue
		}
		fmt.Fprintf(p.Stdout, "%s: ok, %d rounds, %d calls, %d with expectations, %s matching\n", visible.Plain(name),
			report.Rounds,
			report.Calls, report.Expectations, report.Matching)
		for _, w := range report.Warnings {
			fmt.Fprintf(p.Stderr, "%s: warning: %s\n", visible.Plain(name), w)
		}
	}
	if bad {
		return program.Exit(1)
	}
	return nil
}

func scriptServe(p *program.Program, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return program.Misuse("%v", err)
	}
	defer f.Close()
	url, stop, err := scenario.Serve(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer stop()
	fmt.Fprintln(p.Stdout, url)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(ended)
	<-ended
	return nil
}
