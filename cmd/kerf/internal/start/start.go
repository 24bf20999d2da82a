// Package start has the commands that open sessions: headless, in the terminal UI,
// and for editors and other programs.
package start

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/guarding"
	"kerf/cmd/kerf/internal/program"
)

// Add gives root the commands; root itself is the terminal UI.
func Add(p *program.Program, root *cobra.Command) {
	root.AddCommand(execCommand(p), reviewCommand(p), initCommand(p), demoCommand(p), acpCommand(p), mcpServerCommand(p),
		guarding.Command(p), serveCommand(p), attachCommand(p))
	addTUI(p, root)
}
