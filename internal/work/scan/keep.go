package scan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"kerf/internal/text/delta"
	"kerf/internal/work/scan/gitindex"
)

// sizesChecked is how many of a repository's files have the size of their blob
// checked although nothing says that line ends are converted.
const sizesChecked = 5000

// verifyLimit is the size up to which a file is read only to see whether it is
// what it was.
const verifyLimit = 64 << 20

// keeper finds out the contents of pending entries and sees to it that they can
// be had later.
type keeper struct {
	s      *Scanner
	ctx    context.Context
	root   *os.Root
	top    string // path of root
	start  time.Time
	budget *atomic.Int64 // bytes that may still go to the store
}

// keep fills in the bodies of what is pending below one root.
func (k *keeper) keep(list []*pending) error {
	if len(list) == 0 {
		return nil
	}
	root, err := os.OpenRoot(filepath.FromSlash(k.top))
	if err != nil {
		for _, p := range list {
			p.entry().body = lost(p.entry().sig, Unreadable, "could not be read: "+err.Error())
		}
		return nil
	}
	defer root.Close()
	k.root = root
	k.learnAttributes(list)
	var files []*pending
	clean := make(map[*repo][]*pending)
	for _, p := range list {
		e := p.entry()
		switch {
		case e.sig.isLink():
			k.link(p)
		case e.sig.size == 0 && e.sig.isFile():
			e.body = inlined("")
		case k.isClean(p):
			clean[p.repo] = append(clean[p.repo], p)
		default:
			files = append(files, p)
		}
	}
	for r, list := range clean {
		files = append(files, k.differing(r, list)...)
	}
	return k.read(files)
}

// learnAttributes takes in the attributes files that are new.
func (k *keeper) learnAttributes(list []*pending) {
	for _, p := range list {
		if p.repo != nil && p.entry().name == ".gitattributes" && p.entry().sig.isFile() {
			data, _, err := k.readStable(p.path, p.entry().sig, k.s.caps.FileSize)
			if err == nil {
				p.repo.addAttributes(p.path, dirOf(p.repo.rel(p.path)), data)
			}
		}
	}
}

// isClean reports whether git has the file as it is, as far as stat can tell,
// and names the blob in its body.
func (k *keeper) isClean(p *pending) bool {
	if p.repo == nil {
		return false
	}
	p.repo.refresh(k.ctx)
	if p.old != nil {
		return false // a signature that proved nothing to us proves nothing to git
	}
	e, rel := p.entry(), p.repo.rel(p.path)
	f := p.repo.index.Find(rel)
	if f == nil || !clean(f, e.sig, p.repo.index.Written) || p.repo.filtered(rel) {
		return false
	}
	e.body = &body{from: inGit, size: e.sig.size, blob: f.Blob, repo: p.repo}
	return true
}

// differing returns those of a repository's clean files whose blob has another
// size or is not there: then the bytes in the work tree are not the blob's.
func (k *keeper) differing(r *repo, list []*pending) []*pending {
	if !r.converts() && len(list) > sizesChecked {
		list = list[:0:0]
	}
	blobs := make([]gitindex.OID, len(list))
	for i, p := range list {
		blobs[i] = p.entry().body.blob
	}
	var differ []*pending
	if len(list) == 0 {
		return nil
	}
	seen := 0
	err := r.catFile(k.ctx, blobs, false, func(i int, size int64, _ io.Reader) error {
		if size != list[i].entry().sig.size {
			differ = append(differ, list[i])
		}
		seen++
		return nil
	})
	if err != nil {
		differ = append(differ, list[seen:]...)
	}
	return differ
}

func (k *keeper) link(p *pending) {
	e := p.entry()
	target, err := k.root.Readlink(k.rel(p.path))
	if err != nil {
		e.racy = true
		e.body = lost(e.sig, Unreadable, "link could not be read: "+err.Error())
		return
	}
	e.body = inlined(target)
	if p.old != nil && p.old.body != nil && p.old.body.hashed && p.old.body.sum == e.body.sum {
		e.body = p.old.body
	}
}

// inlined is a body small enough to hold itself.
func inlined(data string) *body {
	return &body{from: inline, hashed: true, sum: delta.SumOf([]byte(data)), size: int64(len(data)), data: data}
}

// lost is a body that cannot be had back.
func lost(s sig, kind GapKind, why string) *body {
	return &body{from: nowhere, sum: standIn(s), size: s.size, kind: kind, why: why}
}

// still returns what p had before if that could not be had for the same reason:
// it was told of once.
func (p *pending) still(b *body) *body {
	if p.old != nil && p.old.body != nil && p.old.body.from == nowhere && p.old.body.sum == b.sum &&
		p.old.body.why == b.why {
		return p.old.body
	}
	return b
}

// standIn takes the place of the sum of a content that was not read. It is no
// content's sum, and another one for every state that stat can tell apart, so
// that a version made of it is never taken for a different one.
func standIn(s sig) delta.Sum {
	b := []byte("kerf: not read\x00")
	for _, v := range []uint64{s.dev, s.ino, uint64(s.size), uint64(s.mtime)} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return sha256.Sum256(b)
}

