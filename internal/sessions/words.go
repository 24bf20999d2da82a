package sessions

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kerf/internal/agent/history"
	"kerf/internal/atomicfile"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// What was said in sessions stands together in sessions/words.cache, so that a
// search reads one file. It is a row of chunks, each a line
//
//	ID FROM TO SIZE
//
// and SIZE bytes and a line feed: the messages in the bytes FROM to TO of the
// session's record. A message is a mark, its turn, a mark and its text. It is a
// cache: chunks that do not follow each other are passed over, and what is
// missing is read from the records.

const (
	wordsName   = "words.cache"
	messageMark = 0x1e
	turnMark    = 0x1f
)

// chunk is a part of what was said in a session.
type chunk struct {
	id       string
	from, to int64
	text     []byte
}

// cached is what is known of the words of a session: those of the first upTo bytes
// of its record.
type cached struct {
	upTo   int64
	chunks []chunk
}

// Search finds words in what was said, newest session first. All words must be in
// one message; case does not count, and a phrase in quotes is one word.
func (s *Store) Search(ctx context.Context, words string, limit int) ([]protocol.Match, error) {
	want := splitWords(words)
	if len(want) == 0 {
		return nil, errors.New("nothing to search for; give a word")
	}
	ids, err := s.ids()
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	all, err := s.refresh(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []protocol.Match
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m, ok := all[id].find(want)
		if !ok {
			continue
		}
		if m.Session = s.info(id); m.Session.Archived || m.Session.Source == AgentSource {
			continue
		}
		if found = append(found, m); len(found) == limit {
			break
		}
	}
	return found, nil
}

// splitWords takes a query apart, in lower case.
func splitWords(s string) []string {
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

// find returns the newest message that has all words.
func (s *cached) find(want []string) (protocol.Match, bool) {
	if s == nil {
		return protocol.Match{}, false
	}
	for i := len(s.chunks) - 1; i >= 0; i-- {
		text := s.chunks[i].text
		lower := bytes.ToLower(text)
		if !has(lower, want) {
			continue
		}
		messages := bytes.Split(text, []byte{messageMark})
		for j := len(messages) - 1; j >= 0; j-- {
			turn, words, ok := bytes.Cut(messages[j], []byte{turnMark})
			if ok && has(bytes.ToLower(words), want) {
				return protocol.Match{Turn: protocol.TurnID(turn), Excerpt: around(string(words), want[0])}, true
			}
		}
	}
	return protocol.Match{}, false
}

func has(text []byte, words []string) bool {
	for _, w := range words {
		if !bytes.Contains(text, []byte(w)) {
			return false
		}
	}
	return true
}

// refresh brings the cache up to date and returns what was said in each session.
func (s *Store) refresh(ctx context.Context, ids []string) (map[string]*cached, error) {
	path := filepath.Join(s.o.Dir, wordsName)
	all, waste, total := readWords(path)
	fresh := make([]chunk, len(ids))
	err := beside(ctx, len(ids), func(i int) {
		var upTo int64
		if known := all[ids[i]]; known != nil {
			upTo = known.upTo
		}
		st, err := os.Lstat(s.rolloutOf(ids[i]))
		switch {
		case err != nil || !st.Mode().IsRegular() || st.Size() == upTo:
			return
		case st.Size() < upTo: // it was mended; its words are read anew
			upTo = 0
		}
		text, end, err := saidIn(s.rolloutOf(ids[i]), upTo)
		if err == nil && end > upTo {
			fresh[i] = chunk{ids[i], upTo, end, text}
		}
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, c := range fresh {
		if c.id != "" {
			add(all, c)
			c.write(&b)
		}
	}
	switch { // without the cache the next search is slower, nothing else
	case waste > total/2:
		_ = atomicfile.WriteCache(path, packed(all))
	case b.Len() > 0:
		appendTo(path, b.Bytes())
	}
	return all, nil
}

// add takes a chunk in; one that begins a record anew replaces the others. It
// reports whether the chunk fits.
func add(all map[string]*cached, c chunk) bool {
	s := all[c.id]
	if s == nil {
		s = &cached{}
		all[c.id] = s
	}
	switch c.from {
	case s.upTo:
		s.chunks = append(s.chunks, c)
	case 0:
		s.chunks = []chunk{c}
	default:
		return false
	}
	s.upTo = c.to
	return true
}

func (c chunk) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s %d %d %d\n", c.id, c.from, c.to, len(c.text))
	b.Write(c.text)
	b.WriteByte('\n')
}

// packed is the cache without what does not count any more.
func packed(all map[string]*cached) []byte {
	var b bytes.Buffer
	for _, s := range all {
		for _, c := range s.chunks {
			c.write(&b)
		}
	}
	return b.Bytes()
}

// readWords reads the cache, and counts the bytes of what does not count. What
// follows a damaged chunk is not used.
func readWords(path string) (all map[string]*cached, waste, total int) {
	all = map[string]*cached{}
	b, err := os.ReadFile(path)
	if err != nil {
		return all, 0, 0
	}
	total = len(b)
	for len(b) > 0 {
		head, rest, ok := bytes.Cut(b, []byte{'\n'})
		c, size, err := parseHead(string(head))
		if !ok || err != nil || size < 0 || size >= len(rest) || rest[size] != '\n' {
			return all, total, total // written anew
		}
		c.text = rest[:size]
		if !add(all, c) {
			waste += size
		}
		b = rest[size+1:]
	}
	return all, waste, total
}

// parseHead reads the line that begins a chunk.
func parseHead(line string) (c chunk, size int, err error) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return c, 0, errors.New("no chunk")
	}
	var wrong [3]error
	c.id = f[0]
	c.from, wrong[0] = strconv.ParseInt(f[1], 10, 64)
	c.to, wrong[1] = strconv.ParseInt(f[2], 10, 64)
	size, wrong[2] = strconv.Atoi(f[3])
	return c, size, errors.Join(wrong[:]...)
}

