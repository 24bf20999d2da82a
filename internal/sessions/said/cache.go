package said

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kerf/internal/atomicfile"
)

// Name is the name of the cache, in the directory of the sessions.
const Name = "words.cache"

// chunk is a part of what was said in a session: its text, or where that stands in the cache.
type chunk struct {
	id       string
	from, to int64
	text     []byte
	at       int64
	size     int
}

// cached is what is known of the words of a session: those of the first upTo bytes
// of its record.
type cached struct {
	upTo   int64
	chunks []chunk
}

// cache is the cache as it is read.
type cache struct {
	path         string
	file         *os.File // nil where there is none
	all          map[string]*cached
	waste, total int64 // bytes, of which do not count
	damaged      bool  // what follows some place does not count
}

// open reads which chunks the cache of the sessions in a directory has. What follows a damaged chunk
// is not used.
func open(dir string) *cache {
	c := &cache{path: filepath.Join(dir, Name), all: map[string]*cached{}}
	st, err := os.Lstat(c.path)
	if err == nil && st.Mode().IsRegular() {
		c.file, err = os.Open(c.path)
	}
	if err != nil || c.file == nil {
		return c // the first search, or a slower one
	}
	c.total = st.Size()
	h := heads{r: c.file, size: c.total}
	for h.at < c.total {
		k, ok := h.next()
		if !ok {
			c.damaged = true
			break
		}
		if !c.add(k) {
			c.waste += int64(k.size)
		}
	}
	return c
}

func (c *cache) close() {
	if c.file != nil {
		c.file.Close()
	}
}

// add takes a chunk in; one that begins a record anew replaces the others. It
// reports whether the chunk fits.
func (c *cache) add(k chunk) bool {
	s := c.all[k.id]
	if s == nil {
		s = &cached{}
		c.all[k.id] = s
	}
	switch k.from {
	case s.upTo:
		s.chunks = append(s.chunks, k)
	case 0:
		for _, old := range s.chunks {
			c.waste += int64(old.size)
		}
		s.chunks = []chunk{k}
	default:
		return false
	}
	s.upTo = k.to
	return true
}

// text is that of a chunk; none where it cannot be read.
func (c *cache) text(k chunk) []byte {
	if k.text != nil || k.size == 0 {
		return k.text
	}
	b := make([]byte, k.size)
	if _, err := c.file.ReadAt(b, k.at); err != nil {
		return nil
	}
	return b
}

// append adds chunks that were read just now. Without the cache the next search is slower, nothing
// else.
func (c *cache) append(fresh []chunk) {
	var b bytes.Buffer
	for _, k := range fresh {
		if k.id != "" {
			k.write(&b)
		}
	}
	if b.Len() == 0 {
		return
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(b.Bytes())
	_ = f.Close()
}

func (k chunk) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s %d %d %d\n", k.id, k.from, k.to, len(k.text))
	b.Write(k.text)
	b.WriteByte('\n')
}

// pack writes the cache anew where much of it does not count, and reports whether it did.
func (c *cache) pack() bool {
	return (c.damaged || c.waste > c.total/2) && atomicfile.WriteCache(c.path, c.packed()) == nil
}

// packed is the cache without what does not count any more.
func (c *cache) packed() []byte {
	var b bytes.Buffer
	for _, s := range c.all {
		for _, k := range s.chunks {
			k.text = c.text(k)
			k.write(&b)
		}
	}
	return b.Bytes()
}

// Forget takes the words of a deleted session out of the cache.
func Forget(dir, id string) error {
	if _, err := os.Lstat(filepath.Join(dir, Name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c := open(dir)
	defer c.close()
	delete(c.all, id)
	return atomicfile.WriteCache(c.path, c.packed())
}

// heads goes through a cache from chunk to chunk, without the texts.
type heads struct {
	r    io.ReaderAt
	size int64
	at   int64 // where the next chunk begins

	block []byte // what was read, from from on
	from  int64
}

// headMost is how long the line of a chunk is at most.
const headMost = 256

// next is the next chunk, and whether there is a whole one.
func (h *heads) next() (k chunk, ok bool) {
	line, ok := h.line()
	if !ok {
		return k, false
	}
	k, err := parseHead(line)
	k.at = h.at + int64(len(line)) + 1
	end := k.at + int64(k.size)
	if err != nil || k.size < 0 || end >= h.size || h.byte(end) != '\n' {
		return k, false
	}
	h.at = end + 1
	return k, true
}

// line is the line that the next chunk begins with.
func (h *heads) line() (string, bool) {
	b := h.bytes(h.at, headMost)
	line, _, ok := bytes.Cut(b, []byte{'\n'})
	return string(line), ok
}

func (h *heads) byte(at int64) byte {
	if b := h.bytes(at, 1); len(b) > 0 {
		return b[0]
	}
	return 0
}

// bytes are at most n of the bytes at a place.
func (h *heads) bytes(at int64, n int) []byte {
	const block = 16 << 10
	if at < h.from || at+int64(n) > h.from+int64(len(h.block)) {
		if h.block == nil {
			h.block = make([]byte, block)
		}
		got, _ := h.r.ReadAt(h.block[:block], at)
		h.block, h.from = h.block[:max(0, got)], at
	}
	rest := h.block[at-h.from:]
	return rest[:min(n, len(rest))]
}

// parseHead reads the line that begins a chunk.
func parseHead(line string) (k chunk, err error) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return k, errors.New("no chunk")
	}
	var wrong [3]error
	k.id = f[0]
	k.from, wrong[0] = strconv.ParseInt(f[1], 10, 64)
	k.to, wrong[1] = strconv.ParseInt(f[2], 10, 64)
	k.size, wrong[2] = strconv.Atoi(f[3])
	return k, errors.Join(wrong[:]...)
}
