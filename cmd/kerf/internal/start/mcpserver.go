package start

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/within"
	"kerf/internal/config"
	"kerf/internal/front/mcpserver"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

const mcpServerAbout = `Serves Kerf to other programs over the Model Context Protocol.

The file tools (read_file, edit_file, apply_patch, undo, diff, log, blame ...) check versions: they do
not edit a file that changed meanwhile. Every change can be taken back. The tools kerf and kerf-reply
run the agent itself.

  kerf mcp-server                                        over stdin and stdout
  kerf mcp-server --http 127.0.0.1:7337                  over HTTP, at /mcp

Over HTTP each request needs a bearer token: the one of --token-file, of KERF_MCP_TOKEN or of --token.
Without one Kerf makes a token for this run and prints it once. Clients reach what lies in the directory
where the server was started, in those of --add-dir and in the writable roots of the configuration. They
get no wider sandbox or approval policy than is configured, and no answer of theirs lets a command out
of the sandbox, unless the server was started with --allow-full-access.`

// mcpServerFlags are the flags of kerf mcp-server.
type mcpServerFlags struct {
	http, token, tokenFile string
	addDirs                []string
	fullAccess             bool
}

func mcpServerCommand(p *program.Program) *cobra.Command {
	var f mcpServerFlags
	cmd := &cobra.Command{Use: "mcp-server", Short: "Serve Kerf's file engine and agent over MCP", Long: mcpServerAbout,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCPServer(cmd.Context(), p, f) }}
	cmd.Flags().StringVar(&f.http, "http", "", "listen on this `address` instead of stdin and stdout")
	cmd.Flags().StringVar(&f.token, "token", "", "bearer `token` that HTTP clients must send (others can see it in "+
		"the process list; --token-file hides it)")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "read the bearer token from this `file`")
	cmd.Flags().StringArrayVar(&f.addDirs, "add-dir", nil, "a further `directory` that may be read and changed")
	cmd.Flags().BoolVar(&f.fullAccess, "allow-full-access", false, "over HTTP, too, clients choose sandbox and "+
		"approval policy, and answer questions about commands outside of the sandbox")
	return cmd
}

func runMCPServer(ctx context.Context, p *program.Program, f mcpServerFlags) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	places := Places{Host: h, Program: p}
	o := mcpserver.Options{Version: host.Version, Open: protocol.OpenOptions{AddDirs: f.addDirs}}
	hidden := func(dir string) string { return host.Hidden(h, f.addDirs)(dir) }
	if f.http == "" {
		bound := within.Anywhere(hidden)
		o.Engine, o.Sessions = bound.Engine(h.Engine(f.addDirs)), bound.Sessions(places, h.Sessions().Find)
		return mcpserver.Stdio(ctx, o, p.Stdin, nopCloser{p.Stdout})
	}
	token, made, err := f.secret(p)
	if err != nil {
		return err
	}
	// Other programs reach the port: they do not speak for the user.
	if !f.fullAccess {
		places.Limit = noWider
	}
	bound := within.New(hidden, h.Config.Cwd, f.addDirs, h.Config.WorkspaceWrite.WritableRoots)
	o.Engine, o.Sessions = bound.Engine(h.Engine(f.addDirs)), bound.Sessions(places, h.Sessions().Find)
	l, err := mcpserver.Listen(ctx, f.http)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "kerf: serving MCP at http://%s/mcp\n", l.Addr())
	if made {
		fmt.Fprintf(p.Stderr, "kerf: the token of this run: %s\n", token)
	}
	return mcpserver.HTTP(ctx, o, l, token)
}

// noWider refuses what is wider than the user configured for a directory. Where the user chose no
// sandbox, workspace-write is not: the file tools write there as well.
func noWider(c *config.Config, o *protocol.OpenOptions) error {
	sandbox, approval := c.Modes("", "")
	most := protocol.Settings{Sandbox: protocol.SandboxMode(sandbox), Approval: protocol.ApprovalPolicy(approval)}
	if c.SandboxMode == "" {
		most.Sandbox = protocol.SandboxWorkspace
	}
	if c.Origin("approval_policy") == "default" {
		most.Approval = ""
	}
	if why := o.Settings.Wider(most); why != "" {
		return fmt.Errorf("DENIED: %s, which the user allows over HTTP. The user can start kerf mcp-server with "+
			"--allow-full-access, or configure it", why)
	}
	o.Bounds.Confined = most.Mode().Sandbox() != protocol.SandboxFull
	return nil
}

// secret is the token, from wherever it was given, or one that was made now.
func (f mcpServerFlags) secret(p *program.Program) (token string, made bool, err error) {
	switch {
	case f.token != "" && f.tokenFile != "":
		return "", false, program.Misuse("give --token or --token-file, not both")
	case f.tokenFile != "":
		token, err = f.fromFile()
	case f.token != "":
		token = f.token
	case p.Getenv(tokenVariable) != "":
		token = strings.TrimSpace(p.Getenv(tokenVariable))
	default:
		return rand.Text(), true, nil
	}
	if err == nil && !wellFormed(token) {
		err = program.Misuse("the token must be %d letters or more, without spaces", leastToken)
	}
	return token, false, err
}

const (
	tokenVariable = "KERF_MCP_TOKEN"
	leastToken    = 12 // shorter ones can be tried out
)

// wellFormed reports whether a token can stand in a header and cannot be guessed.
func wellFormed(token string) bool {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	return len(token) >= leastToken && !strings.ContainsFunc(token, odd)
}

func (f mcpServerFlags) fromFile() (string, error) {
	b, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", program.Misuse("--token-file: %v", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", program.Misuse("--token-file %s is empty", f.tokenFile)
	}
	return token, nil
}

// nopCloser leaves the stream to the program.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
