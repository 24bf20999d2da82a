package checked

import (
	"context"
	"strings"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/check"
	"kerf/internal/work/check/treehash"
	"kerf/internal/work/ledger"
)

// Goals is an executor that enters the verdicts of the checks of goals. Its other checks are
// none.
type Goals struct {
	*executor.Executor
	o     Options
	trees *treehash.Hasher
}

// NewGoals makes one. It does nothing before a goal is checked.
func NewGoals(exec *executor.Executor, o Options) *Goals {
	return &Goals{Executor: exec, o: o, trees: &treehash.Hasher{Roots: o.Roots, List: o.List}}
}

// Check is that of the executor, with an entry of the ledger.
func (x *Goals) Check(ctx context.Context, e turn.Check, l executor.Live) turn.Checked {
	return x.o.goal(ctx, x.trees, x.Executor, e, l)
}

// Check is that of the executor, with an entry of the ledger.
func (x *Executor) Check(ctx context.Context, e turn.Check, l executor.Live) turn.Checked {
	return x.o.goal(ctx, x.trees, x.Executor, e, l)
}

// goal runs the check of a goal, and enters what it came to. It is about the state of the files
// before it; when they are others afterwards, whoever changed them, it is about none.
func (o *Options) goal(ctx context.Context, trees *treehash.Hasher, exec *executor.Executor, e turn.Check,
	l executor.Live) turn.Checked {
	before, err := trees.Tree(ctx)
	done := exec.Check(ctx, e, l)
	body, ok := done.Outcome.Body.(protocol.Command)
	if !ok || ctx.Err() != nil {
		return done
	}
	line := strings.TrimSpace(e.Goal.Check)
	v := ledger.Verdict{Name: line, Command: line, When: string(check.Goal), Outcome: string(check.OK),
		Millis: done.Outcome.Millis}
	switch {
	case body.ExitCode == nil:
		v.Outcome, v.Why = string(check.Unable), "it did not run to its end"
	case done.Passed:
	case *body.ExitCode == 0:
		v.Outcome, v.Why = string(check.Failed), "its own files were changed in the turn"
	default:
		v.Outcome, v.Exit = string(check.Failed), *body.ExitCode
	}
	if after, err2 := trees.Tree(ctx); err == nil && err2 == nil {
		if v.Tree = before; before != after {
			v.Tree, v.Moved = "", true
		}
	}
	o.enter(e.Turn, body.Output, v)
	return done
}
