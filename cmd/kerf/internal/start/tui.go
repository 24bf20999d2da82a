package start

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/start/pictures"
	"kerf/cmd/kerf/internal/trying"
	"kerf/cmd/kerf/internal/worktrees"
	"kerf/internal/config"
	"kerf/internal/front/tui"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

// tuiOptions are the flags of the terminal UI.
type tuiOptions struct {
	execOptions
	theme, notify  string
	plain, alt     bool
	reduced        bool
	pick, pickFork bool
	client         *host.Host // set by the demo
	banner         string
	request        string      // of the try, where the session was begun outside of it
	next           trying.Wish // how the session goes on after the terminal UI
}

func newTUI(p *program.Program) *tuiOptions {
	return &tuiOptions{execOptions: execOptions{p: p, color: "auto", source: "tui"}}
}

// TUI makes the terminal UI what `kerf` does without a subcommand.
func TUI(p *program.Program, root *cobra.Command) {
	o := newTUI(p)
	root.Use = "kerf [PROMPT]"
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(cmd *cobra.Command, args []string) error {
		insist := map[bool]string{true: "without the terminal UI: echo %q | kerf exec", false: "quote it: kerf %q"}[len(args) == 1]
		if err := program.Request(root, args, insist); err != nil {
			return err
		}
		switch {
		case !p.OnTerminal() && o.plain:
		case !p.OnTerminal() && len(args) == 0 && program.IsTerminal(p.Stdin):
			return cmd.Help()
		case !p.OnTerminal() && (len(args) == 0 || strings.ContainsAny(args[0], " \t\n")):
			return &program.Error{Code: 2, Err: tui.ErrNoTerminal, Hint: "without one: kerf exec, also for a pipe; see kerf --help"}
		case !p.OnTerminal():
			return &program.Error{Code: 2, Err: program.Unknown(root, args[0]),
				Hint: fmt.Sprintf("for a request without the terminal UI: kerf exec %q", args[0])}
		}
		return o.run(cmd.Context(), cmd, args)
	}
	o.flags(root)
}

func (o *tuiOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.model, "model", "m", "", "the `model` to ask")
	f.StringVarP(&o.sandbox, "sandbox", "s", "",
		"what commands may do: read-only, workspace-write or danger-full-access (`mode`)")
	f.StringVarP(&o.approval, "ask-for-approval", "a", "",
		"untrusted, on-request, on-failure, never, auto-edit or plan (`policy`)")
	f.StringArrayVar(&o.addDirs, "add-dir", nil, "a further writable `directory`; may be repeated")
	f.StringSliceVarP(&o.images, "image", "i", nil, "attach image `files` to the prompt")
	f.BoolVar(&o.fullAuto, "full-auto", false, "short for --sandbox workspace-write -a on-request")
	f.BoolVar(&o.bypass, "dangerously-bypass-approvals-and-sandbox", false,
		"no sandbox and no questions; only where the machine itself is the sandbox")
	f.BoolVar(&o.bypass, "yolo", false, "the same")
	_ = f.MarkHidden("yolo")
	o.p.AddUnrecorded(f)
	trying.Flag(f, &o.try)
	worktrees.Flags(f, &o.apart)
	f.StringVar(&o.theme, "theme", "", "auto, dark, light, contrast or mono (`name`)")
	f.BoolVar(&o.plain, "plain", false, "print lines only, for screen readers and simple terminals")
	f.BoolVar(&o.alt, "alt-screen", false, "use the alternate screen instead of the scrollback")
	f.BoolVar(&o.reduced, "reduced-motion", false, "no animation except the seconds")
	f.StringVar(&o.notify, "notify", "", "how to tell that a turn is over when the terminal is not in focus: osc9, "+
		"osc777, bell or off (`way`)")
}

func resumeCommand(p *program.Program) *cobra.Command { return newTUI(p).again("resume") }

func forkCommand(p *program.Program) *cobra.Command { return newTUI(p).again("fork") }