// read reads files, several at a time: first those that may turn out to be known
// or git's after all, then the others, for which room is set aside in order: by
// whether they are ignored, then the small ones, so that a full budget has kept
// as many as it could.
func (k *keeper) read(files []*pending) error {
	var maybe, others []*pending
	for _, p := range files {
		if p.old != nil || p.repo != nil && p.repo.index.Find(p.repo.rel(p.path)) != nil {
			maybe = append(maybe, p)
		} else {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b *pending) int {
		x, y := a.entry(), b.entry()
		if x.ignored != y.ignored {
			if y.ignored {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.sig.size, y.sig.size), strings.Compare(a.path, b.path))
	})
	var work errgroup.Group
	work.SetLimit(4)
	for _, p := range maybe {
		work.Go(func() error { return k.file(p, k.claim) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	for _, p := range others {
		size := p.entry().sig.size
		if size > k.s.caps.FileSize {
			p.entry().body = k.large(p.entry().sig)
			continue
		}
		room := k.claim(size)
		work.Go(func() error {
			return k.file(p, func(now int64) bool { return room && (now <= size || k.claim(now-size)) })
		})
	}
	return work.Wait()
}

// claim takes room in the budget, if there is as much.
func (k *keeper) claim(size int64) bool {
	if k.budget.Add(-size) >= 0 {
		return true
	}
	k.budget.Add(size)
	return false
}

// file reads one file and keeps it if it must be and claim has room for it. Its
// only error is that of ctx: what goes wrong with a file becomes a gap.
func (k *keeper) file(p *pending, claim func(int64) bool) error {
	if err := k.ctx.Err(); err != nil {
		return err
	}
	e := p.entry()
	limit := k.s.caps.FileSize
	known := p.old != nil && p.old.body != nil && p.old.body.hashed
	if known {
		limit = max(limit, verifyLimit)
	}
	if e.sig.size > limit {
		e.body = p.still(k.large(e.sig))
		return nil
	}
	data, now, err := k.readStable(p.path, e.sig, limit)
	switch {
	case errors.Is(err, errLarge):
		e.sig, e.racy = now, now.youngerThan(k.start)
		e.body = k.large(now)
		return nil
	case err != nil:
		e.racy = true
		e.body = p.still(lost(e.sig, Unreadable, err.Error()))
		return nil
	}
	e.sig, e.racy = now, now.youngerThan(k.start)
	e.body = k.keepData(p, data, claim)
	return nil
}

func (k *keeper) large(s sig) *body {
	return lost(s, Limit, fmt.Sprintf("its %s are over the limit of %s a file", bytesOf(s.size),
		bytesOf(k.s.caps.FileSize)))
}

// keepData makes the body of a file that holds data.
func (k *keeper) keepData(p *pending, data []byte, claim func(int64) bool) *body {
	b := &body{size: int64(len(data)), hashed: true, sum: delta.SumOf(data)}
	if p.old != nil && p.old.body.holds(b.sum, data) {
		return p.old.body
	}
	if p.repo != nil {
		if f := p.repo.index.Find(p.repo.rel(p.path)); f != nil && f.IsFile() && f.Blob.Names(data) {
			b.from, b.blob, b.repo = inGit, f.Blob, p.repo
			return b
		}
	}
	switch {
	case len(data) == 0:
		b.from = inline
		return b
	case b.size > k.s.caps.FileSize:
		return k.large(p.entry().sig)
	case !claim(b.size):
		b.from, b.kind = onlyKnown, Limit
		b.why = fmt.Sprintf("not kept: the files of this workspace are over the limit of %s", bytesOf(k.s.caps.Total))
		return b
	}
	if sum, err := k.s.store.Put(data); err != nil || sum != b.sum {
		b.from, b.kind, b.why = onlyKnown, Lost, fmt.Sprintf("not kept: %v", cmp.Or(err, errSum))
		return b
	}
	b.from = inStore
	return b
}

// holds reports whether data, whose sum is given, is the content of b, which may
// be nil; a body of git learns its sum.
func (b *body) holds(sum delta.Sum, data []byte) bool {
	switch {
	case b == nil:
		return false
	case b.hashed:
		return b.sum == sum
	case b.from == inGit && b.blob.Names(data):
		b.hashed, b.sum = true, sum
		return true
	}
	return false
}

func (k *keeper) rel(abs string) string {
	return filepath.FromSlash(strings.TrimPrefix(abs, strings.TrimSuffix(k.top, "/")+"/"))
}

var (
	errLarge    = errors.New("too large")
	errSum      = errors.New("the store gave it another name")
	errUnsteady = errors.New("changed while it was read")
)

// readStable reads a file below the root, see readStable.
func (k *keeper) readStable(abs string, want sig, limit int64) ([]byte, sig, error) {
	return readStable(func() (*os.File, error) {
		return k.root.OpenFile(k.rel(abs), os.O_RDONLY|nonblock, 0)
	}, want, limit)
}

// readStable reads a whole regular file and returns the signature that its bytes
// belong to. A file that is not as wanted, or changes meanwhile, is tried again
// a few times.
func readStable(open func() (*os.File, error), want sig, limit int64) ([]byte, sig, error) {
	for range 3 {
		data, now, err := readOnce(open, limit)
		if err != nil {
			return nil, now, err
		}
		if now == want {
			return data, now, nil
		}
		want = now
	}
	return nil, want, errUnsteady
}

// readOnce reads a file and returns its signature after that.
func readOnce(open func() (*os.File, error), limit int64) ([]byte, sig, error) {
	f, err := open()
	if err != nil {
		return nil, sig{}, fmt.Errorf("could not be opened: %w", errors.Unwrap(err))
	}
	defer f.Close()
	s, err := fileSig(f)
	if err != nil {
		return nil, s, err
	}
	if !s.isFile() {
		return nil, s, fs.ErrInvalid
	}
	if s.size > limit {
		return nil, s, errLarge
	}
	data := make([]byte, 0, s.size+1)
	for int64(len(data)) <= s.size {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, s, fmt.Errorf("could not be read: %w", errors.Unwrap(err))
		}
	}
	now, err := fileSig(f)
	if err != nil {
		return nil, now, err
	}
	if int64(len(data)) != now.size {
		now.size = -1 // it never is: try again
	}
	return data, now, nil
}

func bytesOf(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
