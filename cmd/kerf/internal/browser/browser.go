// Package browser has the command that shows in a browser what was recorded and what
// runs.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/atomicfile"
	"kerf/internal/front/web"
	"kerf/internal/host"
	"kerf/internal/text/visible"
)

const about = `Shows pages in a browser of this machine: recorded sessions, what was changed and by whom, where
each line of a file comes from, what undo would do, running sessions, and usage.

It listens on the loopback only, and prints the address that lets a browser in. The pages only
read. With --control they can also undo and redo, send messages to running sessions, interrupt
them, and answer their questions. Running sessions are those of kerf serve.

The address is below localhost, which browsers find by themselves. See kerf help web.`

// options are the flags of `kerf web`.
type options struct {
	p             *program.Program
	port          int
	fleet         string
	open, control bool
}

// Command is `kerf web`.
func Command(p *program.Program) *cobra.Command {
	o := &options{p: p}
	cmd := &cobra.Command{Use: "web", Short: "Look at sessions, changes and usage in a browser", Long: about,
		Example: "  kerf web --open\n  kerf web --control --port 7777", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) }}
	f := cmd.Flags()
	f.IntVar(&o.port, "port", 0, "listen on this `port` of the loopback; 0 takes a free one")
	f.BoolVar(&o.open, "open", false, "open the address in the browser")
	f.StringVar(&o.fleet, "fleet", "", "the `socket` of kerf-fleet; without it that of this user's, if there is one")
	f.BoolVar(&o.control, "control", false, "let the pages change things")
	return cmd
}

func (o *options) run(ctx context.Context) error {
	if o.port < 0 || o.port > 65535 {
		return program.Misuse("--port %d: give a number from 0 to 65535", o.port)
	}
	h, err := o.p.Tolerant()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return &program.Error{Code: 1, Err: fmt.Errorf("port %d is taken", o.port), Hint: "without --port kerf web takes a free one"}
		}
		return err
	}
	defer l.Close()
	running := newRunning(h.Config.Home)
	defer running.close()
	tasks, err := findFleet(o.fleet)
	if err != nil {
		return err
	}
	shown := newData(h)
	defer shown.close()
	s, err := web.New(l.Addr(), web.Options{Data: shown, Live: running, Fleet: tasks, Control: o.control, Version: host.Version,
		Log: func(line string) { fmt.Fprintf(o.p.Stderr, "kerf: %s\n", visible.Plain(line)) }})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintln(o.p.Stdout, s.URL())
	fmt.Fprintln(o.p.Stderr, "kerf: serving on this machine only; Ctrl-C ends it")
	if o.open {
		defer os.Remove(pageOf(h.Config.Home))
		if err := show(h.Config.Home, s.URL()); err != nil {
			fmt.Fprintf(o.p.Stderr, "kerf: no browser was opened: %v; open the address above\n", visible.Plain(err.Error()))
		}
	}
	return s.Serve(ctx, l)
}

// openers are the programs that open a page in the user's browser.
var openers = map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}

// pageOf is the page that leads to the server. It is there as long as the server is.
func pageOf(home string) string { return filepath.Join(home, "run", "web.html") }

// show opens a page that leads to url. The page is a file that only the user can read: the
// arguments of programs can be read by every user of the machine.
func show(home, url string) error {
	words := openers[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return fmt.Errorf("%s is not installed", words[0])
	}
	path := pageOf(home)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	page := `<!DOCTYPE html><meta charset="utf-8"><title>Kerf</title><meta http-equiv="refresh" content="0;url=` + url +
		`"><a href="` + url + `">Kerf</a>` + "\n"
	if err := atomicfile.Write(path, []byte(page), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(program, append(words[1:], path)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
