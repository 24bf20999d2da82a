package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// maxTitle bounds a title, in characters.
const maxTitle = 200

// Rename gives a session that is not open anywhere another title.
func (s *Store) Rename(ctx context.Context, name, title string) error {
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "\uFFFD")), " ")
	switch {
	case title == "":
		return errors.New("the title is empty; give it a word")
	case utf8.RuneCountInString(title) > maxTitle:
		return fmt.Errorf("a title may have at most %d characters", maxTitle)
	}
	info, dir, err := s.locate(ctx, name)
	if err != nil {
		return err
	}
	w, _, err := rollout.Extend(dir, s.Rollout()) // a repair keeps what it took out beside the record
	if err != nil {
		return held(info, err)
	}
	e := history.EventRecord{What: history.Renamed, Message: title}
	err = w.Append(rollout.Entry{Type: e.Type(), Body: e})
	if err == nil {
		err = remark(w.SaveMetadata, dir, info, func(m *rollout.Metadata) { m.Title = title })
	}
	return errors.Join(err, w.Close())
}

// Archive takes a session out of the lists, or puts it back.
func (s *Store) Archive(ctx context.Context, name string, archived bool) error {
	info, dir, err := s.locate(ctx, name)
	if err != nil {
		return err
	}
	release, err := rollout.Hold(dir)
	if err != nil {
		return held(info, err)
	}
	defer release()
	save := func(m rollout.Metadata) error { return rollout.SaveMetadata(dir, m) }
	return remark(save, dir, info, func(m *rollout.Metadata) { m.Archived = archived })
}

// Delete removes a session that is not open anywhere. What it changed in the
// workspace stays, and can still be undone.
func (s *Store) Delete(ctx context.Context, name string) error {
	info, dir, err := s.locate(ctx, name)
	if err != nil {
		return err
	}
	release, err := rollout.Hold(dir)
	if err != nil {
		return held(info, err)
	}
	release() // some systems remove nothing that is open
	gone := filepath.Join(s.o.Dir, ".deleted-"+string(info.ID))
	if err := os.Rename(dir, gone); err != nil {
		return fmt.Errorf("delete session %s: %w", info.ID, err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("delete session %s: %w", info.ID, err)
	}
	return s.forget(string(info.ID))
}

// locate finds a session, which must be named, and its directory.
func (s *Store) locate(ctx context.Context, name string) (protocol.SessionInfo, string, error) {
	if name == "" {
		return protocol.SessionInfo{}, "", errors.New("which session? give an id, the beginning of one, or a title")
	}
	info, err := s.Find(ctx, name)
	return info, s.DirOf(info.ID), err
}

// held says in words that somebody has the session.
func held(info protocol.SessionInfo, err error) error {
	if errors.Is(err, rollout.ErrLive) {
		return fmt.Errorf("session %s %w; close it there first", info.ID, protocol.ErrInUse)
	}
	return fmt.Errorf("session %s: %w", info.ID, err)
}

// remark changes the metadata of a session; lost metadata is made anew.
func remark(save func(rollout.Metadata) error, dir string, info protocol.SessionInfo,
	change func(*rollout.Metadata)) error {
	m, err := rollout.LoadMetadata(dir)
	if err != nil {
		m = rollout.Metadata{ID: string(info.ID), Created: time.Now().UTC(), Updated: time.Now().UTC()}
	}
	change(&m)
	return save(m)
}
