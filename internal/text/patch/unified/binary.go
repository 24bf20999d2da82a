package unified

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
)

// maxBinary bounds what a binary patch may unpack to.
const maxBinary = 64 << 20

// binaryPatch is git's binary data: how to make the new content from the old
// and, if given, the old from the new.
type binaryPatch struct {
	forward, backward *binaryHunk
}

type binaryHunk struct {
	delta  bool
	size   int    // of data, unpacked
	packed []byte // zlib
	at     int
}

// binary reads the data after "GIT binary patch".
func (p *unifiedParser) binary(f *File) *Error {
	forward, err := p.binaryHunk()
	if err != nil {
		return err
	}
	if forward == nil {
		return Errorf(p.at+1, "the binary patch has no data; make the diff with --binary")
	}
	backward, err := p.binaryHunk()
	if err != nil {
		return err
	}
	f.Binary = &binaryPatch{forward, backward}
	return nil
}

// binaryHunk reads "literal SIZE" or "delta SIZE" and its lines up to a blank
// one; nil if there is none.
func (p *unifiedParser) binaryHunk() (*binaryHunk, *Error) {
	if p.at >= len(p.lines) {
		return nil, nil
	}
	kind, size, found := strings.Cut(p.header(), " ")
	if !found || kind != "literal" && kind != "delta" {
		return nil, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return nil, Errorf(p.at+1, "the size of the binary data is not a number")
	}
	if n > maxBinary {
		return nil, Errorf(p.at+1, "the binary data of %d bytes is above the limit of %d", n, maxBinary)
	}
	h := &binaryHunk{delta: kind == "delta", size: n, at: p.at + 1}
	for p.at++; p.at < len(p.lines); p.at++ {
		l := p.header()
		if l == "" {
			p.at++
			return h, nil
		}
		row, ok := decode85(l)
		if !ok {
			return nil, Errorf(p.at+1, "the binary data is damaged")
		}
		h.packed = append(h.packed, row...)
	}
	return h, nil
}

// binaryStart reports whether l begins binary data.
func binaryStart(l string) bool {
	kind, size, _ := strings.Cut(l, " ")
	return (kind == "literal" || kind == "delta") && size != "" && strings.Trim(size, "0123456789") == ""
}

const alphabet85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// decode85 decodes a row of git's base 85: a letter for the count of bytes, then
// five digits for every four of them.
func decode85(row string) ([]byte, bool) {
	n := 0
	switch c := row[0]; {
	case c >= 'A' && c <= 'Z':
		n = int(c-'A') + 1
	case c >= 'a' && c <= 'z':
		n = int(c-'a') + 27
	}
	digits := row[1:]
	if n == 0 || len(digits) != (n+3)/4*5 {
		return nil, false
	}
	out := make([]byte, 0, n+3)
	for ; digits != ""; digits = digits[5:] {
		var v uint64
		for i := range 5 {
			d := strings.IndexByte(alphabet85, digits[i])
			if d < 0 {
				return nil, false
			}
			v = v*85 + uint64(d)
		}
		if v > 1<<32-1 {
			return nil, false
		}
		out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return out[:n], true
}

var errDamaged = errors.New("the binary data is damaged")

// apply makes the other content from old.
func (h *binaryHunk) apply(old []byte) ([]byte, error) {
	data, err := h.unpack()
	if err != nil || !h.delta {
		return data, err
	}
	return applyDelta(old, data)
}

func (h *binaryHunk) unpack() ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(h.packed))
	if err != nil {
		return nil, errDamaged
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, int64(h.size)+1))
	if err != nil || len(data) != h.size {
		return nil, errDamaged
	}
	return data, nil
}

