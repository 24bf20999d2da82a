package start

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/acp"
	"kerf/internal/host"
)

const acpAbout = `Lets an editor drive Kerf over the Agent Client Protocol, on stdin and stdout.

Configure the editor to start:  kerf acp
"kerf help acp" has the settings of common editors.`

func acpCommand(p *program.Program) *cobra.Command {
	var addDirs []string
	cmd := &cobra.Command{Use: "acp", Short: "Serve an editor over the Agent Client Protocol", Long: acpAbout,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runACP(cmd.Context(), p, addDirs) }}
	cmd.Flags().StringArrayVar(&addDirs, "add-dir", nil, "a further writable `directory`")
	return cmd
}

func runACP(ctx context.Context, p *program.Program, addDirs []string) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := acp.Options{Sessions: Places{h, p}, Store: h.Sessions(), Check: h.Ready, Version: host.Version,
		SignIn:  "Run `kerf login` in a terminal, or set the variable that the provider's env_key names",
		AddDirs: addDirs}
	o.Query = h.Query()
	return acp.Serve(ctx, o, p.Stdin, p.Stdout)
}
