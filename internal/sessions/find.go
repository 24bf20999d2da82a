package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/order"
	"kerf/internal/text/spelling"
	"kerf/internal/text/visible"
	"kerf/internal/work/repo"
	"kerf/internal/work/workspace"
)

// Newest returns the newest session of a working directory; of any for "". Its error tells of the flag for that.
func (s *Store) Newest(ctx context.Context, cwd string) (protocol.SessionInfo, error) {
	info, err := s.newest(ctx, cwd)
	if cwd != "" && errors.Is(err, protocol.ErrNoSession) {
		err = fmt.Errorf("%w; --all takes the newest of any directory", err)
	}
	return info, err
}

func (s *Store) newest(ctx context.Context, cwd string) (protocol.SessionInfo, error) {
	list, err := s.List(ctx, protocol.Filter{Cwd: cwd, Limit: 1})
	if err != nil {
		return protocol.SessionInfo{}, err
	}
	if len(list) == 0 {
		if former := s.former(cwd); former != "" {
			if list, err = s.List(ctx, protocol.Filter{Cwd: former, Limit: 1}); err != nil {
				return protocol.SessionInfo{}, err
			}
		}
	}
	if len(list) == 0 && cwd == "" {
		return protocol.SessionInfo{}, fmt.Errorf("%w yet", protocol.ErrNoSession)
	}
	if len(list) == 0 {
		return protocol.SessionInfo{}, fmt.Errorf("%w of %s yet", protocol.ErrNoSession, s.o.Cwd)
	}
	return list[0], nil
}

// Resumed returns the session that o resumes: the one it names, else the newest of cwd, or
// of any directory. An error is that of Find or Newest.
func (s *Store) Resumed(ctx context.Context, o protocol.OpenOptions, cwd string) (protocol.SessionInfo, error) {
	switch {
	case o.Resume != "":
		return s.Find(ctx, o.Resume)
	case o.AnyCwd:
		return s.Newest(ctx, "")
	}
	return s.Newest(ctx, cwd)
}

// former is what a directory was called before it, or the working tree of git that holds
// it, was renamed; empty when that is not known.
func (s *Store) former(cwd string) string {
	if cwd == "" {
		return ""
	}
	for _, dir := range []string{cwd, repo.Top(cwd)} {
		was := workspace.Former(s.o.Home, dir)
		if below, ok := strings.CutPrefix(cwd, dir); ok && was != "" {
			return filepath.FromSlash(was) + below
		}
	}
	return ""
}

// isID reports whether name is the whole id of a session.
func (s *Store) isID(name string) bool {
	if len(name) != 36 || strings.Trim(name, "0123456789abcdef-") != "" {
		return false
	}
	st, err := os.Stat(s.DirOf(protocol.SessionID(name)))
	return err == nil && st.IsDir()
}

// Find returns the session that name means: an id, a unique prefix of one, or a
// title; the newest one of any directory for "".
func (s *Store) Find(ctx context.Context, name string) (protocol.SessionInfo, error) {
	if name == "" {
		return s.newest(ctx, "")
	}
	if s.isID(name) {
		return s.info(name), nil
	}
	ids, err := s.ids()
	if err != nil {
		return protocol.SessionInfo{}, fmt.Errorf("find session: %w", err)
	}
	var hits []string
	for _, id := range ids {
		if strings.HasPrefix(id, strings.ToLower(name)) {
			hits = append(hits, id)
		}
	}
	if len(hits) == 0 {
		hits = s.titled(ctx, ids, name)
	}
	switch len(hits) {
	case 1:
		return s.info(hits[0]), nil
	case 0:
		return protocol.SessionInfo{}, s.unknown(ids, name)
	}
	some := strings.Join(hits[:min(3, len(hits))], ", ")
	return protocol.SessionInfo{}, fmt.Errorf("%d sessions begin with %q: %s; give more of the id", len(hits), name, some)
}

// Here is Find, but "" means the newest session of the working directory.
func (s *Store) Here(ctx context.Context, name string) (protocol.SessionInfo, error) {
	if name == "" {
		return s.newest(ctx, s.o.Cwd)
	}
	return s.Find(ctx, name)
}

// titled returns the sessions with a title, which need not be in the same case.
func (s *Store) titled(ctx context.Context, ids []string, title string) []string {
	infos, err := s.infos(ctx, ids, whole)
	if err != nil {
		return nil
	}
	var hits []string
	for _, info := range infos {
		if strings.EqualFold(info.Title, title) {
			hits = append(hits, string(info.ID))
		}
	}
	return hits
}

// maxNear is how many sessions a name is compared with that nobody has.
const maxNear = 1000

// unknown names the sessions that are nearest to a name nobody has.
func (s *Store) unknown(ids []string, name string) error {
	if len(ids) == 0 {
		return fmt.Errorf("%w %q: there are no sessions yet in %s", protocol.ErrNoSession, name, s.o.Dir)
	}
	type near struct {
		id, title string
		far       int
	}
	var list []near
	for _, id := range ids[:min(maxNear, len(ids))] {
		title := s.info(id).Title
		slips := min(spelling.Distance(id[:min(len(name), len(id))], name),
			spelling.Distance(strings.ToLower(title), strings.ToLower(name)))
		list = append(list, near{id, title, slips})
	}
	order.Stably(list, func(a, b near) int { return a.far - b.far })
	var words []string
	for _, n := range list[:min(3, len(list))] {
		words = append(words, fmt.Sprintf("%s (%s)", n.id, visible.Excerpt(n.title)))
	}
	return fmt.Errorf("%w %q; the nearest are %s (see: kerf sessions list)", protocol.ErrNoSession, name,
		strings.Join(words, ", "))
}
