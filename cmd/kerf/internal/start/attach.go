package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/start/pictures"
	"kerf/internal/front/serve/client"
	"kerf/internal/front/serve/message"
	"kerf/internal/front/tui"
	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
	"kerf/internal/text/visible"
)

const attachAbout = `Watches and steers a session that lives in kerf serve. Leaving it does not end it.

Without an id it attaches to the one live session, and lists them where there are more.
An id, the beginning of one, or a title will do. --new begins a session here.

Of the settings, -m, -s and -a count for the session, and --add-dir for a new one. -c and -p do not:
they are given to kerf serve when it starts. In the terminal UI -c tui.KEY=VALUE says how it looks.

With --json it prints the events, one on each line, as kerf help serve describes them: with a
prompt until that turn is over, otherwise until the session ends.`

// attachOptions are the flags of `kerf attach`.
type attachOptions struct {
	tui   tuiOptions
	fresh bool
	json  bool
	since uint64
}

func attachCommand(p *program.Program) *cobra.Command {
	o := &attachOptions{tui: tuiOptions{execOptions: execOptions{p: p, color: "auto", source: "attach"}}}
	cmd := &cobra.Command{Use: "attach [ID] [PROMPT]", Short: "Watch and steer a session of kerf serve", Long: attachAbout,
		Args: program.AtMost(2), RunE: func(cmd *cobra.Command, args []string) error {
			if err := program.Heard(cmd.Flags(), o.tui.p.Overrides, o.json, o.fresh); err != nil {
				return err
			}
			return o.run(cmd.Context(), args)
		}}
	o.tui.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.fresh, "new", false, "begin a session in this directory")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines on stdout")
	f.Uint64Var(&o.since, "since", 0, "with --json: only events after this `number`")
	return cmd
}

func (o *attachOptions) run(ctx context.Context, args []string) error {
	p := o.tui.p
	set, err := o.tui.settings()
	if err != nil {
		return err
	}
	if o.since > 0 && (!o.json || o.fresh) {
		return program.Misuse("--since goes with --json and a session that is live already")
	}
	if !o.json && !p.OnTerminal() && !o.tui.plain {
		return &program.Error{Code: 2, Err: tui.ErrNoTerminal, Hint: "without a terminal, use: kerf attach --json"}
	}
	c, err := serverOf(p)
	if err != nil {
		return err
	}
	open := protocol.OpenOptions{Settings: set, AddDirs: o.tui.addDirs, Source: "attach"}
	if o.fresh {
		if len(args) > 1 {
			return program.Misuse("--new takes a prompt, and no session; quote a prompt of several words")
		}
		if open.Settings.Cwd, err = p.Cwd(); err != nil {
			return err
		}
	} else {
		name := ""
		if len(args) > 0 {
			name, args = args[0], args[1:]
		}
		id, err := liveOf(ctx, c, name)
		if err != nil {
			return serverError(err)
		}
		open.Resume = string(id)
	}
	prompt, err := o.prompt(args)
	if err != nil {
		return err
	}
	if o.json {
		return serverError(o.print(ctx, c, open, prompt))
	}
	return serverError(o.show(ctx, c, open, prompt))
}

// prompt is what the flags and arguments say to the session.
func (o *attachOptions) prompt(args []string) (items []protocol.Input, err error) {
	if text := strings.Join(args, " "); text != "" {
		items = append(items, protocol.Input{Text: text})
	}
	for _, path := range o.tui.images {
		url, err := pictures.URL(path)
		if err != nil {
			return nil, err
		}
		items = append(items, protocol.Input{ImageURL: url})
	}
	return items, nil
}

// liveOf is the live session that a name means; the only one for no name.
func liveOf(ctx context.Context, c client.Client, name string) (protocol.SessionID, error) {
	list, err := c.List(ctx)
	if err != nil {
		return "", err
	}
	var hits []message.Session
	for _, s := range list {
		if name == "" || strings.HasPrefix(string(s.ID), strings.ToLower(name)) || s.Title == name {
			hits = append(hits, s)
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0].ID, nil
	case len(hits) == 0 && name == "":
		return "", &program.Error{Code: 1, Err: errors.New("no session is live"), Hint: "begin one with: kerf attach --new"}
	case len(hits) == 0:
		return "", fmt.Errorf("%w %q is live in kerf serve", protocol.ErrNoSession, name)
	}
	lines := make([]string, 0, len(hits))
	for _, s := range hits {
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", s.ID, s.State, visible.OneLine(s.Title, 60)))
	}
	if name == "" {
		return "", program.Misuse("which session? these are live:\n%s", strings.Join(lines, "\n"))
	}
	return "", program.Misuse("%q means several sessions:\n%s", name, strings.Join(lines, "\n"))
}

// show is the terminal UI over a session of the server.
func (o *attachOptions) show(ctx context.Context, c client.Client, open protocol.OpenOptions,
	prompt []protocol.Input) error {
	h, err := o.tui.p.Host(nil)
	if err != nil {
		return err
	}
	t, err := o.tui.options(h)
	if err != nil {
		return err
	}
	t.Sessions, t.Open, t.Again, t.Prompt = c, open, "kerf attach", prompt
	code, err := tui.Run(ctx, t)
	if err != nil {
		return o.tui.told(code, err)
	}
	return program.Exit(code)
}

// print writes the events as JSON lines.
func (o *attachOptions) print(ctx context.Context, c client.Client, open protocol.OpenOptions,
	prompt []protocol.Input) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s protocol.Session
	var err error
	if o.since > 0 {
		s, err = c.Attach(ctx, protocol.SessionID(open.Resume), o.since)
	} else {
		s, err = c.Open(ctx, open)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	if len(prompt) > 0 {
		if err := s.Submit(ctx, protocol.Submission{Op: protocol.UserInput{Items: prompt}}); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-s.Events():
			if !ok {
				return nil
			}
			b, err := wire.Marshal(e)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(o.tui.p.Stdout, "%s\n", b); err != nil {
				return nil // nobody reads any more
			}
			if len(prompt) == 0 || e.Agent != "" {
				continue
			}
			switch m := e.Msg.(type) {
			case protocol.TurnCompleted:
				return nil
			case protocol.TurnAborted:
				return program.Exit(1)
			case protocol.TurnFailed:
				return &program.Error{Code: 1, Err: errors.New(visible.Plain(m.Error.Message))}
			}
		}
	}
}
