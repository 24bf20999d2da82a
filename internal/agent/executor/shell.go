package executor

import (
	"context"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
)

// shellLimit ends a command of the user's own that nobody stopped.
const shellLimit = time.Hour

// Shell runs a command of the user's own, as the user and outside the sandbox.
// What it changed is found as for any other command.
func (h *Executor) Shell(ctx context.Context, e turn.RunShell, l Live) turn.ShellDone {
	began := time.Now()
	h.record.begin(e.Turn)
	live := redact.NewWriter(h.o.Redact, l.Show)
	set := e.Settings
	set.Sandbox, set.Approval = protocol.SandboxFull, protocol.PolicyNever
	line := strings.TrimSpace(e.Command)
	a := tool.Command{Line: line, Argv: []string{"bash", "-c", line}, Dir: h.o.Cwd, Timeout: shellLimit,
		Yield: shellLimit + time.Second}
	o := h.Do(ctx, e.Call, a, RunOptions{Settings: set, Turn: e.Turn, Unsandboxed: true, Show: live.Write})
	live.Close()
	h.redact(a, &o)
	if body, ok := o.Body.(protocol.Command); ok {
		body.User = true
		o.Body = body
	}
	o.Text = history.Truncate(o.Text, h.o.OutputTokens)
	o.Millis = time.Since(began).Milliseconds()
	return turn.ShellDone{Call: e.Call, Outcome: o}
}
