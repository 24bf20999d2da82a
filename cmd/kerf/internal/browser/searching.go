package browser

import (
	"context"
	"strings"
	"sync"
	"time"

	"kerf/internal/front/web"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
)

// searching are the searches that are under way, by what they look for. A page does not wait for the
// end of one: it shows what was found so far, and asks again. A search that nobody asks for any more
// ends by itself; what it read until then is kept. Close ends all and waits for them. The zero value
// is not ready: beginSearching makes one.
type searching struct {
	store *sessions.Store
	ctx   context.Context
	stop  context.CancelFunc
	g     sync.WaitGroup

	mu  sync.Mutex
	all map[string]*search
}

// search is one search. Its fields are guarded by searching.mu.
type search struct {
	found web.Found
	err   error
	over  chan struct{} // closed at the end
	left  *time.Timer   // ends it
}

// How long a page waits for a search, and how long one goes on that no page asks for: pages that are
// seen ask each second.
const (
	searchWait = 150 * time.Millisecond
	searchLeft = 5 * time.Second
)

func beginSearching(s *sessions.Store) *searching {
	n := &searching{store: s, all: map[string]*search{}}
	n.ctx, n.stop = context.WithCancel(context.Background())
	return n
}

func (n *searching) close() {
	n.stop()
	n.g.Wait()
}

// find is what was found of words until now.
func (n *searching) find(ctx context.Context, words string, limit int) (web.Found, error) {
	if len(words) == 0 || strings.TrimSpace(strings.ReplaceAll(words, `"`, "")) == "" {
		return web.Found{Done: true}, nil
	}
	n.mu.Lock()
	s := n.all[words]
	if s == nil {
		s = n.begin(words, limit)
	}
	s.left.Reset(searchLeft)
	n.mu.Unlock()
	select {
	case <-s.over:
	case <-time.After(searchWait):
	case <-ctx.Done():
		return web.Found{}, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.found.Done && n.all[words] == s {
		delete(n.all, words) // who asks again wants to know what is new
	}
	return s.found, s.err
}

// begin must be called with mu held.
func (n *searching) begin(words string, limit int) *search {
	ctx, stop := context.WithCancel(n.ctx)
	s := &search{over: make(chan struct{}), left: time.AfterFunc(searchLeft, stop)}
	n.all[words] = s
	tell := func(list []protocol.Match, read, size int64) {
		n.mu.Lock()
		defer n.mu.Unlock()
		s.found = web.Found{Matches: list, Read: read, Size: size}
	}
	n.g.Go(func() {
		defer stop()
		list, err := n.store.SearchSome(ctx, words, limit, tell)
		n.mu.Lock()
		defer n.mu.Unlock()
		s.left.Stop()
		switch {
		case ctx.Err() == nil:
			s.found.Matches, s.found.Done, s.err = list, true, err
			n.forget(words, s)
		case n.all[words] == s:
			delete(n.all, words) // nobody looks
		}
		close(s.over)
	})
	return s
}

// forget drops a search that is over when nobody asked what it found. It must be called with mu held.
func (n *searching) forget(words string, s *search) {
	time.AfterFunc(searchLeft, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.all[words] == s {
			delete(n.all, words)
		}
	})
}
