package settings

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config"
	"kerf/internal/config/document"
	"kerf/internal/config/edit"
	"kerf/internal/host"
	"kerf/internal/text/visible"
)

const mcpAbout = `Manages the MCP servers whose tools sessions may use.

  kerf mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  kerf mcp add tracker --url https://mcp.example.com/mcp
  kerf mcp login tracker

Servers are configured in config.toml under [mcp_servers.NAME]; kerf help mcp lists the keys.`

func mcpCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Manage MCP servers", Long: mcpAbout, Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(mcpAdd(p), mcpList(p), mcpGet(p), mcpRemove(p), mcpLogin(p), mcpLogout(p))
	return cmd
}

func mcpAdd(p *program.Program) *cobra.Command {
	var env, headers []string
	var url, cwd, bearer string
	cmd := &cobra.Command{Use: "add NAME [--env K=V] [--cwd DIR] -- CMD [ARG...] | add NAME --url URL",
		Short: "Add a server, or replace it",
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if len(args) == 0 || dash == 0 || dash < 0 && len(args) > 1 {
				return program.Misuse("kerf mcp add NAME -- CMD [ARG...], or kerf mcp add NAME --url URL")
			}
			s := map[string]any{}
			switch command := args[1:]; {
			case url != "" && len(command) > 0:
				return program.Misuse("give a command or --url, not both")
			case url != "":
				s["url"] = url
			case len(command) == 0:
				return program.Misuse("the server has no command and no URL; use: kerf mcp add %s -- CMD [ARG...], or --url URL",
					args[0])
			default:
				s["command"] = command[0]
				if len(command) > 1 {
					s["args"] = command[1:]
				}
			}
			return addServer(p, args[0], s, pairs{"env": env, "http_headers": headers}, cwd, bearer)
		}}
	f := cmd.Flags()
	f.StringArrayVar(&env, "env", nil, "a variable for the program, `KEY=VALUE`; may be repeated")
	f.StringVar(&url, "url", "", "the `address` of a server that speaks streamable HTTP or SSE")
	f.StringArrayVar(&headers, "header", nil, "a header for every request, `Name=Value`; may be repeated")
	f.StringVar(&bearer, "bearer-token-env-var", "", "the environment `variable` that holds the bearer token")
	f.StringVar(&cwd, "cwd", "", "the `directory` the program runs in")
	return cmd
}

// pairs are flags of the form KEY=VALUE, by the setting they make.
type pairs map[string][]string

func addServer(p *program.Program, name string, s map[string]any, lists pairs, cwd, bearer string) error {
	if name == "" || strings.ContainsAny(name, "./\\\"' \t\n") {
		return program.Misuse("server name %q: use letters, digits, - and _", name)
	}
	for key, list := range lists {
		table := map[string]any{}
		for _, kv := range list {
			k, v, ok := strings.Cut(kv, "=")
			if !ok || k == "" {
				return program.Misuse("%q: want KEY=VALUE", kv)
			}
			table[k] = v
		}
		if len(table) > 0 {
			s[key] = table
		}
	}
	if cwd != "" {
		s["cwd"] = cwd
	}
	if bearer != "" {
		s["bearer_token_env_var"] = bearer
	}
	file, err := userConfig(p)
	if err != nil {
		return err
	}
	if err := edit.Set(file, document.Key("mcp_servers", name), s); err != nil {
		return err
	}
	h, err := p.Host(nil)
	if err != nil { // what does not load must not stay
		if undo := edit.Unset(file, document.Key("mcp_servers", name)); undo != nil {
			return fmt.Errorf("%w; and %w", err, undo)
		}
		return err
	}
	fmt.Fprintf(p.Stdout, "added %s to %s\n", name, file)
	if why := h.MCP().Lacks(name); why != "" {
		fmt.Fprintf(p.Stderr, "kerf: warning: MCP server %s cannot start yet: %s\n", name, visible.Plain(why))
	}
	return nil
}

func userConfig(p *program.Program) (string, error) {
	home, err := config.HomeDir(p.Getenv)
	if err != nil {
		return "", program.Misuse("%v", err)
	}
	return filepath.Join(home, "config.toml"), nil
}

