package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

const headName = "ledger.head"

// NoHash is what the first line of a ledger says of the line before it.
const NoHash = "0000000000000000000000000000000000000000000000000000000000000000"

// link is what a line says of the one before it.
type link struct {
	seq  int64
	hash string
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// headSize is the size of the head file: a number of 20 digits, a blank, a hash and a
// line feed. The fixed size lets it be written over in place.
const headSize = 20 + 1 + 64 + 1

// readHead returns the last entry that was made durable, zero when nothing is known.
func readHead(dir string) link {
	b, err := atomicfile.Read(filepath.Join(dir, headName))
	if err != nil || len(b) != headSize || b[20] != ' ' || b[headSize-1] != '\n' {
		return link{}
	}
	seq, err := strconv.ParseInt(string(b[:20]), 10, 64)
	if err != nil || seq <= 0 {
		return link{}
	}
	return link{seq, string(b[21 : headSize-1])}
}

// raiseHead writes down that the entries up to the last of this process are durable.
// Without the head everything works, only a cut at the end of the ledger can no
// longer be seen; so errors are nothing.
func (l *Ledger) raiseHead() {
	if l.last.seq == 0 || l.hold() != nil {
		return
	}
	defer l.lock.Unlock()
	if readHead(l.dir).seq >= l.last.seq {
		return // another process was further
	}
	f, err := atomicfile.OpenFile(filepath.Join(l.dir, headName), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteAt(fmt.Appendf(nil, "%020d %64s\n", l.last.seq, l.last.hash), 0)
	_ = f.Close()
}

// Chain is what Verify found in a ledger that is as it was written.
type Chain struct {
	Entries int
	// Since is the number of the first entry that names the one before it; 0 when
	// none does. Older are the entries before it that no hash covers.
	Since int64
	Older int
	// Torn counts the places where a write did not end. The entry after each names
	// what was left there.
	Torn int
}

// BreakError is the first place where a ledger is not what was written.
type BreakError struct {
	Line   int // 1-based
	Reason string
}

func (e *BreakError) Error() string { return fmt.Sprintf("%s line %d %s", fileName, e.Line, e.Reason) }

// Verify checks that the entries are those that were written, in number, order and
// every byte. Entries without hashes, from before there were any, are checked in
// their order only. Lines that were appended and not yet made durable may be cut off
// unnoticed. The error is a *BreakError, or about reading.
func (l *Ledger) Verify() (Chain, error) {
	head := readHead(l.dir) // before the lines: a writer may be at work
	f, err := atomicfile.Open(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		if head.seq > 0 {
			return Chain{}, &BreakError{1, fmt.Sprintf("is missing: %d entries were written", head.seq)}
		}
		return Chain{}, nil
	}
	if err != nil {
		return Chain{}, err
	}
	defer f.Close()
	v := verifier{head: head}
	if err := v.read(f); err != nil {
		return Chain{}, fmt.Errorf("read ledger %s: %w", l.path(), err)
	}
	if err := v.judge(); err != nil {
		return Chain{}, err
	}
	return v.chain, nil
}

// verifier compares lines with what their neighbours say of them.
type verifier struct {
	head  link
	lines []told
	rest  bool // something follows the last entry
	end   int  // the last line
	chain Chain
}

// told is an entry's line: what it is, and what it says.
type told struct {
	line int
	at   link
	prev string
	torn string // what it says of the bytes between the entry before and itself
	left string // the hash of those bytes, "" without any
	hole int    // the line where they begin
	open bool   // it lacks its line feed
}

func (v *verifier) read(f io.Reader) error {
	in := bufio.NewReaderSize(f, 256<<10)
	left, hole := sha256.New(), 0
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) == 0 {
			break
		}
		v.end = n
		whole, closed := bytes.CutSuffix(line, []byte{'\n'})
		e, ok := parse(whole)
		if !ok {
			_, _ = left.Write(line)
			if hole == 0 {
				hole = n
			}
			continue
		}
		t := told{line: n, at: link{e.Seq, hash(whole)}, prev: e.Prev, torn: e.Torn, hole: hole, open: !closed}
		if hole > 0 {
			t.left = hex.EncodeToString(left.Sum(nil))
			left.Reset()
			hole = 0
		}
		v.lines = append(v.lines, t)
	}
	v.rest = hole > 0
	return nil
}

