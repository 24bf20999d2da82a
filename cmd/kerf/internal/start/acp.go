package start

import (
	"context"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/acp"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

const acpAbout = `Lets an editor drive Kerf over the Agent Client Protocol, on stdin and stdout.

Configure the editor to start:  kerf acp
"kerf help acp" has the settings of common editors.`

func acpCommand(p *program.Program) *cobra.Command {
	var addDirs []string
	var served bool
	cmd := &cobra.Command{Use: "acp", Short: "Serve an editor over the Agent Client Protocol", Long: acpAbout,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case served && len(addDirs) > 0:
				return program.Misuse("--add-dir: the editor of a session in kerf serve names the directories itself")
			case served:
				return serverError(bridge(cmd.Context(), p))
			}
			return runACP(cmd.Context(), p, addDirs)
		}}
	cmd.Flags().BoolVar(&served, "serve", false, "use the sessions of kerf serve, which go on when the editor is closed")
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
	return acp.Serve(ctx, acpOptions(h, Places{Host: h, Program: p}, addDirs), p.Stdin, p.Stdout)
}

func acpOptions(h *host.Host, sessions protocol.Sessions, addDirs []string) acp.Options {
	return acp.Options{Sessions: sessions, Store: h.Sessions(), Check: h.Ready, Version: host.Version,
		SignIn:  "Run `kerf login` in a terminal, or set the variable that the provider's env_key names",
		AddDirs: addDirs, Query: h.Query()}
}

// bridge joins the editor on stdin and stdout to the server.
func bridge(ctx context.Context, p *program.Program) error {
	c, err := serverOf(p)
	if err != nil {
		return err
	}
	conn, err := c.ACP(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, p.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite() // the editor has gone; the answers under way still come
	}()
	_, err = io.Copy(p.Stdout, conn)
	return err
}
