package executor

import (
	"context"
	"time"

	"kerf/internal/agent/executor/aim"
	"kerf/internal/agent/history"
	"kerf/internal/agent/turn"
	"kerf/internal/text/delta"
	"kerf/internal/text/redact"
)

// Check runs the check of a goal like a command of the model: in the sandbox, seen and
// recorded. What it says counts only while its own files are what they were.
func (h *Executor) Check(ctx context.Context, e turn.Check, l Live) turn.Checked {
	began := time.Now()
	live := redact.NewWriter(h.o.Redact, l.Show)
	a := aim.Command(e.Goal, h.o.Cwd)
	o := h.Do(ctx, e.Call, a, RunOptions{Settings: e.Settings, Turn: e.Turn, Show: live.Write, Warn: l.Warn, Ask: l.Ask})
	live.Close()
	h.redact(a, &o)
	o.Text = history.Truncate(o.Text, h.o.OutputTokens)
	passed := h.aim.Judge(&o, h.record.certain())
	o.Millis = time.Since(began).Milliseconds()
	return turn.Checked{Call: e.Call, Outcome: o, Passed: passed}
}

// certain is what the running turn changed on the whole, as far as nothing is in doubt.
func (r *recorder) certain() delta.Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn.track.Load = r.files.Whole
	return r.turn.track.Certain()
}
