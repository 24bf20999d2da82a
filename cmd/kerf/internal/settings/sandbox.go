package settings

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

const sandboxAbout = `Run one command in the sandbox that the agent's commands run in.

The command uses Kerf's standard streams and gets the signals that Kerf gets. Kerf exits
with the command's exit code, or with 128 plus the number of the signal that ended it.
Kerf's own messages go to standard error. Exit code 125: the sandbox could not be set up
and the command did not run. 126: the command could not be started. 127: it was not found.

  kerf sandbox -- go test ./...
  kerf sandbox --sandbox workspace-write -- sh -c 'echo x > file'
  kerf sandbox -c sandbox_workspace_write.network_access=true -s workspace-write -- curl localhost:8080`

func sandboxCommand(p *program.Program) *cobra.Command {
	var mode string
	var dirs []string
	cmd := &cobra.Command{Use: "sandbox [flags] -- COMMAND [ARG ...]", Short: "Run one command in the sandbox",
		Long: sandboxAbout,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return program.Misuse("which command? kerf sandbox -- COMMAND")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			c, err := h.Sandboxed(mode, dirs, args)
			if err != nil {
				return program.Misuse("%w", err)
			}
			code, err := c.Run(cmd.Context(), p.Stdin, program.Stream(p.Stdout), p.Stderr)
			if err != nil {
				return &program.Error{Code: code, Err: err}
			}
			return program.Exit(code)
		}}
	cmd.Flags().StringVarP(&mode, "sandbox", "s", "",
		"read-only, workspace-write or danger-full-access (`mode`); the default is the configured one")
	cmd.Flags().StringArrayVar(&dirs, "add-dir", nil, "a further writable `directory`")
	cmd.Flags().SetInterspersed(false)
	return cmd
}
