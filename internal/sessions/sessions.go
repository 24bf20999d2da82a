// Package sessions reads recorded sessions back: it lists, finds, searches and keeps
// them, makes transcripts, logs, documents and scenarios of them, counts what they
// used, replays and verifies them. It also begins, resumes and forks the record of
// a session that is opened.
//
// A session is a directory with its id as the name, see package rollout.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/sessions/replay"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
)

// AgentSource is what the metadata of a sub-agent's session names as its source.
const AgentSource = "agent"

// Options say where sessions are and what reading them needs.
type Options struct {
	Dir  string // has a directory for each session
	Home string // of Kerf; no part of any workspace
	// Cwd is the working directory of a session whose metadata is lost.
	Cwd     string
	Version string // of Kerf
	// Redact takes secrets out of what is recorded.
	Redact func([]byte) []byte
	// Price is what tokens of a model cost in US dollars, and whether that is known.
	Price func(model string, u protocol.Usage) (dollars float64, known bool)
	// Ledger uses a reader of the ledger of the workspace of root.
	Ledger func(root string, use func(changes.Reader) error) error
	// Files uses a function that tells the state of the files on this machine.
	Files func(use func(present.Look) error) error
	// Open opens the session of a replay, see package replay.
	Open replay.Opener
}

// Store is the sessions of a directory. It has no state and may be used by several
// goroutines, and beside other processes.
type Store struct{ o Options }

var _ protocol.SessionStore = (*Store)(nil)

// Open returns the store of o. It reads nothing.
func Open(o Options) *Store { return &Store{o} }

// DirOf is the directory of a session.
func (s *Store) DirOf(id protocol.SessionID) string { return filepath.Join(s.o.Dir, string(id)) }

// ids returns the ids of all sessions, newest first: they are UUIDv7 and sort by
// the time they were made.
func (s *Store) ids() ([]string, error) {
	f, err := os.Open(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return len(n) != 36 })
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// List returns the sessions that match f, newest first.
func (s *Store) List(ctx context.Context, f protocol.Filter) ([]protocol.SessionInfo, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	if f.Cursor != "" {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id >= f.Cursor })
	}
	var list []protocol.SessionInfo
	first := true
	for len(ids) > 0 && (f.Limit <= 0 || len(list) < f.Limit) {
		some, of := ids, whole
		switch {
		case f.Limit > 0 && first: // a page needs few of many, as a rule
			some, of = ids[:min(len(ids), 2*f.Limit)], few
		case f.Limit > 0 || f.Cursor != "":
			of = many
		}
		ids, first = ids[len(some):], false
		infos, err := s.infos(ctx, some, of)
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			if matches(info, f) && (f.Limit <= 0 || len(list) < f.Limit) {
				list = append(list, info)
			}
		}
	}
	return list, nil
}

// All returns the sessions that match f, archived ones after the others.
func (s *Store) All(ctx context.Context, f protocol.Filter) ([]protocol.SessionInfo, error) {
	var all []protocol.SessionInfo
	for _, f.Archived = range []bool{false, true} {
		some, err := s.List(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func matches(i protocol.SessionInfo, f protocol.Filter) bool {
	if f.Cwd != "" && i.Cwd != f.Cwd || i.Archived != f.Archived || i.Source == AgentSource && !f.Agents {
		return false
	}
	want := strings.ToLower(f.Search)
	return want == "" || strings.Contains(strings.ToLower(i.Title), want) || strings.HasPrefix(string(i.ID), want)
}

// info is recorded, with the name that the directory has now.
func (s *Store) info(id string) protocol.SessionInfo {
	info := s.recorded(id)
	info.Cwd = ledger.Now(s.moves(), info.Cwd, info.Created)
	return info
}

// moves are the directories that were renamed since sessions began in them.
func (s *Store) moves() []ledger.Move { return ledger.Moves(homes.All(s.o.Home)) }

// begun is what the first record of a session says, for one whose metadata cannot be read.
func (s *Store) begun(id, damage string) protocol.SessionInfo {
	info := protocol.SessionInfo{ID: protocol.SessionID(id), Damage: damage}
	r, err := records.First(s.DirOf(info.ID))
	if err != nil {
		return info
	}
	if m, ok := r.Record.(history.SessionMeta); ok {
		info.Cwd, info.Model, info.Source, info.Parent = m.Cwd, m.Model, m.Source, m.Parent
		info.Created, info.Updated = r.Time, r.Time
	}
	return info
}

// recorded is what the metadata of a session says.
func (s *Store) recorded(id string) protocol.SessionInfo {
	m, err := rollout.LoadMetadata(filepath.Join(s.o.Dir, id))
	if err != nil {
		return s.begun(id, "metadata.json: "+err.Error())
	}
	return protocol.SessionInfo{ID: protocol.SessionID(id), Title: m.Title, Cwd: m.Cwd, Model: m.Model,
		Branch: m.Git.Branch, Created: m.Created, Updated: m.Updated, Turns: m.Turns, Tokens: m.Tokens,
		Parent: protocol.SessionID(m.Parent), Archived: m.Archived, Source: m.Source}
}
