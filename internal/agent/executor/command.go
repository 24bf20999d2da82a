package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"kerf/internal/agent/executor/command"
	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/scan"
	"kerf/internal/work/txn"
)

// command runs a program and finds out what it changed.
func (h *Executor) command(ctx context.Context, id protocol.CallID, a tool.Command, m Manner) turn.Outcome {
	if st, err := os.Stat(a.Dir); err != nil || !st.IsDir() {
		return ran(id, a, command.Failed(2, "workdir %s is not a directory. Leave workdir out to run in %s", a.Dir, h.o.Cwd), nil)
	}
	o := command.RunOptions{Call: id, Settings: m.Settings, Unsandboxed: m.Unsandboxed, Show: m.Show, Ask: m.Ask}
	quiet := policy.KnownSafe(a.Line) && !h.commands.InTerminal(a, o)
	var changes []history.FileChange
	if !quiet { // before the sandbox, which puts things in the place of what it protects
		changes = h.scanned(ctx, m, id, h.strayCause())
	}
	r := h.commands.Run(ctx, a, o)
	if r.Started && (!quiet || r.Running) {
		// The scan is the record of what happened; an interrupt must not cut it.
		changes = append(changes, h.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)...)
	}
	if r.Denied() && m.Denied != nil && !m.Unsandboxed && m.Settings.Sandbox != protocol.SandboxFull {
		m.Denied()
	}
	return ran(id, a, r, changes)
}

// ran is the outcome of a command.
func ran(id protocol.CallID, a tool.Command, r command.Result, changes []history.FileChange) turn.Outcome {
	body := protocol.Command{Call: id, Command: a.Line, Cwd: a.Dir, Output: r.Output, ExitCode: r.Exit(), Terminal: r.Terminal}
	return turn.Outcome{Text: r.Text(), Success: r.Success(), Body: body, Changes: changes, Warnings: r.Notes}
}

// writeStdin feeds or polls a process that was left running.
func (h *Executor) writeStdin(ctx context.Context, id protocol.CallID, a tool.Poke, m Manner) turn.Outcome {
	body, _ := m.Body.(protocol.ToolCall)
	r, err := h.commands.WriteStdin(ctx, a)
	var refused *tool.Error
	if errors.As(err, &refused) {
		body.Error = Render(tool.Fail(refused))
		return turn.Outcome{Text: body.Error, Body: body}
	}
	body.Output = r.Text()
	changes := h.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)
	return turn.Outcome{Text: body.Output, Success: r.Success(), Body: body, Changes: changes, Warnings: r.Notes}
}

// strayCause is what changes found before a command are laid to: processes that
// still run, or somebody else.
func (h *Executor) strayCause() string {
	if h.commands.Busy() {
		return ledger.CauseCommand
	}
	return ledger.CauseOutside
}

// scanned finds what changed under the roots since the last scan and records it
// with the given cause. The first scan only remembers.
func (h *Executor) scanned(ctx context.Context, m Manner, id protocol.CallID, cause string) []history.FileChange {
	if h.o.Scanner == nil {
		return nil
	}
	co := txn.CommitOptions{Origin: h.origin(m, id), Cause: cause}
	set, some := h.compared(ctx, &co)
	if !some {
		return nil
	}
	return h.found(id, set, co)
}

// compared finds what changed since the last scan, and fills co with what is not a
// change of a file. It reports whether there is anything.
func (h *Executor) compared(ctx context.Context, co *txn.CommitOptions) (delta.Set, bool) {
	h.scanning.Lock()
	defer h.scanning.Unlock()
	now, err := h.o.Scanner.Snapshot(ctx)
	if err != nil {
		h.uncertain(fmt.Sprintf("the roots could not be scanned: %v", err))
		return nil, false
	}
	h.mu.Lock()
	before := h.snap
	h.snap = now
	h.mu.Unlock()
	if before == nil {
		return nil, false
	}
	set, gaps, err := h.o.Scanner.Diff(ctx, before, now)
	if err != nil {
		h.uncertain(fmt.Sprintf("the roots could not be compared: %v", err))
		return nil, false
	}
	co.Dirs, co.Gone = directories(h.o.Scanner.Dirs(before, now))
	var notes []string
	for _, g := range gaps {
		if g.Kind == scan.Directory {
			continue // the ledger has it among the directories
		}
		what := g.Path + " (" + g.Reason + ")"
		h.uncertain(what)
		notes = append(notes, what)
	}
	co.Inexact, co.Origin.Note = len(notes) > 0, noteOf(notes)
	return set, len(set)+len(co.Dirs)+len(co.Gone) > 0
}

// maxNotes bounds what a ledger entry tells of what could not be seen.
const maxNotes = 20

func noteOf(notes []string) string {
	if more := len(notes) - maxNotes; more > 0 {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(notes, "; ")
}

// directories puts what the scanner found in the form of the ledger.
func directories(made, gone []scan.Dir) ([]ledger.Path, []ledger.Dir) {
	var paths []ledger.Path
	for _, d := range made {
		paths = append(paths, ledger.Path(d.Path))
	}
	var dirs []ledger.Dir
	for _, d := range gone {
		dirs = append(dirs, ledger.Dir{Path: ledger.Path(d.Path), Mode: uint32(d.Mode)})
	}
	return paths, dirs
}

func (h *Executor) uncertain(what string) {
	h.mu.Lock()
	h.turn.inexact = append(h.turn.inexact, what)
	h.mu.Unlock()
}

// found enters changes that were made behind Kerf's back into the ledger.
func (h *Executor) found(id protocol.CallID, set delta.Set, co txn.CommitOptions) []history.FileChange {
	entry, err := h.o.Work.Record(context.Background(), set, co)
	if err != nil {
		h.uncertain(fmt.Sprintf("the ledger could not be written: %v", err))
	}
	if len(set) == 0 {
		return nil
	}
	return h.landed(id, co.Cause, set, true, entry).records
}

// note tells the scanner of a change that Kerf made itself.
func (h *Executor) note(path string, img *delta.Image) {
	if h.o.Scanner != nil {
		h.scanning.Lock()
		h.o.Scanner.Note(path, img)
		h.scanning.Unlock()
	}
}
