package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/tui/terminal"
	"kerf/internal/host"
	"kerf/internal/text/spelling"
	"kerf/internal/text/visible"
)

const loginLong = `Stores the key of a provider in the keyring or in auth.json. Only you can read that file.
You type the key without echo, or pipe it in with --with-api-key. It is never an argument,
because every program on the machine can see arguments. Kerf asks the provider to check the
key before it stores it. If the configuration has OAuth endpoints for the provider, you sign
in with a code that you enter in a browser, or with --browser in a browser on this machine:
OpenRouter is ready for that.`

func loginCommand(p *program.Program) *cobra.Command {
	var fromStdin, unchecked, browser bool
	cmd := &cobra.Command{Use: "login [PROVIDER]", Short: "Sign in to a model provider", Long: loginLong,
		Args:    program.AtMost(1),
		Example: "  kerf login openai\n  pass show openai | kerf login openai --with-api-key\n  kerf login status",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			return runLogin(p, cmd, h, args, fromStdin, !unchecked, browser)
		}}
	cmd.Flags().BoolVar(&fromStdin, "with-api-key", false, "read the key from standard input")
	cmd.Flags().BoolVar(&browser, "browser", false, "sign in with a browser on this machine")
	cmd.Flags().BoolVar(&unchecked, "no-check", false, "store the key without asking the provider")
	var asJSON bool
	status := &cobra.Command{Use: "status", Short: "Show where keys come from", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return loginStatus(p, asJSON) }}
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(status)
	return cmd
}

func logoutCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "logout [PROVIDER]", Short: "Forget the stored key of a provider", Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			name := h.Config.ModelProvider
			if len(args) > 0 {
				name = args[0]
			}
			if err := h.Keys().Logout(name); err != nil {
				return err
			}
			fmt.Fprintf(p.Stderr, "forgot the key of %s\n", name)
			return nil
		}}
}

func runLogin(p *program.Program, cmd *cobra.Command, h *host.Host, args []string,
	fromStdin, check, browser bool) error {
	name, err := loginProvider(p, h, args, fromStdin)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var where string
	has, needs := h.Keys().HasBrowserFlow(name)
	if browser && !has {
		return program.Misuse("provider %s is not signed in to with a browser; it has no oauth.authorization_url", name)
	}
	if (browser || needs) && !fromStdin {
		where, err = h.Keys().LoginBrowser(ctx, name, func(address string) {
			fmt.Fprintf(p.Stderr, "Open %s in a browser on this machine and sign in\n", visible.Plain(address))
		})
	} else if h.Keys().HasDeviceFlow(name) && !fromStdin {
		where, err = h.Keys().LoginDevice(ctx, name, func(url, complete, code string) {
			fmt.Fprintf(p.Stderr, "Open %s in a browser and enter the code %s\n", visible.Plain(url), visible.Plain(code))
			if complete != "" {
				fmt.Fprintf(p.Stderr, "or open %s\n", visible.Plain(complete))
			}
		})
	} else {
		var key string
		if key, err = readKey(p, name, fromStdin); err == nil {
			where, err = h.Keys().Login(ctx, name, key, check)
		}
	}
	if ctx.Err() != nil {
		return &program.Error{Code: 130, Err: errors.New("interrupted; nothing was stored")}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "signed in to %s; the key is in %s\n", name, where)
	return nil
}

// loginProvider is the provider that is named, asked for, or chosen.
func loginProvider(p *program.Program, h *host.Host, args []string, fromStdin bool) (string, error) {
	names := h.Keys().LoginProviders()
	if len(args) > 0 {
		if near := spelling.Nearest(args[0], append([]string{"status"}, names...)); near != "" && near != args[0] {
			return "", program.Misuse("unknown provider or command %q for kerf login; did you mean kerf login %s?", args[0],
				near)
		}
		if !slices.Contains(names, args[0]) {
			return "", program.Misuse("provider %q has no key to store; these have one: %s", args[0], strings.Join(names, ", "))
		}
		return args[0], nil
	}
	if fromStdin || !program.IsTerminal(p.Stdin) {
		if !slices.Contains(names, h.Config.ModelProvider) {
			return "", program.Misuse("provider %s needs no key; name one of %s", h.Config.ModelProvider,
				strings.Join(names, ", "))
		}
		return h.Config.ModelProvider, nil
	}
	for i, name := range names {
		fmt.Fprintf(p.Stderr, "%2d  %s\n", i+1, name)
	}
	line, err := p.Ask(p.Stderr, "provider [%s]: ", h.Config.ModelProvider)
	if err != nil {
		return "", program.Misuse("no provider was chosen")
	}
	for i, name := range names {
		if line == name || line == fmt.Sprint(i+1) {
			return name, nil
		}
	}
	if line == "" && slices.Contains(names, h.Config.ModelProvider) {
		return h.Config.ModelProvider, nil
	}
	return "", program.Misuse("%q is none of these", line)
}

// maxKey bounds a key on standard input.
const maxKey = 64 << 10

func readKey(p *program.Program, name string, fromStdin bool) (string, error) {
	if !fromStdin {
		if !program.IsTerminal(p.Stdin) {
			return "", program.Misuse("no terminal to type the key on; pipe it in with --with-api-key")
		}
		terminal.Forget(p.Stdin)
		fmt.Fprintf(p.Stderr, "key of %s (not shown): ", name)
		key, err := term.ReadPassword(int(p.Stdin.Fd()))
		fmt.Fprintln(p.Stderr)
		if err != nil {
			return "", program.Misuse("the key cannot be read: %v", err)
		}
		return string(key), nil
	}
	if program.IsTerminal(p.Stdin) {
		return "", program.Misuse("--with-api-key needs a pipe; leave it out to type the key")
	}
	b, err := io.ReadAll(io.LimitReader(p.Stdin, maxKey+1))
	if err != nil {
		return "", program.Misuse("standard input: %v", err)
	}
	if len(b) > maxKey {
		return "", program.Misuse("standard input has more than %d bytes; this is not a key", maxKey)
	}
	return string(b), nil
}

func loginStatus(p *program.Program, asJSON bool) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	states, err := h.Keys().LoginStates()
	if err != nil {
		return err
	}
	if asJSON {
		return print.JSON(p.Stdout, states)
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	any := false
	for _, s := range states {
		any = any || s.Source != "none" && !strings.HasPrefix(s.Source, "cloud ") // which may have nothing
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Provider, s.Source, s.Key)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !any {
		return &program.Error{Code: 1, Err: errors.New("you are not signed in to any provider"), Hint: "kerf login PROVIDER"}
	}
	return nil
}
