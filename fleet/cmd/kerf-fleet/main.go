// Kerf-fleet runs Kerf's tasks on many machines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/internal/text/spelling"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes, which are those of kerf.
const (
	exitFailure     = 1   // what was asked did not come to pass
	exitUsage       = 2   // the command line, or the settings
	exitInterrupted = 130 // Ctrl-C, or a request to end, came before
)

// usageError is a mistake of the command line.
type usageError struct{ error }

// errTold is a failure that is already told.
var errTold = errors.New("told")

func run(ctx context.Context, args []string, in io.Reader, out, said io.Writer) int {
	root := command()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(said)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errTold):
		return exitFailure
	case ctx.Err() != nil: // whatever the engine and the store call it
		return exitInterrupted
	}
	fmt.Fprintf(said, "kerf-fleet: %v\n", err)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}

// usage marks the error of a command line.
func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func command() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:   "kerf-fleet",
		Short: "Kerf on many machines",
		Long: `Runs tasks of Kerf on many machines. Each task is one prompt on one revision of one repository. It
survives the end of any machine: another one goes on with its session. Its result is an exact patch
with the record of who changed what, which kerf-fleet apply merges.

  kerf-fleet dev                          everything on this machine
  kerf-fleet submit --repo . "fix the test"
  kerf-fleet logs -f TASK                 watch it
  kerf-fleet apply TASK                   merge its result into this checkout

Temporal is the engine. Its address and the store are found by flags, by the environment
(KERF_FLEET_ADDRESS, KERF_FLEET_STORE, KERF_FLEET_NAMESPACE, KERF_FLEET_SECRET_FILE, KERF_FLEET_API_KEY),
or by a kerf-fleet dev that runs on this machine. See kerf help fleet.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: only,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%v; see %s --help", err, c.CommandPath())
	})
	f.add(root.PersistentFlags())
	for _, c := range []*cobra.Command{f.dev(), f.worker(), f.submit(), f.mapping(), f.list(), f.show(), f.logs(), f.approve(),
		f.steer(), f.cancel(), f.retry(), f.result(), f.apply(), f.schedule(), f.top(), f.serve(), f.setup(), f.gc(), f.capacity()} {
		root.AddCommand(c)
	}
	return root
}

// only lets a command through that has others below it and takes no words of its own.
func only(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	var names []string
	for _, each := range c.Commands() {
		names = append(names, each.Name())
	}
	if near := spelling.Nearest(words[0], names); near != "" {
		return usage("there is no command %q; did you mean %s %s?", words[0], c.CommandPath(), near)
	}
	return usage("there is no command %q; see %s --help", words[0], c.CommandPath())
}

// args checks the number of words of a command.
func args(least, most int, want string) cobra.PositionalArgs {
	return func(c *cobra.Command, words []string) error {
		if len(words) < least || most >= 0 && len(words) > most {
			return usage("%s takes %s; see %s --help", c.Name(), want, c.CommandPath())
		}
		return nil
	}
}
