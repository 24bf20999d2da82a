package main

import (
	"bufio"
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

	"kerf/internal/host"
)

const loginLong = `Stores the key of a provider, in the keyring or in auth.json, which only you can read.
The key is typed without echo, or read from standard input with --with-api-key; it is never
an argument, because arguments are seen by every program of the machine. It is checked with
the provider first. A provider with oauth endpoints in the configuration is signed in to by
a code that you enter in a browser.`

func (p *program) loginCommand() *cobra.Command {
	var fromStdin, unchecked bool
	cmd := &cobra.Command{Use: "login [PROVIDER]", Short: "Sign in to a model provider", Long: loginLong, Args: atMost(1),
		Example: "  kerf login openai\n  pass show openai | kerf login openai --with-api-key\n  kerf login status",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			return p.login(cmd, h, args, fromStdin, !unchecked)
		}}
	cmd.Flags().BoolVar(&fromStdin, "with-api-key", false, "read the key from standard input")
	cmd.Flags().BoolVar(&unchecked, "no-check", false, "store the key without asking the provider")
	var asJSON bool
	status := &cobra.Command{Use: "status", Short: "Say where keys come from", Args: atMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return p.loginStatus(asJSON) }}
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(status)
	return cmd
}

func (p *program) logoutCommand() *cobra.Command {
	return &cobra.Command{Use: "logout [PROVIDER]", Short: "Forget the stored key of a provider", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			name := h.Config.ModelProvider
			if len(args) > 0 {
				name = args[0]
			}
			if err := h.Logout(name); err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "forgot the key of %s\n", name)
			return nil
		}}
}

func (p *program) login(cmd *cobra.Command, h *host.Host, args []string, fromStdin, check bool) error {
	name, err := p.loginProvider(h, args, fromStdin)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var where string
	if h.HasDeviceFlow(name) && !fromStdin {
		where, err = h.LoginDevice(ctx, name, func(url, complete, code string) {
			fmt.Fprintf(p.stderr, "Open %s in a browser and enter the code %s\n", url, code)
			if complete != "" {
				fmt.Fprintf(p.stderr, "or open %s\n", complete)
			}
		})
	} else {
		var key string
		if key, err = p.readKey(name, fromStdin); err == nil {
			where, err = h.LoginKey(ctx, name, key, check)
		}
	}
	if ctx.Err() != nil {
		return &codeError{code: 130, err: errors.New("interrupted; nothing was stored")}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "signed in to %s; the key is in %s\n", name, where)
	return nil
}

// loginProvider is the provider that is named, asked for, or chosen.
func (p *program) loginProvider(h *host.Host, args []string, fromStdin bool) (string, error) {
	names := h.LoginProviders()
	if len(args) > 0 {
		if !slices.Contains(names, args[0]) {
			return "", misuse("provider %q has no key to store; there are %s", args[0], strings.Join(names, ", "))
		}
		return args[0], nil
	}
	if fromStdin || !isTerminal(p.stdin) {
		if !slices.Contains(names, h.Config.ModelProvider) {
			return "", misuse("provider %s needs no key; name one of %s", h.Config.ModelProvider, strings.Join(names, ", "))
		}
		return h.Config.ModelProvider, nil
	}
	for i, name := range names {
		fmt.Fprintf(p.stderr, "%2d  %s\n", i+1, name)
	}
	fmt.Fprintf(p.stderr, "provider [%s]: ", h.Config.ModelProvider)
	line, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil {
		return "", misuse("no provider was chosen")
	}
	line = strings.TrimSpace(line)
	for i, name := range names {
		if line == name || line == fmt.Sprint(i+1) {
			return name, nil
		}
	}
	if line == "" && slices.Contains(names, h.Config.ModelProvider) {
		return h.Config.ModelProvider, nil
	}
	return "", misuse("%q is none of these", line)
}

// maxKey bounds a key on standard input.
const maxKey = 64 << 10

func (p *program) readKey(name string, fromStdin bool) (string, error) {
	if !fromStdin {
		if !isTerminal(p.stdin) {
			return "", misuse("no terminal to type the key on; pipe it in with --with-api-key")
		}
		fmt.Fprintf(p.stderr, "key of %s (not shown): ", name)
		key, err := term.ReadPassword(int(p.stdin.Fd()))
		fmt.Fprintln(p.stderr)
		if err != nil {
			return "", misuse("the key cannot be read: %v", err)
		}
		return string(key), nil
	}
	if isTerminal(p.stdin) {
		return "", misuse("--with-api-key reads a pipe; without it the key is typed")
	}
	b, err := io.ReadAll(io.LimitReader(p.stdin, maxKey+1))
	if err != nil {
		return "", misuse("standard input: %v", err)
	}
	if len(b) > maxKey {
		return "", misuse("standard input: this is no key, it has more than %d bytes", maxKey)
	}
	return string(b), nil
}

func (p *program) loginStatus(asJSON bool) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	states, err := h.LoginStates()
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(states)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	any := false
	for _, s := range states {
		any = any || s.Source != "none"
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Provider, s.Source, s.Key)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !any {
		return &codeError{code: 1, err: errors.New("no provider is signed in to"), hint: "kerf login PROVIDER"}
	}
	return nil
}
