// Package said finds words in what was said in recorded sessions.
//
// What was said stands together in words.cache, beside the sessions, so that a search reads one file.
// It is a row of chunks, each a line
//
//	ID FROM TO SIZE
//
// and SIZE bytes and a line feed: the messages in the bytes FROM to TO of the session's record. A
// message is a mark, its turn, a mark and its text. It is a cache: chunks that do not follow each
// other are passed over, and what is missing is read from the records, a piece at a time.
package said

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"kerf/internal/protocol"
	"kerf/internal/sessions/beside"
	"kerf/internal/text/visible"
)

const (
	messageMark = 0x1e
	turnMark    = 0x1f
	// piece is how many bytes of records are read before it is told what was found in them.
	piece = 8 << 20
)

// Place is where words were said: the newest message of a session that has all of them.
type Place struct {
	ID      string
	Turn    protocol.TurnID
	Excerpt string
}

// Progress is how many bytes of the records are searched, of how many.
type Progress struct{ Read, Size int64 }

// Query says what is looked for. Sessions are in Dir, each a directory named by its id.
type Query struct {
	Dir   string
	IDs   []string // of the sessions to look in, in the order of the answer
	Words string   // see [Words]
	Limit int      // of places; 0 is all
	// Wanted is asked for each session that has the words; nil wants all.
	Wanted func(id string) bool
	// Tell is told, from time to time and at the end, what was found so far, in order; nil is not
	// told. It must not change the list. A session may get another place later, and leave the
	// list because one before it has the words, too.
	Tell func([]Place, Progress)
	// Piece is how many bytes of records are read before that; 0 is a default.
	Piece int64
}

