package executor

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// cage is a command with its sandbox and where its output goes.
type cage struct {
	spec   proc.Spec
	box    *sandbox.Box
	out    *outputlog.Log
	cancel context.CancelFunc // withdraws questions about the network

	mu      sync.Mutex // guards what follows
	refused []string   // what the network filter refused
	more    int
}

// maxRefused bounds what is told of refused requests.
const maxRefused = 5

// confined is how the command is really started.
func (h *Executor) confined(ctx context.Context, id protocol.CallID, a tool.Command, m Manner) (*cage, error) {
	p := h.o.Sandbox(policy.Mode(m.Settings, m.Unsandboxed))
	p.Cwd = a.Dir
	c := &cage{out: h.outputs.New()}
	// The command may outlive the call, and its questions with it.
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	p.Ask = func(host string, port int) bool { return h.mayReach(asking, id, a, m, host, port) }
	p.Log = c.log
	argv, env := h.shell.Command(a)
	var err error
	if c.box, err = sandbox.Prepare(ctx, p, a.TTY, argv); err != nil {
		cancel()
		return nil, err
	}
	c.spec = proc.Spec{Argv: c.box.Argv, ExtraFiles: c.box.Files, Dir: a.Dir, Env: env, TTY: a.TTY, Stdin: a.TTY,
		Confined: c.box.Confined, Linger: !c.box.Confined, Started: c.box.Started, Spill: c.out}
	return c, nil
}

// end gives up what the command needed, once it has ended, and returns what the
// model and the user have to know. It may be called again.
func (c *cage) end() (notes []string) {
	c.cancel()
	found := c.box.Close()
	if path := c.box.Broken(); path != "" {
		notes = append(notes, fmt.Sprintf("The command was ended: %s, which is protected while commands run, was removed or replaced from outside. Run it again.", path))
	}
	for _, f := range found {
		done := ""
		if f.Removed && !strings.Contains(f.What, " now ") {
			done = "; it was removed"
		}
		notes = append(notes, fmt.Sprintf("sandbox: %s: %s%s", f.Path, f.What, done))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.refused {
		notes = append(notes, "network filter: "+line)
	}
	if c.more > 0 {
		notes = append(notes, fmt.Sprintf("network filter: %d more requests were blocked", c.more))
	}
	return notes
}

func (c *cage) log(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refused) < maxRefused {
		c.refused = append(c.refused, line)
	} else {
		c.more++
	}
}

// hosts are the answers that hold for the rest of the session: those of the user,
// and no where nobody could be asked.
type hosts struct {
	mu    sync.Mutex // guards what follows; held while a question is open
	known map[string]bool
}

// mayReach asks whether a command may reach a host that no rule names. One
// question is open at a time, so that an answer for the session serves all.
func (h *Executor) mayReach(ctx context.Context, id protocol.CallID, a tool.Command, m Manner, host string, port int) bool {
	if m.Ask == nil || m.Settings.Approval == protocol.PolicyNever {
		return false
	}
	h.hosts.mu.Lock()
	defer h.hosts.mu.Unlock()
	key := net.JoinHostPort(host, strconv.Itoa(port))
	if may, known := h.hosts.known[key]; known {
		return may
	}
	got := m.Ask(ctx, protocol.Approval{Call: id, Reason: "a command wants to reach a host that no rule names",
		Network: &protocol.NetworkApproval{Host: host, Port: port, Command: a.Line}})
	may, d := got.Answer.Decision.Allows(), got.Answer.Decision
	if may && d != protocol.Once || got.By == protocol.ByNobody {
		if h.hosts.known == nil {
			h.hosts.known = map[string]bool{}
		}
		h.hosts.known[key] = may
	}
	return may
}