// again is `kerf resume` or `kerf fork`.
func (o *tuiOptions) again(name string) *cobra.Command {
	about := map[string]string{"resume": "Go on with an earlier session in the terminal UI",
		"fork": "Start a new session with the history of an earlier one"}
	cmd := &cobra.Command{Use: name + " [ID | --last] [PROMPT]", Short: about[name], Args: program.AtMost(2),
		Long: about[name] + ".\n\nWithout an id it shows the sessions of this directory to choose from. An id, the " +
			"beginning\nof one, or a title will do.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.p.OnTerminal() && !o.plain {
				return &program.Error{Code: 2, Err: tui.ErrNoTerminal, Hint: "without a terminal, use: kerf exec " + name}
			}
			switch {
			case o.last && name == "fork":
				h, err := o.p.Host(nil)
				if err != nil {
					return err
				}
				id, err := o.newest(cmd.Context(), h)
				if err != nil {
					return err
				}
				o.fork = id
			case o.last:
			case len(args) == 0 && !o.p.OnTerminal():
				return program.Misuse("which session? give an id (see kerf sessions list) or --last")
			case len(args) == 0:
				o.pick, o.pickFork = true, name == "fork"
			case name == "fork":
				o.fork, args = args[0], args[1:]
			default:
				o.resume, args = args[0], args[1:]
			}
			return o.run(cmd.Context(), cmd, args)
		}}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.last, "last", false, "the newest session of this directory")
	cmd.Flags().BoolVar(&o.all, "all", false, "with --last: of any directory")
	return cmd
}

// once shows the terminal UI until the user leaves it.
func (o *tuiOptions) once(ctx context.Context, cmd *cobra.Command, args []string) error {
	set, err := o.settings()
	if err != nil {
		return err
	}
	h := o.client
	if h == nil {
		if h, err = o.p.Host(nil); err != nil {
			return err
		}
	}
	if ran, err := o.inTry(ctx, h, cmd, args); ran {
		return err
	}
	t, err := o.options(h)
	if err != nil {
		return err
	}
	if o.resume == "" && !o.last && o.fork == "" && !o.pick {
		set.Sandbox = o.inside(h, set.Sandbox)
	}
	t.Open = protocol.OpenOptions{Resume: o.resume, Last: o.last &&
		o.fork == "", AnyCwd: o.all, Fork: o.fork, Settings: set, AddDirs: o.addDirs, Source: o.source}
	if len(args) > 0 {
		t.Prompt = append(t.Prompt, protocol.Input{Text: args[0]})
	}
	for _, path := range o.images {
		url, err := pictures.URL(path)
		if err != nil {
			return err
		}
		t.Prompt = append(t.Prompt, protocol.Input{ImageURL: url})
	}
	if !t.Plain && o.client == nil {
		if t.Trust, err = o.trustQuestion(h); err != nil {
			return err
		}
		t.Ways = o.ways(h)
	}
	code, err := tui.Run(ctx, t)
	if err != nil {
		return o.told(code, err)
	}
	return program.Exit(code)
}

// told is how an error of the terminal UI ends the program.
func (o *tuiOptions) told(code int, err error) error {
	e := &program.Error{Code: max(code, 1), Err: err}
	var missing *protocol.CredentialsError
	if errors.As(err, &missing) {
		e.Code, e.Hint = missing.ExitCode(), "without a key: kerf demo --tui shows Kerf at work; kerf --oss uses a model "+
			"on this machine"
	}
	return e
}

// demoTUI plays the demo in the terminal UI; the user may go on with it there.
func demoTUI(ctx context.Context, p *program.Program) error {
	if !p.OnTerminal() {
		return &program.Error{Code: 2, Err: tui.ErrNoTerminal, Hint: "without a terminal, use: kerf demo"}
	}
	dir, err := demoRepository()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	p.Dir = dir
	if err := prepareCache(ctx, p, dir); err != nil {
		return err
	}
	h, err := p.Host(map[string]any{"model_provider": "script", "model": "scripted-demo"})
	if err != nil {
		return err
	}
	f, err := demoFiles.Open("demo/scenario.json")
	if err != nil {
		return err
	}
	defer f.Close()
	if h.Client, err = host.Scripted(f); err != nil {
		return err
	}
	o := &tuiOptions{execOptions: execOptions{p: p, color: "auto", source: "demo", sandbox: string(protocol.SandboxWorkspace),
		approval: string(protocol.PolicyNever)}, client: h,
		banner: "A demonstration: the model is SCRIPTED (a recorded scenario, no network, no key). Its tools, the files in " + dir + ", the test runs and the session are real."}
	if err := o.once(ctx, nil, []string{demoPrompt}); err != nil {
		return err
	}
	demoNext(ctx, p, h, dir)
	return nil
}