// applyDelta runs a packed delta: the sizes of both contents, then copies from
// old and insertions.
func applyDelta(old, d []byte) ([]byte, error) {
	from, d, ok1 := varint(d)
	size, d, ok2 := varint(d)
	if !ok1 || !ok2 || size > maxBinary {
		return nil, errDamaged
	}
	if from != len(old) {
		return nil, fmt.Errorf("the binary delta is for a file of %d bytes, this one has %d", from, len(old))
	}
	out := make([]byte, 0, size)
	for len(d) > 0 {
		op := d[0]
		d = d[1:]
		var piece []byte
		switch {
		case op == 0:
			return nil, errDamaged
		case op&0x80 == 0:
			if int(op) > len(d) {
				return nil, errDamaged
			}
			piece, d = d[:op], d[op:]
		default:
			var off, n int
			var ok bool
			if off, n, d, ok = copyRange(op, d); !ok || off > len(old) || n > len(old)-off {
				return nil, errDamaged
			}
			piece = old[off : off+n]
		}
		if len(out)+len(piece) > size {
			return nil, errDamaged
		}
		out = append(out, piece...)
	}
	if len(out) != size {
		return nil, errDamaged
	}
	return out, nil
}

// copyRange reads the offset and length of a copy, whose bytes op announces.
func copyRange(op byte, d []byte) (off, n int, rest []byte, ok bool) {
	for i := range 7 {
		if op&(1<<i) == 0 {
			continue
		}
		if len(d) == 0 {
			return 0, 0, nil, false
		}
		if i < 4 {
			off |= int(d[0]) << (8 * i)
		} else {
			n |= int(d[0]) << (8 * (i - 4))
		}
		d = d[1:]
	}
	if n == 0 {
		n = 0x10000
	}
	return off, n, d, true
}

func varint(d []byte) (n int, rest []byte, ok bool) {
	for shift := 0; len(d) > 0 && shift < 35; shift += 7 {
		c := d[0]
		d = d[1:]
		n |= int(c&0x7f) << shift
		if c&0x80 == 0 {
			return n, d, true
		}
	}
	return 0, nil, false
}

// BlobID returns the id that git gives to content, in the hash that an id of the
// given length comes from.
func BlobID(content []byte, hexLen int) string {
	var h hash.Hash = sha1.New()
	if hexLen == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// FullID reports whether id is a whole blob id, of either hash.
func FullID(id string) bool { return len(id) == 2*sha1.Size || len(id) == 2*sha256.Size }

// NullID reports whether id is the id that git writes for no file: zeros only.
func NullID(id string) bool { return id != "" && strings.Trim(id, "0") == "" }

// BinaryContent applies binary data, which is exact: it fits one content only.
func (f *File) BinaryContent(name string, old []byte) ([]byte, *Error) {
	if f.Binary.forward == nil {
		return nil, &Error{Path: name, Message: "the binary patch tells only one direction, so it cannot be reversed"}
	}
	fail := func(format string, args ...any) ([]byte, *Error) {
		e := Errorf(f.Binary.forward.at, format, args...)
		e.Path = name
		return nil, e
	}
	if !FullID(f.OldID) || !FullID(f.NewID) {
		return fail("a binary patch needs an index line with whole ids; make the diff with --binary")
	}
	if f.Create {
		if !NullID(f.OldID) {
			return fail("the index line of the new file names an old content")
		}
	} else if got := BlobID(old, len(f.OldID)); got != f.OldID {
		return fail("the binary patch is for the content %s, the file has %s; make the patch from the file as it is",
			f.OldID[:12], got[:12])
	}
	data, err := f.Binary.forward.apply(old)
	if err != nil {
		return fail("%v", err)
	}
	if f.Remove && NullID(f.NewID) {
		return nil, nil
	}
	if BlobID(data, len(f.NewID)) != f.NewID {
		return fail("the binary patch does not make what its index line says; it is damaged")
	}
	return data, nil
}

// IsBlob reports whether content has the id, which may be abbreviated and of
// either hash.
func IsBlob(content []byte, id string) bool {
	return strings.HasPrefix(BlobID(content, 2*sha1.Size), id) || strings.HasPrefix(BlobID(content, 2*sha256.Size), id)
}