func broken(line int, format string, args ...any) error {
	return &BreakError{line, fmt.Sprintf(format, args...)}
}

func (v *verifier) judge() error {
	for i := range v.lines {
		if err := v.link(i); err != nil {
			return err
		}
	}
	return v.tail()
}

// link checks what line i says of what is before it.
func (v *verifier) link(i int) error {
	t := &v.lines[i]
	before := told{at: link{0, NoHash}}
	if i > 0 {
		before = v.lines[i-1]
	}
	v.chain.Entries++
	if t.prev == "" {
		v.chain.Older++
		switch {
		case v.chain.Since > 0:
			return broken(t.line, "does not name the entry before it: it was not written by Kerf, or changed")
		case t.at.seq <= before.at.seq:
			return broken(t.line, "has number %d after %d", t.at.seq, before.at.seq)
		case t.left != "":
			v.chain.Torn++
		}
		return nil
	}
	if v.chain.Since == 0 {
		v.chain.Since = t.at.seq
	}
	switch {
	case t.left != "" && t.left != t.torn && (t.torn == "" || v.vouched(i)):
		return broken(t.hole, "is no entry: it was changed or added")
	case t.left != t.torn:
		return broken(t.line, "names what a write left unfinished; that was removed, or this line changed")
	}
	if t.left != "" {
		v.chain.Torn++
	}
	switch known := v.vouched(i); {
	case t.prev == before.at.hash && t.at.seq == before.at.seq+1:
		return nil
	case t.prev == before.at.hash:
		return broken(t.line, "has number %d after %d: it was changed", t.at.seq, before.at.seq)
	case t.at.seq != before.at.seq+1:
		return broken(t.line, "has number %d after %d: entries were removed, added or moved", t.at.seq, before.at.seq)
	case known && i > 0:
		return broken(before.line, "was changed")
	}
	return broken(t.line, "was changed, or does not belong here")
}

// vouched reports whether what comes after line i says that it is as it was written.
func (v *verifier) vouched(i int) bool {
	at := v.lines[i].at
	return at == v.head || i+1 < len(v.lines) && v.lines[i+1].prev == at.hash
}

// tail checks the last lines against the head.
func (v *verifier) tail() error {
	for _, t := range v.lines {
		if t.at.seq == v.head.seq && t.at.hash != v.head.hash {
			return broken(t.line, "was changed")
		}
	}
	last := told{}
	if n := len(v.lines); n > 0 {
		last = v.lines[n-1]
	}
	switch {
	case last.at.seq < v.head.seq:
		line := last.line + 1
		if v.rest {
			line = v.end
		}
		return broken(line, "is missing or damaged: %d entries were written, the last whole one is %d",
			v.head.seq, last.at.seq)
	case last.open && last.at.seq == v.head.seq:
		return broken(last.line, "is cut off")
	case v.rest:
		v.chain.Torn++ // the next append will name it
	}
	return nil
}

// String tells of the chain in words.
func (c Chain) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d entries", c.Entries)
	switch {
	case c.Since == 0 && c.Entries > 0:
		b.WriteString(" from before there were hashes")
	case c.Older > 0:
		fmt.Fprintf(&b, ", hash chain whole since entry %d, %d older ones without hashes", c.Since, c.Older)
	case c.Entries > 0:
		b.WriteString(", hash chain whole")
	}
	if c.Torn > 0 {
		fmt.Fprintf(&b, ", %d unfinished writes", c.Torn)
	}
	return b.String()
}
