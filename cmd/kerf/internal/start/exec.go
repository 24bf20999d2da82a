package start

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/start/pictures"
	"kerf/cmd/kerf/internal/trying"
	"kerf/cmd/kerf/internal/worktrees"
	"kerf/internal/config"
	"kerf/internal/front/exec"
	"kerf/internal/host"
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
	forkLast      bool
	forkTurn      string
	maxTurns      program.Count
	timeout       time.Duration
	try           string
	goal          protocol.Goal
	attempts      trying.Attempts
	apart         worktrees.Choice
}

const execLong = `Runs one request without a terminal UI.

The prompt is the argument, or standard input with "-" or without an argument. When a
prompt is given and standard input is a pipe, its text is added to the prompt. "/name words"
stands for a command of yours or of a trusted project. Human mode
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
	f.StringVar(&o.schema, "output-schema", "", "JSON schema `file` that the final message must follow; "+
		"exit code 1 if it does not")
	f.StringVarP(&o.lastMessage, "output-last-message", "o", "", "write the final message to this `file`")
	f.BoolVar(&o.skipGit, "skip-git-repo-check", false, "run outside a git repository too")
	f.BoolVar(&o.ephemeral, "ephemeral", false, "keep no session on disk")
	f.BoolVar(&o.fullAuto, "full-auto", false, "short for --sandbox workspace-write -a on-request")
	f.BoolVar(&o.bypass, "dangerously-bypass-approvals-and-sandbox", false,
		"no sandbox and no questions; only where the machine itself is the sandbox")
	f.BoolVar(&o.bypass, "yolo", false, "the same")
	f.StringVar(&o.color, "color", "auto", "always, never or auto (`when`)")
	f.StringVar(&o.source, "thread-source", "exec", "what the session's metadata names as its `source`")
	f.Var(&o.maxTurns, "max-turns", "end the turn after `n` model requests; exit code 1")
	f.DurationVar(&o.timeout, "timeout", 0, "end the turn after this `time`, such as 90s or 10m; exit code 1")
	f.StringVar(&o.goal.Text, "goal", "", "what has to be reached (`text`): it is stated again after a compaction; with "+
		"--check the turn goes on until the check passes")
	f.StringVar(&o.goal.Check, "check", "", "the shell `command` that decides whether the goal is reached: exit code 0. "+
		"Kerf runs it in the sandbox")
	f.IntVar(&o.goal.Checks, "max-checks", 0, "give the goal up after the check failed `n` times (20); exit code 1")
	_ = f.MarkHidden("yolo")
	p.AddUnrecorded(f)
	trying.Flag(f, &o.try)
	trying.AttemptFlags(cmd.Flags(), &o.attempts)
	worktrees.Flags(cmd.Flags(), &o.apart)

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
	worktrees.Flags(resume.Flags(), &o.apart)
	fork := &cobra.Command{Use: "fork [ID | --last] [PROMPT | -]", Args: program.AtMost(2),
		Short: "Start a new session with the history of an earlier one",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.forkLast {
				if len(args) == 0 {
					return program.Misuse("which session? give an id (see kerf sessions list) or --last")
				}
				o.fork, args = args[0], args[1:]
			}
			return o.run(cmd.Context(), args)
		}}
	fork.Flags().BoolVar(&o.forkLast, "last", false, "the newest session of this directory")
	fork.Flags().BoolVar(&o.all, "all", false, "with --last: of any directory")
	fork.Flags().StringVar(&o.forkTurn, "turn", "", "copy the history up to this `turn`: its id, or its number from 1")
	trying.AttemptFlags(fork.Flags(), &o.attempts)
	worktrees.Flags(fork.Flags(), &o.apart)
	cmd.AddCommand(resume, fork, o.reviewCommand())
	return cmd
}

// run runs one request, in a work tree of its own if that is asked for.
func (o *execOptions) run(ctx context.Context, args []string) error {
	leave, err := o.goApart(ctx, args)
	if err != nil {
		return err
	}
	defer leave()
	return o.request(ctx, args)
}

// goApart goes to the work tree that is asked for, and returns what ends the stay there.
func (o *execOptions) goApart(ctx context.Context, args []string) (leave func(), err error) {
	tried := o.try != "" && o.try != "off" || o.attempts.Wanted()
	if o.apart.Name != "" {
		o.try = "off" // also where tries are the default
	}
	o.p, leave, err = o.apart.Go(ctx, o.p, args, tried)
	return leave, err
}

func (o *execOptions) request(ctx context.Context, args []string) error {
	set, err := o.settings()
	if err != nil {
		return err
	}
	if err := o.bound(); err != nil {
		return err
	}
	if err := program.Writable("--output-last-message", o.lastMessage); err != nil {
		return err
	}
	h, err := o.p.Host(nil)
	if err != nil {
		return err
	}
	if err := o.gate(h); err != nil {
		return err
	}
	if o.forkLast {
		if o.fork, err = o.newest(ctx, h); err != nil {
			return err
		}
	}
	if ran, err := o.several(ctx, h, args); ran || err != nil {
		return err
	}
	if ran, err := o.inTry(ctx, h, args); ran {
		return err
	}
	schema, err := o.readSchema()
	if err != nil {
		return err
	}
	goal, err := o.aim()
	if err != nil {
		return err
	}
	if goal != nil && len(args) == 0 {
		args = []string{goal.Text}
	}
	prompt, err := o.prompt(args)
	if err != nil {
		return err
	}
	if err := expand(ctx, h, o.p.Stderr, prompt); err != nil {
		return err
	}
	resumed := o.resume != "" || o.last || o.fork != "" // it keeps its own
	if !resumed {
		set.Sandbox = o.inside(h, set.Sandbox)
	}
	if set.Approval == "" && !resumed && h.Config.Origin("approval_policy") == "default" {
		set.Approval = unasked(h)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	errTTY := program.IsTerminal(o.p.Stderr)
	code := exec.Run(ctx, exec.Options{
		Sessions: h, Version: host.Version, Named: o.p.Named,
		Open: protocol.OpenOptions{Resume: o.resume, Last: o.last, AnyCwd: o.all, Fork: o.fork,
			ForkTurn: protocol.TurnID(o.forkTurn), Settings: set, AddDirs: o.addDirs,
			Ephemeral: o.ephemeral, Headless: true, Source: o.source},
		Prompt: prompt, Goal: goal, Schema: schema, JSON: o.json || o.jsonToo, LastMessage: o.lastMessage,
		Stdout: o.p.Stdout, Stderr: o.p.Stderr, Color: o.colored(errTTY), RawMessage: !program.IsTerminal(o.p.Stdout),
		Interrupts: signals, Once: o.once(), Live: o.live(),
	})
	if code == 0 {
		retention.CollectIfDue(ctx, h.Retention())
	}
	return program.Exit(code)
}

// several makes several attempts if that is asked for. An attempt itself goes on here, and
// tells events.
func (o *execOptions) several(ctx context.Context, h *host.Host, args []string) (ran bool, err error) {
	a := &o.attempts
	a.Model = o.model
	if err := a.Misused(o.try); err != nil || !a.Wanted() {
		return false, err
	}
	if trying.Inside(o.p, h) {
		o.json = true
		return false, nil
	}
	if _, err := o.aim(); err != nil {
		return true, err
	}
	text := ""
	if len(args) == 1 && args[0] != "-" {
		a.Request = args[0]
		text, err = o.piped()
	} else if program.IsTerminal(o.p.Stdin) {
		return true, program.Misuse("no prompt: give it as an argument, or pipe it in")
	} else if text, err = program.ReadInput(o.p.Stdin); err == nil {
		a.Request = text
	}
	if err != nil {
		return true, err
	}
	a.Timeout = o.timeout
	a.Check, a.AddDirs, a.JSON, a.Input = o.goal.Check, o.addDirs, o.json || o.jsonToo, []byte(text)
	return true, a.Run(ctx, o.p, h)
}

// inTry runs Kerf anew in a try if that is asked for.
func (o *execOptions) inTry(ctx context.Context, h *host.Host, args []string) (ran bool, err error) {
	s, err := o.trial(ctx, h, args)
	if err != nil {
		return true, err
	}
	return trying.Run(ctx, o.p, h, s)
}

// inside is the sandbox mode of a new session for which the user asks for a mode, or for none.
func (o *execOptions) inside(h *host.Host, asked protocol.SandboxMode) protocol.SandboxMode {
	if asked != "" || !trying.Inside(o.p, h) {
		return asked
	}
	return protocol.SandboxMode(h.Config.InTry())
}

// trial is what would run in a try.
func (o *execOptions) trial(ctx context.Context, h *host.Host, args []string) (trying.Session, error) {
	s := trying.Session{Try: o.try, AddDirs: o.addDirs, Default: h.Config.Defaults.Try && !o.attempts.Wanted()}
	if len(args) == 1 {
		s.Request = args[0]
	}
	if !s.Default || o.try != "" {
		return s, nil
	}
	switch {
	case o.resume != "":
		info, err := h.Sessions().Find(ctx, o.resume)
		if err != nil {
			return s, err
		}
		s.Resume = string(info.ID)
	case o.last:
		id, err := o.newest(ctx, h)
		if err != nil {
			return s, err
		}
		s.Resume = id
	}
	return s, nil
}

// newest is the id of the newest session: of this directory, or of any.
func (o *execOptions) newest(ctx context.Context, h *host.Host) (string, error) {
	cwd := h.Config.Cwd
	if o.all {
		cwd = ""
	}
	info, err := h.Sessions().Newest(ctx, cwd)
	return string(info.ID), err
}

// unasked is the approval policy where nobody can be asked: never, or, if the administrator
// does not allow that, the one that is required. Every question is answered with no then.
func unasked(h *host.Host) protocol.ApprovalPolicy {
	if h.Config.Required.Refuse("", string(protocol.PolicyNever)) != "" {
		return ""
	}
	return protocol.PolicyNever
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
	if o.timeout < 0 || o.timeout > 0 && o.timeout < time.Second {
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

// aim is the goal that the flags set, or nil.
func (o *execOptions) aim() (*protocol.Goal, error) {
	g := o.goal
	switch {
	case strings.TrimSpace(g.Text) == "" && o.attempts.Wanted() && g.Checks == 0:
		return nil, nil // the check decides between the attempts
	case strings.TrimSpace(g.Text) == "" && (g.Check != "" || g.Checks != 0):
		return nil, program.Misuse("--check and --max-checks are about a goal: say what is to be reached with --goal TEXT")
	case g.Checks < 0:
		return nil, program.Misuse("--max-checks %d: give a number, 1 or more", g.Checks)
	case g.Checks > 0 && g.Check == "":
		return nil, program.Misuse("--max-checks is about a check: name one with --check COMMAND")
	case strings.TrimSpace(g.Text) == "":
		return nil, nil
	}
	return &g, nil
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
	if _, err := exec.NewChecker(b); err != nil {
		return nil, program.Misuse("--output-schema %s: no final message could be checked against it: %v", o.schema, err)
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
		url, err := pictures.URL(path)
		if err != nil {
			return nil, err
		}
		input = append(input, protocol.Input{ImageURL: url})
	}
	return input, nil
}

// expand puts the text of a command of the user's in place of its name: /name words.
func expand(ctx context.Context, h *host.Host, stderr io.Writer, prompt []protocol.Input) error {
	line, ok := strings.CutPrefix(prompt[0].Text, "/")
	if !ok {
		return nil
	}
	list, err := h.Query().Prompts(ctx, h.Config.Cwd)
	if err != nil {
		return err
	}
	end := strings.IndexAny(line+" ", " \n")
	name := line[:end]
	for _, p := range list {
		if p.Name == name && !p.Skill {
			prompt[0].Text = p.Expand(strings.TrimSpace(line[end:]))
			return nil
		}
	}
	if looksLikeCommand(name) {
		why := "it goes to the model as it is"
		if t := h.Config.Trust(h.Config.Root); t != config.Trusted && h.Config.Root != "" {
			why += "; this project is " + string(t) + ", and commands of its own count once it is trusted (kerf trust)"
		}
		fmt.Fprintf(stderr, "kerf: there is no command /%s: %s\n", visible.Plain(name), why)
	}
	return nil
}

// looksLikeCommand reports whether a word behind a slash is written as the name of a command,
// and names no file.
func looksLikeCommand(name string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_:", r)
	}) {
		return false
	}
	_, err := os.Lstat("/" + name)
	return err != nil
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
