package main

import (
	"github.com/spf13/cobra"
)

const sandboxAbout = `Run one command in the sandbox that the agent's commands run in.

The command has the standard streams and gets the signals that Kerf gets; its exit
code becomes Kerf's, 128 and the number of the signal when one ended it. Kerf's own
lines go to standard error. Code 125: the sandbox could not be set up, and the
command did not run; 126: it could not be started; 127: it was not found.

  kerf sandbox -- go test ./...
  kerf sandbox --sandbox workspace-write -- sh -c 'echo x > file'
  kerf sandbox -c sandbox_workspace_write.network_access=true -s workspace-write -- curl localhost:8080`

func (p *program) sandboxCommand() *cobra.Command {
	var mode string
	var dirs []string
	cmd := &cobra.Command{Use: "sandbox [flags] -- COMMAND [ARG ...]", Short: "Run one command in the sandbox", Long: sandboxAbout,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse("which command? kerf sandbox -- COMMAND")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			code, err := h.Sandboxed(cmd.Context(), mode, dirs, args, p.stdin, p.stdout, p.stderr)
			if err != nil {
				return &codeError{code: code, err: err}
			}
			return silent(code)
		}}
	cmd.Flags().StringVarP(&mode, "sandbox", "s", "", "read-only, workspace-write or danger-full-access (`mode`); without it the configured one")
	cmd.Flags().StringArrayVar(&dirs, "add-dir", nil, "a further writable `directory`")
	cmd.Flags().SetInterspersed(false)
	return cmd
}
