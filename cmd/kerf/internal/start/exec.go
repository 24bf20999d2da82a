package start

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/exec"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/retention"
)

// execOptions are the flags of `kerf exec` and its subcommands.
type execOptions struct {
	p *program.Program

	json, jsonToo bool
	last          bool
	all           bool
	model         string
	sandbox       string
	approval      string
	addDirs       []string
	images        []string
	schema        string
	lastMessage   string
	skipGit       bool
	ephemeral     bool
	fullAuto      bool
	bypass        bool
	color         string
	source        string
	resume, fork  string
	forkTurn      string
	maxTurns      int
	timeout       time.Duration
}

const execLong = `Runs one request without a terminal UI.

The prompt is the argument, or standard input with "-" or without an argument. When a
prompt is given and standard input is a pipe, its text is added to the prompt. Human mode
prints progress on stderr and only the final message on stdout; --json prints one event a
line on stdout.`

func execCommand(p *program.Program) *cobra.Command {
	o := &execOptions{p: p}
	cmd := &cobra.Command{Use: "exec [PROMPT | -]", Aliases: []string{"e"}, Short: "Run one request, headless",
		Long: execLong,
		Example: "  kerf exec \"add a test for the parser\"\n  git diff | kerf exec \"review this\"\n" +
			"  kerf exec resume --last \"now the docs\"",
		Args: func(cmd *cobra.Command, args []string) error {
			insist := "quote it: kerf exec %q"
			if len(args) == 1 && len(args[0]) < 5 {
				return nil // "work" is a request, not a slip of fork
			}
			if len(args) == 1 {
				insist = "pipe it in: echo %q | kerf exec"
			}
			return program.Request(cmd, args, insist)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) }}
	f := cmd.PersistentFlags()
	f.BoolVar(&o.json, "json", false, "print events as JSON lines on stdout")
	f.BoolVar(&o.jsonToo, "experimental-json", false, "the same as --json")
	f.StringVarP(&o.model, "model", "m", "", "the `model` to ask")
	f.StringVarP(&o.sandbox, "sandbox", "s", "",
		"what commands may do: read-only, workspace-write or danger-full-access (`mode`)")
	f.StringVarP(&o.approval, "ask-for-approval", "a", "",
		"untrusted, on-request, on-failure, never, auto-edit or plan (`policy`); exec asks nobody, so it refuses "+
			"what needs approval")
	f.StringArrayVar(&o.addDirs, "add-dir", nil, "a further writable `directory`; may be repeated")
	f.StringSliceVarP(&o.images, "image", "i", nil, "attach image `files` to the prompt")
	f.StringVar(&o.schema, "output-schema", "", "JSON schema `file` that the final message must follow")
	f.StringVarP(&o.lastMessage, "output-last-message", "o", "", "write the final message to this `file`")
	f.BoolVar(&o.skipGit, "skip-git-repo-check", false, "run outside a git repository too")
	f.BoolVar(&o.ephemeral, "ephemeral", false, "keep no session on disk")
	f.BoolVar(&o.fullAuto, "full-auto", false, "short for --sandbox workspace-write -a on-request")
	f.BoolVar(&o.bypass, "dangerously-bypass-approvals-and-sandbox", false,
		"no sandbox and no questions; only where the machine itself is the sandbox")
	f.BoolVar(&o.bypass, "yolo", false, "the same")
	f.StringVar(&o.color, "color", "auto", "always, never or auto (`when`)")
	f.StringVar(&o.source, "thread-source", "exec", "what the session's metadata names as its `source`")
	f.IntVar(&o.maxTurns, "max-turns", 0, "end the turn after `n` model requests; exit code 1")
	f.DurationVar(&o.timeout, "timeout", 0, "end the turn after this `time`, such as 90s or 10m; exit code 1")
	_ = f.MarkHidden("yolo")
	p.AddUnrecorded(f)

	resume := &cobra.Command{Use: "resume [ID | --last] [PROMPT | -]", Short: "Go on with an earlier session",
		Args: program.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.last {
				if len(args) == 0 {
					return program.Misuse("which session? give an id (see kerf sessions list) or --last")
				}
				o.resume, args = args[0], args[1:]
			}
			return o.run(cmd.Context(), args)
		}}
	resume.Flags().BoolVar(&o.last, "last", false, "the newest session of this directory")
	resume.Flags().BoolVar(&o.all, "all", false, "with --last: of any directory")
	fork := &cobra.Command{Use: "fork ID [PROMPT | -]", Short: "Start a new session with the history of an earlier one",
		Args: program.Between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.fork = args[0]
			return o.run(cmd.Context(), args[1:])
		}}
	fork.Flags().StringVar(&o.forkTurn, "turn", "", "copy the history up to this `turn`: its id, or its number from 1")
	cmd.AddCommand(resume, fork, o.reviewCommand())
	return cmd
}

