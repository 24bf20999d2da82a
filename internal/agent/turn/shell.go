package turn

import (
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// shell is a command of the user's own that runs.
type shell struct {
	call    protocol.CallID
	item    protocol.ItemID
	command string
	stopped bool
}

// shellOp runs a command of the user's own: beside the running turn, or else in
// a turn of its own.
func (c *Core) shellOp(s Submit, op protocol.Shell) {
	switch {
	case c.closing:
		return
	case strings.TrimSpace(op.Command) == "":
		c.reply(s.ID, protocol.Warning{Message: "there is no command to run"})
		return
	case c.chore != nil, c.turn != nil && (c.turn.stopping != nil || c.turn.phase == settling):
		c.next = append(c.next, s)
		return
	case c.turn == nil:
		c.enter(&turn{id: protocol.TurnID(s.ID), kind: userShell, phase: shelling, settings: c.settings})
	}
	t := c.turn
	k := &shell{call: protocol.CallID("shell_" + s.ID), command: op.Command}
	t.shells = append(t.shells, k)
	k.item = c.show(protocol.Command{Call: k.call, Command: op.Command, Cwd: t.settings.Cwd, User: true})
	c.do(RunShell{Turn: t.id, Call: k.call, Settings: t.settings, Command: op.Command})
}

// stopShells ends the user's commands that run.
func (t *turn) stopShells(out *output) {
	if t == nil {
		return
	}
	for _, k := range t.shells {
		if !k.stopped {
			k.stopped = true
			out.do(StopCall{Call: k.call})
		}
	}
}

func (t *turn) findShell(id protocol.CallID) (int, *shell) {
	if t != nil {
		for i, k := range t.shells {
			if k.call == id {
				return i, k
			}
		}
	}
	return 0, nil
}

func (c *Core) shellDone(in ShellDone) {
	i, k := c.turn.findShell(in.Call)
	if k == nil {
		return
	}
	t := c.turn
	t.shells = append(t.shells[:i:i], t.shells[i+1:]...)
	for _, ch := range in.Outcome.Changes {
		ch.Turn = t.id
		c.record(ch)
	}
	for _, w := range in.Outcome.Warnings {
		c.tell(protocol.Warning{Message: w})
	}
	body := in.Outcome.Body
	if body == nil {
		body = protocol.Command{Call: k.call, Command: k.command, Cwd: t.settings.Cwd, Output: in.Outcome.Text, User: true}
	}
	status := protocol.Completed
	if !in.Outcome.Success {
		status = protocol.Failed
	}
	c.complete(k.item, status, body)
	t.ran = append(t.ran, history.UserInput{Turn: t.id, Marker: true, Text: shellWords(k.command, in.Outcome.Text)})
	switch {
	case len(t.shells) > 0:
	case t.phase == shelling:
		c.settle(ending{})
	case t.phase == settling:
		askSettle(c)
	}
}

// shellWords tells the model of a command that the user ran.
func shellWords(command, result string) string {
	safe := strings.NewReplacer("</user_shell_command", "<\\/user_shell_command").Replace
	return "<user_shell_command>\nThe user ran this themselves, outside the sandbox.\n<command>\n" + safe(command) +
		"\n</command>\n<result>\n" + safe(result) + "\n</result>\n</user_shell_command>"
}

// recordShells puts the user's commands that ended into the history. It is
// called where no response is under way: its items must stay together.
func (c *Core) recordShells() {
	for _, u := range c.turn.ran {
		c.record(u)
		c.add(u.Item())
	}
	c.turn.ran = nil
}
