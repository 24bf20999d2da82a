package start

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/exec"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

// reviewOptions are the flags of `kerf review`.
type reviewOptions struct {
	*execOptions
	uncommitted  bool
	base, commit string
}

const reviewLong = `Has a model review changes and prints what it found. The reviewer changes nothing: its
commands can only read.

Without flags it reviews what is not committed. The model is review_model of the
configuration, or the usual one. The exit code is 0 for every result. --json prints the
events of kerf exec with one item of the type "review".`

func reviewCommand(p *program.Program) *cobra.Command {
	o := &execOptions{p: p}
	cmd := o.reviewCommand()
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print events as JSON lines on stdout")
	f.BoolVar(&o.jsonToo, "experimental-json", false, "the same as --json")
	f.StringVarP(&o.model, "model", "m", "", "the `model` to ask")
	f.StringVarP(&o.lastMessage, "output-last-message", "o", "", "write the review into this `file`")
	f.BoolVar(&o.ephemeral, "ephemeral", false, "keep no session on disk")
	f.StringVar(&o.color, "color", "auto", "always, never or auto (`when`)")
	f.DurationVar(&o.timeout, "timeout", 0, "end the review after this `time`; exit code 1")
	return cmd
}

// reviewCommand is the command below kerf exec, whose flags it shares.
func (e *execOptions) reviewCommand() *cobra.Command {
	o := &reviewOptions{execOptions: e}
	cmd := &cobra.Command{Use: "review [--uncommitted | --base BRANCH | --commit COMMIT | WORDS]",
		Short: "Have a model review changes", Long: reviewLong,
		Example: "  kerf review\n  kerf review --base main\n" +
			"  kerf review \"only the error handling of the last three commits\"",
		Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.review(cmd.Context(), args) }}
	f := cmd.Flags()
	f.BoolVar(&o.uncommitted, "uncommitted", false, "the changes that are not committed (the default)")
	f.StringVar(&o.base, "base", "", "the changes since `branch`")
	f.StringVar(&o.commit, "commit", "", "the changes of this `commit`")
	return cmd
}

// op is the review that flags and words ask for, and what is shown of it.
func (o *reviewOptions) op(args []string) (protocol.Review, string, error) {
	given := 0
	for _, is := range []bool{o.uncommitted, o.base != "", o.commit != "", len(args) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return protocol.Review{}, "", program.Misuse("give only one of --uncommitted, --base, --commit and words")
	case o.base != "":
		return protocol.Review{Base: o.base}, "review the changes since " + o.base, nil
	case o.commit != "":
		return protocol.Review{Commit: o.commit}, "review commit " + o.commit, nil
	case len(args) > 0:
		words := strings.TrimSpace(args[0])
		if words == "-" {
			var err error
			if words, err = program.ReadInput(o.p.Stdin); err != nil {
				return protocol.Review{}, "", err
			}
		}
		if strings.TrimSpace(words) == "" {
			return protocol.Review{}, "", program.Misuse("the words that say what to review are empty")
		}
		return protocol.Review{Words: words}, "review: " + words, nil
	}
	return protocol.Review{}, "review what is not committed", nil
}

func (o *reviewOptions) review(ctx context.Context, args []string) error {
	op, shown, err := o.op(args)
	if err != nil {
		return err
	}
	if err := o.bound(); err != nil {
		return err
	}
	if o.schema != "" {
		return program.Misuse("--output-schema is for kerf exec PROMPT; what a review finds has a form of its own: " +
			"see --json")
	}
	if err := program.Writable("--output-last-message", o.lastMessage); err != nil {
		return err
	}
	h, err := o.p.Host(nil)
	if err != nil {
		return err
	}
	o.approval, o.sandbox = string(unasked(h)), string(protocol.SandboxReadOnly)
	set, err := o.settings()
	if err != nil {
		return err
	}
	if op.Words == "" && !h.InGit() {
		return &program.Error{Code: 1, Err: fmt.Errorf("%s is not inside a git repository", h.Config.Cwd),
			Hint: "say in words what to review: kerf review \"...\""}
	}
	if op == (protocol.Review{}) && h.Clean(ctx) {
		return program.Exit(exec.Nothing(exec.Options{JSON: o.json || o.jsonToo, LastMessage: o.lastMessage,
			Stdout: o.p.Stdout, Stderr: o.p.Stderr}, "nothing to review: nothing here is uncommitted; "+
			"kerf review --base BRANCH reviews what a branch changed"))
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	return program.Exit(exec.Run(ctx, exec.Options{
		Sessions: h, Version: host.Version, Named: o.p.Named,
		Open:   protocol.OpenOptions{Settings: set, Ephemeral: o.ephemeral, Headless: true, Source: "review"},
		Prompt: []protocol.Input{{Text: shown}}, Op: op, JSON: o.json || o.jsonToo, LastMessage: o.lastMessage,
		Stdout: o.p.Stdout, Stderr: o.p.Stderr, Color: o.colored(program.IsTerminal(o.p.Stderr)),
		RawMessage: !program.IsTerminal(o.p.Stdout), Interrupts: signals, Once: o.once(), Live: o.live(),
	}))
}