func (o *execOptions) run(ctx context.Context, args []string) error {
	set, err := o.settings()
	if err != nil {
		return err
	}
	if err := o.bound(); err != nil {
		return err
	}
	h, err := o.p.Host(nil)
	if err != nil {
		return err
	}
	if err := o.gate(h); err != nil {
		return err
	}
	schema, err := o.readSchema()
	if err != nil {
		return err
	}
	prompt, err := o.prompt(args)
	if err != nil {
		return err
	}
	resumed := o.resume != "" || o.last || o.fork != "" // it keeps its own
	if set.Approval == "" && !resumed && h.Config.Origin("approval_policy") == "default" {
		set.Approval = protocol.PolicyNever
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	errTTY := program.IsTerminal(o.p.Stderr)
	code := exec.Run(ctx, exec.Options{
		Sessions: h, Version: host.Version,
		Open: protocol.OpenOptions{Resume: o.resume, Last: o.last, AnyCwd: o.all, Fork: o.fork,
			ForkTurn: protocol.TurnID(o.forkTurn), Settings: set, AddDirs: o.addDirs,
			Ephemeral: o.ephemeral, Headless: true, Source: o.source},
		Prompt: prompt, Schema: schema, JSON: o.json || o.jsonToo, LastMessage: o.lastMessage,
		Stdout: o.p.Stdout, Stderr: o.p.Stderr, Color: o.colored(errTTY), RawMessage: !program.IsTerminal(o.p.Stdout),
		Interrupts: signals, Once: o.once(), Live: o.live(),
	})
	if code == 0 {
		retention.CollectIfDue(ctx, h.Retention())
	}
	return program.Exit(code)
}

// settings are those the flags ask for.
func (o *execOptions) settings() (protocol.Settings, error) {
	set := protocol.Settings{Model: o.model, Approval: protocol.ApprovalPolicy(o.approval),
		Sandbox: protocol.SandboxMode(o.sandbox)}
	if o.fullAuto {
		if set.Sandbox == "" {
			set.Sandbox = protocol.SandboxWorkspace
		}
		if set.Approval == "" {
			set.Approval = protocol.PolicyOnRequest
		}
	}
	if o.bypass {
		set.Sandbox, set.Approval = protocol.SandboxFull, protocol.PolicyNever
	}
	if err := program.CheckSettings(set); err != nil {
		return set, err
	}
	switch o.color {
	case "auto", "always", "never":
	default:
		return set, program.Misuse("--color %q: use always, never or auto", o.color)
	}
	return set, nil
}

// bound turns the flags for budgets into settings.
func (o *execOptions) bound() error {
	switch {
	case o.maxTurns < 0:
		return program.Misuse("--max-turns %d: give a number of model requests, 1 or more", o.maxTurns)
	case o.timeout < 0 || o.timeout > 0 && o.timeout < time.Second:
		return program.Misuse("--timeout %s: give a second or more", o.timeout)
	}
	if o.maxTurns > 0 {
		o.p.Overrides = append(o.p.Overrides, fmt.Sprintf("budget.max_turns=%d", o.maxTurns))
	}
	if o.timeout > 0 {
		o.p.Overrides = append(o.p.Overrides, fmt.Sprintf("budget.max_seconds=%d", int(o.timeout.Seconds())))
	}
	return nil
}

// gate keeps a headless run from a directory that nothing protects.
func (o *execOptions) gate(h *host.Host) error {
	if o.skipGit || o.bypass || h.Trusted() || h.InGit() {
		return nil
	}
	return &program.Error{Code: 1, Err: errors.New(h.Config.Cwd +
		" is not inside a git repository and is not a trusted directory"),
		Hint: "run in a git repository, or add --skip-git-repo-check"}
}

func (o *execOptions) readSchema() (json.RawMessage, error) {
	if o.schema == "" {
		return nil, nil
	}
	b, err := os.ReadFile(o.schema)
	if err != nil {
		return nil, program.Misuse("--output-schema: %v", err)
	}
	var object map[string]any
	if err := json.Unmarshal(b, &object); err != nil {
		return nil, program.Misuse("--output-schema %s: not a JSON object: %v", o.schema, err)
	}
	return b, nil
}

// prompt gathers the prompt from argument, standard input and images.
func (o *execOptions) prompt(args []string) ([]protocol.Input, error) {
	text := ""
	switch {
	case len(args) == 1 && args[0] != "-":
		text = args[0]
		more, err := o.piped()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(more) != "" {
			text += "\n\n<stdin>\n" + more + "\n</stdin>"
		}
	default:
		if program.IsTerminal(o.p.Stdin) {
			return nil, program.Misuse("no prompt: give it as an argument, or pipe it in")
		}
		b, err := program.ReadInput(o.p.Stdin)
		if err != nil {
			return nil, err
		}
		text = b
	}
	if strings.TrimSpace(text) == "" {
		return nil, program.Misuse("the prompt is empty")
	}
	input := []protocol.Input{{Text: text}}
	for _, path := range o.images {
		url, err := imageURL(path)
		if err != nil {
			return nil, err
		}
		input = append(input, protocol.Input{ImageURL: url})
	}
	return input, nil
}

// patience is how long standard input may send nothing before the user is told that
// Kerf waits for it.
const patience = time.Second

// piped returns all that is piped in beside a prompt. Only terminals and the null device
// are not read.
func (o *execOptions) piped() (string, error) {
	st, err := o.p.Stdin.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice != 0 {
		return "", nil
	}
	late := time.AfterFunc(patience, func() {
		_, _ = io.WriteString(o.p.Stderr, "kerf: waiting for standard input to end; "+
			"to go on without it, start kerf with </dev/null\n")
	})
	defer late.Stop()
	return program.ReadInput(o.p.Stdin)
}

// maxImage bounds an attached image.
const maxImage = 20 << 20

func imageURL(path string) (string, error) {
	named := path
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", program.Misuse("--image: %v", err)
	}
	if err := staysHere(named, path); err != nil {
		return "", err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return "", program.Misuse("--image: %v", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxImage {
		return "", program.Misuse("--image %s: not a file of at most %d bytes", path, maxImage)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", program.Misuse("--image: %v", err)
	}
	kind := http.DetectContentType(b)
	if !strings.HasPrefix(kind, "image/") {
		return "", program.Misuse("--image %s: this is %s, not an image", path, kind)
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b), nil
}

// staysHere refuses a picture that is named below the working directory but is, through a
// link, elsewhere: whoever made the link would choose what is sent.
func staysHere(named, real string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return program.Misuse("--image: %v", err)
	}
	home, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return program.Misuse("--image: %v", err)
	}
	abs, err := filepath.Abs(named)
	if err != nil {
		return program.Misuse("--image: %v", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return program.Misuse("--image: %v", err)
	}
	if (pathname.Inside(cwd, abs) || pathname.Inside(home, abs)) && !pathname.Inside(home, real) {
		return program.Misuse("--image %s: a link leads out of the working directory, to %s; if you mean that file, name it "+
			"so", visible.Line(named), visible.Line(real))
	}
	return nil
}

// live reports whether lines on standard error can be written over.
func (o *execOptions) live() bool {
	return program.IsTerminal(o.p.Stderr) && o.p.Getenv("TERM") != "dumb" && o.p.Getenv("TERM") != ""
}

// once reports whether standard output and standard error are both seen on a terminal.
func (o *execOptions) once() bool {
	return program.IsTerminal(o.p.Stderr) && program.IsTerminal(o.p.Stdout)
}

func (o *execOptions) colored(tty bool) bool {
	switch {
	case o.color == "always":
		return true
	case o.color == "never" || o.p.Getenv("NO_COLOR") != "" || o.p.Getenv("TERM") == "dumb":
		return false
	}
	return tty
}
