package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
)

// Log is the record of a session that is opened: new, resumed or forked.
type Log struct {
	ID     protocol.SessionID
	Dir    string          // empty when nothing is kept
	Writer *rollout.Writer // nil when nothing is kept
	Meta   rollout.Metadata
	State  *history.State // what the records amount to; nil in a new session
	// Warnings are about damage that was found.
	Warnings []string
}

// Close ends the writing.
func (l *Log) Close() {
	if l.Writer != nil {
		_ = l.Writer.Close()
	}
}

// Create begins the record of a new session. An ephemeral one keeps nothing.
func (s *Store) Create(meta rollout.Metadata, ephemeral bool) (*Log, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("session id: %w", err)
	}
	now := time.Now().UTC()
	meta.ID, meta.Created, meta.Updated = id.String(), now, now
	l := &Log{ID: protocol.SessionID(id.String()), Meta: meta}
	if ephemeral {
		return l, nil
	}
	l.Dir = s.DirOf(l.ID)
	if l.Writer, err = rollout.Create(l.Dir, s.Rollout()); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return l, nil
}

// lockWait is how long Resume waits for a session that another process has, which may
// be about to end: people and programs go on with a session as soon as its turn is over.
// lockPoll is how often it looks.
const (
	lockWait = 3 * time.Second
	lockPoll = 20 * time.Millisecond
)

// Resume goes on with the record of a session. One that another process keeps open is
// waited for briefly; the error is then a protocol.ErrInUse.
func (s *Store) Resume(ctx context.Context, info protocol.SessionInfo) (*Log, error) {
	dir := s.DirOf(info.ID)
	w, tail, damage, err := rollout.Resume(dir, s.Rollout())
	for end := time.Now().Add(lockWait); errors.Is(err, rollout.ErrLive) && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
		w, tail, damage, err = rollout.Resume(dir, s.Rollout())
	}
	if errors.Is(err, rollout.ErrLive) {
		return nil, fmt.Errorf("session %s %w; close it there, or fork it; where that is kerf serve, kerf attach joins it",
			info.ID, protocol.ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	l := &Log{ID: info.ID, Dir: dir, Writer: w}
	if l.State, err = history.RebuildFrom(tail.Digest, linesOf(tail.Records)); err != nil {
		l.Close()
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	l.restoreImages(dir)
	if l.Meta, err = rollout.LoadMetadata(dir); err != nil {
		was := l.State.Meta
		l.Meta = rollout.Metadata{ID: string(info.ID), Cwd: was.Cwd, Model: was.Model, Created: time.Now().UTC()}
	}
	if damage != nil {
		l.Warnings = append(l.Warnings, "the session file was damaged: "+damage.String())
	}
	return l, nil
}

// Fork begins the record of a new session with the records of an old one, up to and
// with those of a turn; "" is all of them.
func (s *Store) Fork(info protocol.SessionInfo, turn protocol.TurnID, meta rollout.Metadata,
	ephemeral bool) (*Log, error) {
	from := s.DirOf(info.ID)
	list, _, err := rollout.Read(from)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	if list, err = upTo(list, turn); err != nil {
		return nil, fmt.Errorf("fork %s: %w", info.ID, err)
	}
	meta.Parent, meta.Title = string(info.ID), forkTitle(info.Title)
	l, err := s.Create(meta, ephemeral)
	if err != nil {
		return nil, err
	}
	l.State = history.Rebuild(linesOf(list))
	l.restoreImages(from)
	if ephemeral {
		return l, nil
	}
	if err := l.adopt(from, list); err != nil {
		l.Close()
		return nil, fmt.Errorf("fork %s: %w", info.ID, err)
	}
	return l, nil
}

// Rollout is how the records of sessions are written.
func (s *Store) Rollout() rollout.Options {
	return rollout.Options{Redact: s.o.Redact, Digester: rollout.Digester{Cut: history.Compacted{}.Type(),
		Digest: func(prior json.RawMessage, list []rollout.Record) (json.RawMessage, error) {
			return history.Digest(prior, linesOf(list))
		}}}
}

func linesOf(list []rollout.Record) []history.Line {
	lines := make([]history.Line, len(list))
	for i, r := range list {
		lines[i] = history.Line{Type: r.Type, JSON: r.Raw}
	}
	return lines
}

// restoreImages puts the images back that the records in dir only name.
func (l *Log) restoreImages(dir string) {
	history.RestoreImages(l.State.Items, func(name string) ([]byte, error) { return rollout.LoadBlob(dir, name) })
}

// forkTitle tells a fork from what it was forked from.
func forkTitle(title string) string {
	const mark = " (fork)"
	if title == "" || strings.HasSuffix(title, mark) {
		return title
	}
	return title + mark
}

// upTo are the records up to and with those of a turn, given by its id, the
// beginning of it, or its number from 1; all of them for "".
func upTo(list []rollout.Record, turn protocol.TurnID) ([]rollout.Record, error) {
	if turn == "" {
		return list, nil
	}
	number, _ := strconv.Atoi(string(turn))
	var known []string
	from, ended := -1, true
	for i, line := range list {
		var opened history.TurnContext
		switch r := records.Of(line).Record.(type) {
		case history.EventRecord:
			ended = ended || r.EndsTurn()
			continue
		case history.TurnContext:
			opened = r
		default:
			continue
		}
		id := string(opened.Turn)
		again := !ended && len(known) > 0 && known[len(known)-1] == id // told anew within the turn
		ended = false
		if again {
			continue
		}
		known = append(known, id)
		switch {
		case from >= 0:
			return list[:i], nil
		case strings.HasPrefix(id, string(turn)) || len(known) == number:
			from = i
		}
	}
	if from < 0 {
		some := strings.Join(known[max(0, len(known)-3):], ", ")
		return nil, fmt.Errorf("there is no turn %q; it has %d, the last ones are %s", turn, len(known), some)
	}
	return list, nil
}

// adopt copies records and diffs, so that the fork stands on its own when the
// parent is deleted.
func (l *Log) adopt(from string, list []rollout.Record) error {
	var entries []rollout.Entry
	for _, r := range list {
		body := map[string]json.RawMessage{}
		if err := json.Unmarshal(r.Raw, &body); err != nil {
			return err
		}
		for _, k := range []string{"seq", "timestamp", "type", "prev"} {
			delete(body, k)
		}
		if r.Type == (history.SessionMeta{}).Type() {
			body["id"], _ = json.Marshal(l.ID)
			body["parent"], _ = json.Marshal(l.Meta.Parent)
		}
		entries = append(entries, rollout.Entry{Type: r.Type, Body: body})
	}
	if err := copyFiles(filepath.Join(from, "diffs"), filepath.Join(l.Dir, "diffs")); err != nil {
		return err
	}
	if err := copyFiles(filepath.Join(from, "blobs"), filepath.Join(l.Dir, "blobs")); err != nil {
		return err
	}
	return l.Writer.Append(entries...)
}

func copyFiles(from, to string) error {
	names, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(from, n.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, n.Name()), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// CwdOf is the working directory of a session by its records, for one whose metadata
// is lost.
func (s *Store) CwdOf(id protocol.SessionID) (string, error) {
	list, _, err := records.Read(s.DirOf(id))
	for _, r := range list {
		if m, ok := r.Record.(history.SessionMeta); ok {
			return m.Cwd, nil
		}
	}
	return "", err
}