// serverJSON is a server for programs. Values that are secrets are left out.
type serverJSON struct {
	Name      string   `json:"name"`
	Enabled   bool     `json:"enabled"`
	Transport string   `json:"transport"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	Env       []string `json:"env,omitempty"`
	Cwd       string   `json:"cwd,omitempty"`
	URL       string   `json:"url,omitempty"`
	Auth      string   `json:"auth"`
	State     string   `json:"state,omitempty"`
	Error     string   `json:"error,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	// From is the file of another agent that names the server, NotUsed why it is not
	// used, Reads the variables that it gets, and Ignored the keys that have no effect.
	From    string   `json:"from,omitempty"`
	NotUsed string   `json:"not_used,omitempty"`
	Reads   []string `json:"reads,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
}

func describe(h *host.Host, name string, s config.MCPServer) serverJSON {
	if p, ok := h.Config.Peers.Server(name); ok {
		out := peerJSON(h.Config, p)
		if s.URL != "" && out.Auth == "none" && h.MCP().SignedIn(name) {
			out.Auth = "signed in"
		}
		return out
	}
	out := serverJSON{Name: name, Enabled: s.Enabled, Transport: "stdio", Command: s.Command, Args: s.Args, Cwd: s.Cwd,
		URL: shownURL(s.URL),
		Env: slices.Sorted(maps.Keys(s.Env)), Auth: "none"}
	if s.URL == "" {
		return out
	}
	out.Transport = "http"
	switch {
	case s.BearerTokenEnvVar != "":
		out.Auth = "bearer token from " + s.BearerTokenEnvVar
	case h.MCP().SignedIn(name):
		out.Auth = "signed in"
	}
	return out
}

func mcpList(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the configured servers", Args: program.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			list := []serverJSON{}
			for _, name := range slices.Sorted(maps.Keys(h.Config.MCPServers)) {
				list = append(list, describe(h, name, h.Config.MCPServers[name]))
			}
			list = append(list, unusedPeers(h.Config)...)
			if asJSON {
				return print.JSON(p.Stdout, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(p.Stdout, "no MCP servers are configured; add one with: kerf mcp add NAME -- CMD")
			}
			for _, s := range list {
				fmt.Fprintln(p.Stdout, s.line())
			}
			for _, f := range h.Config.Peers.Faults {
				fmt.Fprintf(p.Stderr, "kerf: %s: %s\n", visible.Plain(shownIn(h.Config, f.File)), visible.Plain(f.Why))
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// shownURL is an address without its password, and without values of its query that
// are secret by their names.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil && u.RawQuery == "" {
		return text
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "***")
	}
	query := u.Query()
	for name := range query {
		if host.SecretName(name) {
			query.Set(name, "***")
		}
	}
	u.RawQuery = query.Encode()
	return strings.ReplaceAll(u.String(), "%2A%2A%2A", "***")
}

func (s serverJSON) line() string {
	what := s.URL
	if s.Command != "" {
		what = strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	state := ""
	if !s.Enabled && s.NotUsed == "" {
		state = "  (off)"
	}
	if s.Auth != "none" {
		state += "  " + s.Auth
	}
	return fmt.Sprintf("%-16s %s%s%s", visible.Plain(s.Name), visible.Plain(what), state, s.origin())
}

func mcpGet(p *program.Program) *cobra.Command {
	var asJSON, check bool
	cmd := &cobra.Command{Use: "get NAME", Short: "Show one server; with --check, start it and list its tools",
		Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			s, err := h.MCP().Server(args[0])
			if why := unusedPeer(h.Config, args[0]); err != nil && why != "" {
				return fmt.Errorf("MCP server %q is not used: %s", args[0], why)
			}
			if err != nil {
				return err
			}
			out := describe(h, args[0], s)
			if check {
				st, err := h.MCP().Check(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				out.State, out.Error, out.Tools = st.State, st.Error, st.Tools
			}
			if asJSON {
				err = print.JSON(p.Stdout, out)
			} else {
				serverText(p, out)
			}
			if err == nil && out.Error != "" {
				return program.Exit(1)
			}
			return err
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&check, "check", false, "start the server and show its state")
	return cmd
}

func serverText(p *program.Program, s serverJSON) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(p.Stdout, "%-10s %s\n", name, visible.Plain(value))
		}
	}
	row("name", s.Name)
	row("enabled", fmt.Sprint(s.Enabled))
	row("transport", s.Transport)
	row("command", strings.Join(append([]string{s.Command}, s.Args...), " "))
	row("env", strings.Join(s.Env, " "))
	row("cwd", s.Cwd)
	row("url", s.URL)
	row("auth", s.Auth)
	row("state", s.State)
	row("error", s.Error)
	row("tools", strings.Join(s.Tools, " "))
	row("from", s.From)
	row("reads", strings.Join(s.Reads, " "))
	row("ignored", strings.Join(s.Ignored, " "))
}

func mcpRemove(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Short: "Remove a server", Args: program.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if _, err := h.MCP().Server(args[0]); err != nil {
				fmt.Fprintf(p.Stdout, "no MCP server %q is configured; nothing was removed\n", args[0])
				return nil
			}
			if s, ok := h.Config.Peers.Server(args[0]); ok && s.Plugin != "" {
				return fmt.Errorf("plugin %s brings %s; kerf plugin remove %s takes the plugin away", s.Plugin, args[0], s.Plugin)
			} else if ok {
				return fmt.Errorf("%s names %s; take it out there, or run: kerf trust --no", s.File, args[0])
			}
			file, err := userConfig(p)
			if err != nil {
				return err
			}
			if err := edit.Unset(file, document.Key("mcp_servers", args[0])); err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "removed %s from %s\n", args[0], file)
			return nil
		}}
}

func mcpLogin(p *program.Program) *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{Use: "login NAME", Short: "Sign in to a server with OAuth", Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return signIn(ctx, p, h, args[0], scopes)
		}}
	cmd.Flags().StringSliceVar(&scopes, "scopes", nil, "ask for these `scopes`")
	return cmd
}

func signIn(ctx context.Context, p *program.Program, h *host.Host, name string, scopes []string) error {
	err := h.MCP().Login(ctx, name, scopes, func(url string) {
		fmt.Fprintf(p.Stdout, "Open this address to sign in to %s:\n\n  %s\n\n", name, url)
		fmt.Fprintln(p.Stderr, "waiting for the browser to come back …")
	})
	if err != nil {
		return fmt.Errorf("sign in to %s: %w", name, err)
	}
	fmt.Fprintf(p.Stdout, "signed in to %s\n", name)
	return nil
}

func mcpLogout(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "logout NAME", Short: "Forget the sign-in to a server", Args: program.Between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			had, err := h.MCP().Logout(args[0])
			if err != nil {
				return err
			}
			if !had {
				fmt.Fprintf(p.Stdout, "you were not signed in to %s\n", args[0])
				return nil
			}
			fmt.Fprintf(p.Stdout, "signed out of %s\n", args[0])
			return nil
		}}
}