// Words takes a query apart, in lower case: a phrase in quotes is one word.
func Words(s string) []string {
	var list []string
	for i, part := range strings.Split(strings.ToLower(s), `"`) {
		if i%2 == 1 {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// Find finds words in what was said. All words must be in one message; case does not count. What it
// reads of records is kept for the next time, also when ctx ends it.
func Find(ctx context.Context, q Query) ([]Place, error) {
	q.Piece = cmp.Or(q.Piece, piece)
	s := search{Query: q, want: Words(q.Words), found: map[string]Place{}}
	if len(s.want) == 0 {
		return nil, errors.New("nothing to search for; give a word")
	}
	c := open(q.Dir)
	if c.pack() {
		c.close()
		c = open(q.Dir)
	}
	defer c.close()
	unread, err := s.unread(ctx, c)
	if err == nil {
		err = s.known(ctx, c)
	}
	if err == nil {
		err = s.rest(ctx, c, unread)
	}
	if err != nil {
		return nil, err
	}
	return s.list(), nil
}

// search is one that is under way.
type search struct {
	Query
	want []string

	mu       sync.Mutex
	found    map[string]Place
	progress Progress
}

// list are the places that were found, in order.
func (s *search) list() []Place {
	var list []Place
	for _, id := range s.IDs {
		if s.Limit > 0 && len(list) == s.Limit {
			break
		}
		if p, ok := s.found[id]; ok {
			list = append(list, p)
		}
	}
	return list
}

func (s *search) tell(read int64) {
	s.progress.Read += read
	if s.Tell != nil {
		s.Tell(s.list(), s.progress)
	}
}

// gap is what is not known of a record.
type gap struct {
	id       string
	from, to int64
}

// unread are the gaps of the records, in the order of the sessions.
func (s *search) unread(ctx context.Context, c *cache) ([]gap, error) {
	gaps := make([]gap, len(s.IDs))
	err := beside.Each(ctx, len(s.IDs), func(i int) {
		st, err := os.Lstat(record(s.Dir, s.IDs[i]))
		if err != nil || !st.Mode().IsRegular() {
			return
		}
		g := gap{id: s.IDs[i], to: st.Size()}
		if k := c.all[g.id]; k != nil {
			g.from = k.upTo
		}
		if g.from > g.to { // it was mended; its words are read anew
			g.from = 0
		}
		gaps[i] = g
	})
	for _, g := range gaps {
		s.progress.Size += g.to
		if g.from == 0 && c.all[g.id] != nil {
			delete(c.all, g.id)
		}
	}
	return slices.DeleteFunc(gaps, func(g gap) bool { return g.from == g.to }), err
}

// known looks in what is known of the sessions.
func (s *search) known(ctx context.Context, c *cache) error {
	had := int64(0)
	for _, id := range s.IDs {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := c.all[id]
		if k == nil {
			continue
		}
		for i := len(k.chunks) - 1; i >= 0; i-- {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			size := k.chunks[i].to - k.chunks[i].from
			if s.look(id, c.text(k.chunks[i])) {
				size = k.chunks[i].to // nothing before it is looked at
			}
			if had += size; had >= s.Piece {
				s.tell(had)
				had = 0
			}
			if _, found := s.found[id]; found {
				break
			}
		}
		if s.Limit > 0 && len(s.found) == s.Limit {
			break // older ones have no place in the list
		}
	}
	if had > 0 || s.progress.Read == 0 {
		s.tell(had)
	}
	return nil
}

// look looks for the words in messages, and reports whether it found them.
func (s *search) look(id string, text []byte) bool {
	p, ok := newest(text, s.want)
	if !ok {
		return false
	}
	p.ID = id
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Wanted != nil && !s.Wanted(id) {
		return false
	}
	s.found[id] = p
	return true
}

// newest is the last message that has all words.
func newest(text []byte, want []string) (Place, bool) {
	if !has(bytes.ToLower(text), want) {
		return Place{}, false
	}
	for len(text) > 0 {
		at := max(0, bytes.LastIndexByte(text, messageMark))
		turn, words, ok := bytes.Cut(bytes.TrimPrefix(text[at:], []byte{messageMark}), []byte{turnMark})
		if ok && has(bytes.ToLower(words), want) {
			return Place{Turn: protocol.TurnID(turn), Excerpt: around(string(words), want[0])}, true
		}
		text = text[:at]
	}
	return Place{}, false
}

func has(text []byte, words []string) bool {
	for _, w := range words {
		if !bytes.Contains(text, []byte(w)) {
			return false
		}
	}
	return true
}

// rest reads what is not known, and looks in it: many short records at once, and pieces of a long one
// after each other.
func (s *search) rest(ctx context.Context, c *cache, gaps []gap) error {
	for len(gaps) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.over(gaps[0].id) {
			break
		}
		n, size := 1, gaps[0].to-gaps[0].from
		for n < len(gaps) && size+gaps[n].to-gaps[n].from <= s.Piece {
			size += gaps[n].to - gaps[n].from
			n++
		}
		fresh := make([]chunk, n)
		err := beside.Each(ctx, n, func(i int) {
			g := gaps[i]
			text, end, err := saidIn(ctx, record(s.Dir, g.id), g.from, min(g.to, g.from+s.Piece))
			if err == nil && end > g.from {
				fresh[i] = chunk{id: g.id, from: g.from, to: end, text: text}
				s.look(g.id, text)
			}
		})
		if err != nil {
			return err
		}
		read := int64(0)
		for i, f := range fresh {
			if f.id == "" { // it cannot be read, or its last line is being written
				read += gaps[i].to - gaps[i].from
				gaps[i].from = gaps[i].to
				continue
			}
			read += f.to - f.from
			gaps[i].from = f.to
		}
		c.append(fresh)
		s.tell(read)
		if gaps = gaps[n-1:]; gaps[0].from >= gaps[0].to {
			gaps = gaps[1:]
		}
	}
	return nil
}

// over reports whether the places before a session are as many as are wanted.
func (s *search) over(id string) bool {
	if s.Limit <= 0 || len(s.found) < s.Limit {
		return false
	}
	at := slices.Index(s.IDs, id)
	return !slices.ContainsFunc(s.list(), func(p Place) bool { return slices.Index(s.IDs, p.ID) >= at })
}

// around is the part of a text around a word in lower case, on one line.
func around(text, word string) string {
	const before, most = 40, 160
	text = visible.Plain(strings.Join(strings.Fields(text), " "))
	at := min(max(0, strings.Index(strings.ToLower(text), word)), len(text)) // lower case may be longer
	start := max(0, at-before)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	end := min(len(text), start+most)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	s := text[start:end]
	if start > 0 {
		s = "…" + s
	}
	if end < len(text) {
		s += "…"
	}
	return s
}

// record is where the record of a session is.
func record(dir, id string) string { return filepath.Join(dir, id, "rollout.jsonl") }
