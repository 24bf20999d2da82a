package session

import (
	"context"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Executor does what the core decides about the machine. Its methods may be called
// by several goroutines; calls that must not run beside others are kept apart by the
// core.
type Executor interface {
	// Offered are the tools beside those of the prompt.
	Offered() []tool.Spec
	// Gather finds what the model is told before a turn. The session's own news come
	// before the files that changed.
	Gather(ctx context.Context, e turn.Gather, news []*model.Item) turn.Gathered
	Prepare(ctx context.Context, e turn.Prepare) turn.Prepared
	// Run answers with Finished or AskAgain.
	Run(ctx context.Context, e turn.Run, l executor.Live) turn.Input
	Shell(ctx context.Context, e turn.RunShell, l executor.Live) turn.ShellDone
	Undo(ctx context.Context, e turn.Undo, ask executor.Ask) turn.Undone
	// Check runs the check of a goal.
	Check(ctx context.Context, e turn.Check, l executor.Live) turn.Checked
	// Settle finds out what the turn changed.
	Settle(ctx context.Context, e turn.Settle) turn.Settled
	// Close ends everything that still runs.
	Close()
}

// Background are the processes that outlived their calls.
type Background interface {
	Processes() (running, over []protocol.Process)
	// OnEnd has fn called when one has ended, beside the caller.
	OnEnd(fn func(id int))
	Kill(id int) error
}
