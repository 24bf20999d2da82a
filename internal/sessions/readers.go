package sessions

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"kerf/internal/agent/rollout"
	"kerf/internal/model/script"
	"kerf/internal/protocol"
	"kerf/internal/sessions/codex"
	"kerf/internal/sessions/export"
	"kerf/internal/sessions/peers"
	"kerf/internal/sessions/records"
	"kerf/internal/sessions/replay"
	"kerf/internal/sessions/scenario"
	"kerf/internal/sessions/transcript"
	"kerf/internal/sessions/verify"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
)

// Transcript returns the newest turns of a session, oldest first; limit 0 returns
// all. Turns that were rewound are left out. Only as much of the record is read
// as the turns need.
func (s *Store) Transcript(ctx context.Context, name string, limit int) ([]protocol.PastTurn, error) {
	info, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	o := s.reading(info)
	o.Limit = limit
	turns, err := transcript.Read(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	return turns, nil
}

// reading is how the turns of a session are read.
func (s *Store) reading(info protocol.SessionInfo) transcript.Options {
	return transcript.Options{Dir: s.DirOf(info.ID), Cwd: info.Cwd,
		Net: func(turns []*protocol.PastTurn) { s.netDiffs(info, turns) }}
}

// netDiffs gives turns their net diffs from the ledger. Without it they keep the
// diffs of their changes.
func (s *Store) netDiffs(info protocol.SessionInfo, turns []*protocol.PastTurn) {
	_ = s.ledger(info)(func(r changes.Reader) error {
		for _, turn := range turns {
			net, err := r.Turn(string(info.ID), string(turn.ID), turn.Began.Add(-time.Minute))
			if err == nil && len(net) > 0 {
				turn.Diff = string(net)
			}
		}
		return nil
	})
}

// ledger uses a reader of the ledger of a session's workspace.
func (s *Store) ledger(info protocol.SessionInfo) func(use func(changes.Reader) error) error {
	return func(use func(changes.Reader) error) error { return s.o.Ledger(cmp.Or(info.Cwd, s.o.Cwd), use) }
}

// Export writes what was shown of a session, of the newest one here for "", in one of the formats
// of package export.
func (s *Store) Export(ctx context.Context, w io.Writer, name, format string) error {
	info, err := s.Here(ctx, name)
	if err != nil {
		return err
	}
	turns, err := s.Transcript(ctx, string(info.ID), 0)
	if err != nil {
		return err
	}
	return export.Write(w, info, turns, format)
}

// Import makes a session of one that Codex, Claude Code or Gemini CLI recorded in a file.
func (s *Store) Import(path string) (codex.Imported, error) {
	text, agent, err := peers.Rollout(path)
	if err != nil {
		return codex.Imported{}, err
	}
	return codex.Import(path, bytes.NewReader(text), codex.Options{Sessions: s.o.Dir, Rollout: s.Rollout(),
		Version: s.o.Version, Source: agent})
}

// Imported reports whether the session that an agent recorded in a file is there already.
func (s *Store) Imported(path string) bool {
	id := peers.ID(path)
	if id == "" {
		return false
	}
	_, err := os.Lstat(s.DirOf(protocol.SessionID(id)))
	return err == nil
}

// Scenario makes a scenario for the script provider of what the model said in a
// session, and returns what the user said, in order.
func (s *Store) Scenario(ctx context.Context, name string) (script.Scenario, []string, error) {
	info, err := s.Find(ctx, name)
	if err != nil {
		return script.Scenario{}, nil, err
	}
	list, _, err := records.Read(s.DirOf(info.ID))
	if err != nil {
		return script.Scenario{}, nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	made, prompts := scenario.Of(info.Title, list)
	return made, prompts, nil
}

// Replay runs the tools of a session, of the newest one here for "", again, as package replay says.
func (s *Store) Replay(ctx context.Context, name string) (replay.Report, error) {
	info, err := s.Here(ctx, name)
	if err != nil {
		return replay.Report{}, err
	}
	return replay.Session(ctx, replay.Options{ID: info.ID, Dir: s.DirOf(info.ID), Cwd: cmp.Or(info.Cwd, s.o.Cwd),
		Without: s.o.Home, Ledger: s.ledger(info), Open: s.o.Open})
}

// Verify checks a session, as package verify says; with files, the files on disk,
// too.
func (s *Store) Verify(info protocol.SessionInfo, files bool) (verify.Report, error) {
	o := verify.Options{ID: info.ID, Dir: s.DirOf(info.ID), Ledger: s.ledger(info), Redact: s.o.Redact,
		Now: func(dir string) string { return ledger.Now(s.moves(), dir, info.Created) }}
	if m, err := rollout.LoadMetadata(o.Dir); err == nil {
		o.Tried = m.Try != ""
	}
	if files {
		o.Files = s.o.Files
	}
	return verify.Session(o)
}
