// Package unrecorded refuses what could not be recorded, and remembers what was not.
package unrecorded

import (
	"fmt"
	"strings"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/room"
)

// Guard is asked before files are changed or commands run. A nil Guard lets everything
// through. It may be used by several goroutines.
type Guard struct {
	Room *room.Room
	// Allowed lets commands run that cannot be recorded, by the user's own word.
	Allowed bool
	// NotKept, when not empty, says that nothing of what is done is kept, and why.
	NotKept string

	mu    sync.Mutex // guards what follows
	lost  []string
	noted bool // NotKept was told
}

// Insisted reports whether the user said that commands may do what cannot be recorded.
func (g *Guard) Insisted() bool { return g != nil && g.Allowed }

const advice = ". Do not try again: tell the user"

// Refuse returns the outcome of an action that may not run now, because it would change
// files or run a command, and that could not be recorded; nil if it may. What runs
// without a record is told to note. The turn of a refused action has failed, see Take.
func (g *Guard) Refuse(id protocol.CallID, a tool.Action, note func(string)) *turn.Outcome {
	if g == nil {
		return nil
	}
	body, changes := bodyOf(id, a)
	if !changes {
		return nil
	}
	if g.NotKept != "" && g.first() {
		note(g.NotKept)
	}
	err := g.Room.Check()
	if err == nil {
		return nil
	}
	if _, runs := a.(tool.Command); runs && g.Allowed {
		note("a command ran that could not be recorded: " + err.Error())
		return nil
	}
	g.add(err.Error())
	text := err.Error() + advice
	switch b := body.(type) {
	case protocol.Command:
		failed := 1
		b.Output, b.ExitCode = text, &failed
		body = b
	case protocol.FileChange:
		b.Error = text
		body = b
	}
	return &turn.Outcome{Text: text, Body: body}
}

// first reports whether it is asked for the first time since Take.
func (g *Guard) first() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.noted
	g.noted = true
	return !was
}

// bodyOf is what front ends are shown of an action that changes something; false if it
// does not.
func bodyOf(id protocol.CallID, a tool.Action) (protocol.Body, bool) {
	switch a := a.(type) {
	case tool.Command:
		return protocol.Command{Call: id, Command: a.Line, Cwd: a.Dir}, true
	case tool.Change:
		body := protocol.FileChange{Call: id}
		for _, c := range a.Set {
			kind := protocol.Update
			switch c.Op() {
			case "created":
				kind = protocol.Add
			case "deleted":
				kind = protocol.Delete
			}
			body.Changes = append(body.Changes, protocol.PathChange{Path: c.Path, Kind: kind})
		}
		return body, true
	case tool.Undo:
		return protocol.FileChange{Call: id}, true
	}
	return nil, false
}

// most bounds the names that are told.
const most = 20

// Lose notes changes that happened and are not recorded, or not wholly.
func (g *Guard) Lose(set delta.Set, err error) {
	if g == nil {
		return
	}
	paths := set.Paths()
	if more := len(paths) - most; more > 0 {
		paths = append(paths[:most:most], fmt.Sprintf("and %d more", more))
	}
	g.add(fmt.Sprintf("not recorded, or not wholly: the changes of %s: %v", strings.Join(paths, ", "), err))
}

func (g *Guard) add(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lost) == 0 || g.lost[len(g.lost)-1] != what {
		g.lost = append(g.lost, what)
	}
}

// Take tells once what was not recorded, or refused for that; empty if nothing was.
func (g *Guard) Take() string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	lost := g.lost
	g.lost, g.noted = nil, false
	return strings.Join(lost, "; ")
}
