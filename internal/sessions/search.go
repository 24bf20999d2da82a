package sessions

import (
	"context"
	"fmt"

	"kerf/internal/protocol"
	"kerf/internal/sessions/said"
)

// Search finds words in what was said, newest session first. All words must be in
// one message; case does not count, and a phrase in quotes is one word.
func (s *Store) Search(ctx context.Context, words string, limit int) ([]protocol.Match, error) {
	return s.SearchSome(ctx, words, limit, nil)
}

// SearchSome is Search, and tells what it has found so far, and how many bytes of the records are
// searched, of how many.
func (s *Store) SearchSome(ctx context.Context, words string, limit int,
	tell func(list []protocol.Match, read, size int64)) ([]protocol.Match, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	infos := map[string]protocol.SessionInfo{}
	wanted := func(id string) bool {
		if _, ok := infos[id]; !ok {
			infos[id] = s.info(id)
		}
		return !infos[id].Archived && infos[id].Source != AgentSource
	}
	matches := func(places []said.Place) (list []protocol.Match) {
		for _, p := range places {
			list = append(list, protocol.Match{Session: infos[p.ID], Turn: p.Turn, Excerpt: p.Excerpt})
		}
		return list
	}
	q := said.Query{Dir: s.o.Dir, IDs: ids, Words: words, Limit: limit, Wanted: wanted}
	if tell != nil {
		q.Tell = func(places []said.Place, p said.Progress) { tell(matches(places), p.Read, p.Size) }
	}
	places, err := said.Find(ctx, q)
	return matches(places), err
}