// forgetWords takes the words of a deleted session out of the cache.
func (s *Store) forgetWords(id string) error {
	path := filepath.Join(s.o.Dir, wordsName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all, _, _ := readWords(path)
	delete(all, id)
	return atomicfile.WriteCache(path, packed(all))
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

// rolloutOf is the record of a session.
func (s *Store) rolloutOf(id string) string { return filepath.Join(s.o.Dir, id, "rollout.jsonl") }

// saidIn reads what was said in a session from an offset of its record on, and
// returns where that ends.
func saidIn(path string, from int64) (messages []byte, end int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, 0); err != nil {
		return nil, from, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	end = from
	for {
		line, err := in.ReadSlice('\n')
		n := int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			rest, more := in.ReadBytes('\n')
			line, err = append(bytes.Clone(line), rest...), more
			n = int64(len(line))
		}
		if err != nil {
			return messages, end, nil // the last line is being written, perhaps
		}
		end += n
		messages = appendSaid(messages, line)
	}
}

// said are the records of what was said.
var said = []string{history.UserInput{}.Type(), history.AssistantMessage{}.Type()}

// appendSaid adds the message of a line, if it is one.
func appendSaid(to, line []byte) []byte {
	const far = 160 // the type stands near the beginning
	head := line[:min(far, len(line))]
	i := slices.IndexFunc(said, func(kind string) bool { return bytes.Contains(head, []byte(`"type":"`+kind+`"`)) })
	if i < 0 {
		return to
	}
	r, err := history.Line{Type: said[i], JSON: line}.Decode()
	if err != nil {
		return to
	}
	switch r := r.(type) {
	case history.UserInput:
		if !r.Marker {
			return appendMessage(to, r.Turn, r.Text)
		}
	case history.AssistantMessage:
		return appendMessage(to, r.Turn, r.Text)
	}
	return to
}

func appendMessage(to []byte, turn protocol.TurnID, text string) []byte {
	if text == "" {
		return to
	}
	to = append(to, messageMark)
	to = append(to, turn...)
	to = append(to, turnMark)
	return append(to, text...)
}
