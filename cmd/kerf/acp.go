package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/internal/front/acp"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

const acpAbout = `Lets an editor drive Kerf over the Agent Client Protocol, on stdin and stdout.

Configure the editor to start:  kerf acp
See doc/acp.md for the settings of common editors.`

func (p *program) acpCommand() *cobra.Command {
	var addDirs []string
	cmd := &cobra.Command{Use: "acp", Short: "Serve an editor over the Agent Client Protocol", Long: acpAbout, Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.acp(cmd.Context(), addDirs) }}
	cmd.Flags().StringArrayVar(&addDirs, "add-dir", nil, "a further writable `directory`")
	return cmd
}

func (p *program) acp(ctx context.Context, addDirs []string) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := acp.Options{Sessions: places{h, p}, Check: h.Ready, Version: host.Version, SignIn: "Run `kerf login` in a terminal, or set the variable that the provider's env_key names",
		Open: protocol.OpenOptions{AddDirs: addDirs, Settings: protocol.Settings{
			Approval: protocol.ApprovalPolicy(h.Config.ApprovalPolicy), Sandbox: protocol.SandboxMode(h.Config.SandboxMode)}}}
	o.Library = h
	if d, ok := any(h).(protocol.Desk); ok {
		o.Desk = d
	}
	return acp.Serve(ctx, o, p.stdin, p.stdout)
}