// options joins flags, the [tui] table of the configuration and the environment.
func (o *tuiOptions) options(h *host.Host) (tui.Options, error) {
	env, set := o.p.Getenv, h.Config.TUI
	t := tui.Options{Sessions: h, Version: host.Version, Cwd: h.Config.Cwd, Env: env, In: o.p.Stdin, Out: program.Stream(o.p.Stdout),
		Theme: cmp.Or(o.theme, set.Theme), Notify: cmp.Or(o.notify, set.Notifications), Depth: tui.Depth(env),
		Dark:  tui.Dark(env),
		Plain: o.plain || env("TERM") == "dumb" || set.Plain, AltScreen: o.alt || set.AlternateScreen,
		ReducedMotion: o.reduced || !animated(set, env),
		Pick:          o.pick, PickFork: o.pickFork, Banner: o.banner,
		History: &history{path: filepath.Join(h.Config.Home, "history.jsonl"), redact: h.Redact}}
	t.Price, t.Vi = h.Price, set.ViMode
	t.Hooks = func() ([]tui.Hook, []string, error) { return hooksOf(h) }
	t.Apply = func(ctx context.Context, dir, session string, dry bool) (string, string, error) {
		return applyElsewhere(ctx, o.p, dir, session, dry)
	}
	if t.Theme == "" {
		t.Theme = "auto"
	}
	if err := o.ownLook(h, &t); err != nil {
		return t, err
	}
	switch t.Notify {
	case "", "osc9", "osc777", "bell", "off":
	default:
		return t, program.Misuse("notify %q: use osc9, osc777, bell or off", t.Notify)
	}
	if t.Tries = o.tries(h); t.Tries != nil && t.Tries.Inside != 0 {
		t.Again = fmt.Sprintf("kerf resume --try=%d", t.Tries.Inside)
	}
	t.Store = h.Sessions()
	t.Workspace = h.Query()
	return t, nil
}

// animated says whether things may move: as it is set, else not over ssh.
func animated(set config.TUI, env func(string) string) bool {
	if set.Animations != nil {
		return *set.Animations
	}
	return env("SSH_TTY") == ""
}

// history keeps the user's messages in KERF_HOME, one JSON string a line, without
// the secrets in them.
type history struct {
	path   string
	redact func(string) string
}

const (
	// maxHistory is how many messages are offered; the file is cut to half of
	// maxHistoryBytes when it grows beyond.
	maxHistory      = 1000
	maxHistoryBytes = 1 << 20
)

// Load returns the newest messages. A file that cannot be read is no history.
func (h *history) Load() []string {
	b, err := os.ReadFile(h.path)
	if err != nil {
		return nil
	}
	if len(b) > maxHistoryBytes {
		b = b[len(b)-maxHistoryBytes/2:]
		b = b[bytes.IndexByte(b, '\n')+1:]
		_ = os.WriteFile(h.path, b, 0o600)
	}
	var out []string
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, maxHistoryBytes)
	for sc.Scan() {
		var s string
		if json.Unmarshal(sc.Bytes(), &s) == nil && s != "" {
			out = append(out, s)
		}
	}
	return out[max(0, len(out)-maxHistory):]
}

// Add appends one message. That it is lost when the disk is full is no reason to
// stop.
func (h *history) Add(text string) {
	line, err := json.Marshal(h.redact(text))
	if err != nil {
		return
	}
	_ = os.MkdirAll(filepath.Dir(h.path), 0o700)
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}
