package witness

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/witness/beneath"
	"kerf/internal/work/witness/journal"
)

// loadLimit is the size up to which contents are held in memory and stored; larger ones
// are known by their sums.
const loadLimit = 32 << 20

// together is how much of contents is held in memory; when it is more, all of it goes to the
// store, and only versions stay.
const together = 32 << 20

// regular is the image of a regular file.
func (c *collector) regular(data []byte, mode uint32) *delta.Image {
	img := delta.NewFile(data, mode)
	c.loaded, c.size = append(c.loaded, img), c.size+int64(len(data))
	if c.size <= together {
		return img
	}
	contents := make([]store.Content, len(c.loaded))
	for i, l := range c.loaded {
		contents[i] = store.Content{Sum: l.Sum, Data: l.Data}
	}
	if c.store.PutAll(contents, true) == nil {
		for _, l := range c.loaded {
			l.Data, l.Loaded = nil, false
		}
	}
	c.loaded, c.size = nil, 0
	return img
}

// before is what a name held before the command touched it; ok is false when that is not
// known.
func (c *collector) before(h *held) (*delta.Image, bool) {
	if !h.done {
		h.done = true
		image, err := c.content(h)
		if h.image = image; err != nil && h.lost == "" {
			h.lost = err.Error()
		}
	}
	return h.image, h.lost == ""
}

func (c *collector) content(h *held) (*delta.Image, error) {
	mode := h.Mode & 0o777
	switch h.Kind {
	case journal.Link:
		return delta.NewSymlink(string(h.Data)), nil
	case journal.File:
	case journal.Special:
		return nil, errors.New("it was no regular file")
	default:
		return nil, nil
	}
	if h.lost != "" {
		return nil, errors.New(h.lost)
	}
	switch h.How {
	case journal.Inline:
		data, err := journal.Content(c.dir, &h.State)
		if err != nil {
			return nil, err
		}
		return c.regular(data, mode), nil
	case journal.Apart:
		return c.apart(h, mode)
	case journal.Live:
		return c.live(h, mode)
	}
	return c.elsewhere(h, mode)
}

// elsewhere reads a content that is still in its file, wherever that is now.
func (c *collector) elsewhere(h *held, mode uint32) (*delta.Image, error) {
	h.sought = true
	where, ok := c.at[idOf(&h.Sig)]
	if !ok {
		return nil, errors.New("what it held went away")
	}
	t := c.names[where]
	changed := t.now.Sig.Mtime != h.Sig.Mtime || t.now.Sig.Size != h.Sig.Size
	if h.How == journal.Prefix && t.foreign || h.How == journal.Nowhere && changed {
		return nil, errors.New("somebody else changed what it held")
	}
	f, err := c.file(where)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, err := c.load(f, h.Sig.Size, mode)
	if t.foreign && err == nil { // nobody is going to tell of a second time
		if now, err := c.look(where); err != nil || now.Sig != t.now.Sig {
			return nil, errors.New("somebody else changed what it held")
		}
	} else {
		h.from = t
	}
	return img, err
}

// errWritten says that a content was kept by a second name of its file, and somebody wrote
// to the file by another.
var errWritten = errors.New("what it held was changed after it was kept")

// apart is a content that is kept in a file of its own. A large one goes to the store as
// it is, and stays in the journal, too, until the journal goes: it may have to be read
// again. Where others can still write to the file it is copied.
func (c *collector) apart(h *held, mode uint32) (*delta.Image, error) {
	name := journal.ApartPath(c.dir, h.Number)
	f, err := beneath.OpenKept(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !beneath.Untouched(f, &h.Sig) {
		return nil, errWritten
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case h.Sig.Size <= loadLimit, h.grew:
		return c.load(f, h.Sig.Size, mode)
	case st.Size() != h.Sig.Size:
		return nil, errWritten
	}
	src := store.Source{File: f, Link: name, Leave: c.leave()}
	if !beneath.Reachable(f, st) {
		return c.put(src, mode)
	}
	src.Link = ""
	img, err := c.put(src, mode)
	if !errors.Is(err, store.ErrNoRoom) {
		return img, err
	}
	c.gap(h.path, "its content has another name, by which it can be written, and a copy does not fit")
	src.Link = name
	return c.put(src, mode)
}

// live is what a file holds that somebody wrote while its name went. If that still goes on, and
// there was nothing in it then, this may be half of it yet.
func (c *collector) live(h *held, mode uint32) (*delta.Image, error) {
	f, err := beneath.OpenKept(journal.ApartPath(c.dir, h.Number))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h.torn = h.Sig.Size == 0 && beingWritten(f)
	return c.load(f, -1, mode)
}

func (c *collector) put(src store.Source, mode uint32) (*delta.Image, error) {
	kept, err := c.store.PutFile(src)
	if err != nil {
		return nil, err
	}
	return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: mode, Size: kept.Size, Sum: kept.Sum}}, nil
}

// load reads the first size bytes of a file, or all of it.
func (c *collector) load(f *os.File, size int64, mode uint32) (*delta.Image, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size < 0 {
		size = st.Size()
	}
	if st.Size() < size {
		return nil, errors.New("its beginning is gone")
	}
	if size > loadLimit && size == st.Size() {
		if img, err := c.put(store.Source{File: f, Leave: c.leave()}, mode); err == nil {
			return img, nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return c.readAll(io.LimitReader(f, size), size, mode)
}

func (c *collector) readAll(r io.Reader, size int64, mode uint32) (*delta.Image, error) {
	if size <= loadLimit {
		data := make([]byte, size)
		n, err := io.ReadFull(r, data)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		return c.regular(data[:n], mode), nil
	}
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return nil, err
	}
	return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: mode, Size: n, Sum: delta.Sum(h.Sum(nil))}}, nil
}

// after is what a name holds now.
func (c *collector) after(name string) found {
	st, err := c.look(name)
	if err != nil {
		return found{err: err}
	}
	l := found{kind: st.Kind, mode: st.Mode & 0o777, file: idOf(&st.Sig)}
	switch st.Kind {
	case journal.Link:
		l.image, l.mode = delta.NewSymlink(string(st.Data)), 0
	case journal.File:
		if data, writer, ok := c.Small(name, st.Sig.Size); ok {
			l.image, l.writer = c.regular(data, l.mode), writer
			break
		}
		var f *os.File
		if f, l.err = c.file(name); l.err != nil {
			break
		}
		defer f.Close()
		l.image, l.err = c.load(f, -1, l.mode)
		l.writer = beingWritten(f) // who writes no more by now has told so
	}
	return l
}
