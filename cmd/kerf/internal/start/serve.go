package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config"
	"kerf/internal/front/acp"
	"kerf/internal/front/serve"
	"kerf/internal/front/serve/client"
	"kerf/internal/front/serve/endpoint"
	"kerf/internal/front/serve/hub"
	"kerf/internal/front/serve/message"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

const serveAbout = `Keeps sessions in a process of their own, so that front ends can come and go: a session
goes on while nobody watches, and several front ends see the same one.

  kerf serve --detach        start it in the background
  kerf attach                watch and steer a session of it in the terminal UI
  kerf attach --new "..."    begin a session in it
  kerf acp --serve           let an editor use it

It listens on a unix socket below Kerf's home. Only programs of the same user that can
read the token beside it are let in; commands in the sandbox see neither. See kerf help serve.`

// serveOptions are the flags of `kerf serve`.
type serveOptions struct {
	p      *program.Program
	socket string
	idle   time.Duration
	detach bool
}

func serveCommand(p *program.Program) *cobra.Command {
	o := &serveOptions{p: p}
	cmd := &cobra.Command{Use: "serve", Short: "Keep sessions alive for front ends that come and go", Long: serveAbout,
		Args: program.AtMost(0), RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) }}
	f := cmd.Flags()
	f.StringVar(&o.socket, "socket", "", "listen at this `path` instead of run/serve.sock below Kerf's home")
	f.DurationVar(&o.idle, "idle", time.Hour,
		"close sessions that did nothing for this `time` while nobody watched; 0 for never")
	f.BoolVar(&o.detach, "detach", false, "start the server in the background and return when it answers")
	p.AddUnrecorded(f)
	cmd.AddCommand(serveList(p), serveEnd(p), serveStop(p))
	return cmd
}

func (o *serveOptions) run(ctx context.Context) error {
	if o.idle < 0 {
		return program.Misuse("--idle %s: give a time, or 0 for never", o.idle)
	}
	if o.detach {
		return o.background(ctx)
	}
	h, err := o.p.Host(nil)
	if err != nil {
		return err
	}
	ln, err := endpoint.Listen(h.Config.Home, o.socket, host.Version)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(o.p.Stderr, "kerf: serving as process %d on %s; kerf serve stop, or Ctrl-C, ends it\n", os.Getpid(),
		ln.Endpoint.Socket)
	sessions := hub.New(hub.Options{Sessions: Places{Host: h, Program: o.p}, Find: finder(h), Idle: o.idle})
	err = serve.Serve(ctx, ln, serve.Options{Hub: sessions, Token: ln.Endpoint.Token, Version: host.Version, Stop: stop,
		ACP: func(ctx context.Context, in io.Reader, out io.Writer) error {
			a := acpOptions(h, sessions, nil)
			return acp.Serve(ctx, a, in, out)
		}})
	sessions.Close()
	return errors.Join(err, ln.Release())
}

// finder finds the session that is to be resumed.
func finder(h *host.Host) func(context.Context, protocol.OpenOptions) (protocol.SessionID, error) {
	return func(ctx context.Context, o protocol.OpenOptions) (protocol.SessionID, error) {
		info, err := h.Sessions().Resumed(ctx, o, o.Settings.Cwd)
		return info.ID, err
	}
}

// starting is how long a server in the background may take until it answers.
const starting = 10 * time.Second

// background starts the server as a process of its own.
func (o *serveOptions) background(ctx context.Context) error {
	home, err := config.HomeDir(o.p.Getenv)
	if err != nil {
		return program.Misuse("%v", err)
	}
	if hello, err := (client.Client{Home: home}).Hello(ctx); err == nil {
		return fmt.Errorf("kerf serve runs already, as process %d", hello.PID)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Join(home, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "serve.log")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(exe, o.again()...)
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.SysProcAttr = out, out, o.p.Env, apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for {
		if hello, err := (client.Client{Home: home}).Hello(ctx); err == nil && hello.PID == cmd.Process.Pid {
			fmt.Fprintf(o.p.Stdout, "serving as process %d; kerf serve stop ends it\n", hello.PID)
			return nil
		}
		select {
		case <-ended:
			said, _ := os.ReadFile(path)
			return fmt.Errorf("the server ended at once: %s", visible.OneLine(string(said), 1000))
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			return fmt.Errorf("the server does not answer; see %s", path)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// again are the arguments with which the server in the background is started.
func (o *serveOptions) again() []string {
	args := []string{"serve", "--idle", o.idle.String()}
	if o.socket != "" {
		args = append(args, "--socket", o.socket)
	}
	if o.p.Unrecorded {
		args = append(args, "--unrecorded")
	}
	if o.p.OSS {
		args = append(args, "--oss")
	}
	return append(args, o.p.Again()...)
}

// serverOf is the client of the server that runs, if one does.
func serverOf(p *program.Program) (client.Client, error) {
	home, err := config.HomeDir(p.Getenv)
	if err != nil {
		return client.Client{}, program.Misuse("%v", err)
	}
	return client.Client{Home: home}, nil
}

// serverError gives an error of the client the step that helps.
func serverError(err error) error {
	switch {
	case err == nil:
		return nil
	case client.Gone(err):
		return &program.Error{Code: 1, Err: endpoint.ErrNone, Hint: "start one with: kerf serve --detach"}
	case errors.Is(err, protocol.ErrNoSession):
		return &program.Error{Code: 1, Err: err, Hint: "kerf serve list names the live sessions; kerf resume goes on with " +
			"a recorded one"}
	}
	return err
}

func serveList(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the live sessions and what they wait for",
		Args: program.AtMost(0), RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := serverOf(p)
			if err != nil {
				return err
			}
			list, err := c.List(cmd.Context())
			if err != nil {
				return serverError(err)
			}
			if asJSON {
				return printLive(p, list)
			}
			showLive(p, list)
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printLive(p *program.Program, list []message.Session) error {
	rows := make([]map[string]any, 0, len(list))
	for _, s := range list {
		rows = append(rows, map[string]any{"id": s.ID, "title": s.Title, "cwd": s.Cwd, "model": s.Model, "state": s.State,
			"questions": s.Questions, "processes": s.Processes, "front_ends": s.Faces, "events": s.Events,
			"opened": time.Unix(s.Opened, 0).UTC()})
	}
	return print.JSON(p.Stdout, map[string]any{"sessions": rows})
}

func showLive(p *program.Program, list []message.Session) {
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "no live sessions")
		return
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range list {
		state := s.State
		if s.Questions > 0 {
			state = fmt.Sprintf("waiting for %d answers", s.Questions)
			if s.Questions == 1 {
				state = "waiting for an answer"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%d watching\t%s\t%s\n", s.ID, state, s.Faces, visible.Line(s.Cwd),
			visible.OneLine(s.Title, 60))
	}
	_ = w.Flush()
}

func serveEnd(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "end ID", Short: "End a live session; its record stays", Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := serverOf(p)
			if err != nil {
				return err
			}
			id, err := liveOf(cmd.Context(), c, args[0])
			if err == nil {
				err = c.End(cmd.Context(), id)
			}
			return serverError(err)
		}}
}

func serveStop(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "stop", Short: "Stop the server; what runs is interrupted", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := serverOf(p)
			if err != nil {
				return err
			}
			if err := c.Stop(cmd.Context()); err != nil {
				return serverError(err)
			}
			for { // until the sessions are closed
				if endpoint.Ended(c.Home) {
					return nil
				}
				select {
				case <-time.After(20 * time.Millisecond):
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				}
			}
		}}
}
