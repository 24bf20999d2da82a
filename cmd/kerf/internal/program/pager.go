package program

import (
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"os/signal"
	"strings"
)

// Paged runs a command whose result may be long. On a terminal the result goes through the
// user's pager, chosen as git chooses it: GIT_PAGER, core.pager of the user's or the
// system's git configuration, PAGER, less. The configuration of a repository has no say: it
// may be the work of others. An empty pager, cat, or one that cannot be started is none.
//
// While show runs, Stdout is the pager. When the user leaves the pager early, that is the
// end, and no error.
func (p *Program) Paged(show func() error) error {
	command := ""
	if IsTerminal(p.Stdout) && p.Getenv("TERM") != "dumb" {
		command = p.pager()
	}
	if command == "" || command == "cat" {
		return show()
	}
	terminal := p.Stdout
	pager := osexec.Command("sh", "-c", command)
	pager.Env = p.Env
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if p.Getenv(name) == "" {
			pager.Env = append(pager.Env, name+"="+value)
		}
	}
	pager.Stdout, pager.Stderr = Stream(terminal), p.Stderr
	in, err := pager.StdinPipe()
	if err == nil {
		err = pager.Start()
	}
	if err != nil {
		return show()
	}
	signal.Ignore(os.Interrupt) // it is for the pager
	defer signal.Reset(os.Interrupt)
	w := &pipe{to: in}
	p.Stdout = w
	err = show()
	p.Stdout = terminal
	_ = in.Close()   // what could not be written was not wanted
	_ = pager.Wait() // nor is it an error of Kerf's when the pager has one
	if w.closed {
		return nil
	}
	return err
}

// pager is the command that shows long results.
func (p *Program) pager() string {
	if value, ok := p.lookup("GIT_PAGER"); ok {
		return value
	}
	for _, scope := range []string{"--global", "--system"} {
		if value, ok := p.gitConfig(scope, "--get", "core.pager"); ok {
			return value
		}
	}
	if value, ok := p.lookup("PAGER"); ok {
		return value
	}
	if _, err := osexec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// lookup is Getenv, and whether there is such a variable.
func (p *Program) lookup(name string) (string, bool) {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(p.Env[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// pipe leads to a pager, which may go before all is written.
type pipe struct {
	to     io.Writer
	closed bool
}

var errClosed = errors.New("the pager was left")

// Write passes b on as long as the pager is there.
func (w *pipe) Write(b []byte) (int, error) {
	if w.closed {
		return 0, errClosed
	}
	n, err := w.to.Write(b)
	if err != nil {
		w.closed = true
		return n, errClosed
	}
	return n, nil
}
