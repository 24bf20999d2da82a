// Package gitindex reads the index of a git repository: which content git knows for
// each path, and what stat said of the file then.
package gitindex

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"sort"
)

// MaxSize is the size from which an index is not read.
const MaxSize = 256 << 20

// OID names a git object; sha1 has 20 bytes, sha256 has 32.
type OID struct {
	bytes [32]byte
	n     uint8
}

func (o OID) String() string { return hex.EncodeToString(o.bytes[:o.n]) }

// Names reports whether data, as a blob, has the name o.
func (o OID) Names(data []byte) bool {
	var h hash.Hash = sha1.New()
	if o.n == sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return bytes.Equal(h.Sum(nil), o.bytes[:o.n])
}

// Index is a git index: which blob each path had, and its stat data then.
type Index struct {
	Files   []Entry // by path
	Written int64   // when, in nanoseconds; the caller sets it
}

// Entry is one path of an index.
type Entry struct {
	Path         string
	Mtime, Ctime [2]uint32 // seconds, nanoseconds
	Ino, Size    uint32
	Mode         uint32
	Blob         OID
}

const (
	indexFixed  = 40 // bytes of an entry before the object's name
	flagExtend  = 0x4000
	flagStage   = 0x3000
	nameMask    = 0x0fff
	modeFile    = 0o100644
	modeProgram = 0o100755
)

var errIndex = errors.New("not a git index that can be used")

// Parse reads a git index of version 2 to 4 with names of n bytes. One that
// is split in two files is refused: its half would lie.
func Parse(data []byte, n int) (*Index, error) {
	if len(data) < 12+n || string(data[:4]) != "DIRC" || !checked(data, n) {
		return nil, errIndex
	}
	version := binary.BigEndian.Uint32(data[4:])
	count := binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || int64(count) > int64(len(data)/(indexFixed+n+2)) {
		return nil, errIndex
	}
	x := &Index{Files: make([]Entry, 0, count)}
	rest, prev := data[12:len(data)-n], ""
	for range count {
		f, size, flags, ok := parseEntry(rest, n, version, prev)
		if !ok || f.Path < prev || f.Path == prev && flags&flagStage == 0 && prev != "" {
			return nil, errIndex
		}
		prev = f.Path
		rest = rest[size:]
		// Of a conflict none of the stages is what the file is.
		if flags&flagStage == 0 {
			x.Files = append(x.Files, f)
		}
	}
	for len(rest) >= 8 {
		size := int64(binary.BigEndian.Uint32(rest[4:]))
		if string(rest[:4]) == "link" || size > int64(len(rest)-8) {
			return nil, errIndex
		}
		rest = rest[8+size:]
	}
	return x, nil
}

// checked compares the checksum at the end; zeros mean that git left it out.
func checked(data []byte, n int) bool {
	body, sum := data[:len(data)-n], data[len(data)-n:]
	if bytes.Count(sum, []byte{0}) == n {
		return true
	}
	if n == sha256.Size {
		got := sha256.Sum256(body)
		return bytes.Equal(got[:], sum)
	}
	got := sha1.Sum(body)
	return bytes.Equal(got[:], sum)
}

func parseEntry(b []byte, n int, version uint32, prev string) (f Entry, size int, flags uint16, ok bool) {
	fixed := indexFixed + n + 2
	if len(b) < fixed {
		return f, 0, 0, false
	}
	u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	f.Ctime, f.Mtime = [2]uint32{u(0), u(1)}, [2]uint32{u(2), u(3)}
	f.Ino, f.Mode, f.Size = u(5), u(6), u(9)
	f.Blob.n = uint8(n)
	copy(f.Blob.bytes[:], b[indexFixed:indexFixed+n])
	flags = binary.BigEndian.Uint16(b[indexFixed+n:])
	at := fixed
	if flags&flagExtend != 0 {
		at += 2
	}
	if at > len(b) {
		return f, 0, 0, false
	}
	keep := 0
	if version == 4 {
		strip, used := offset(b[at:])
		if used == 0 || strip > len(prev) {
			return f, 0, 0, false
		}
		keep = len(prev) - strip
		at += used
	}
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 {
		return f, 0, 0, false
	}
	f.Path = prev[:keep] + string(b[at:at+end])
	size = at + end + 1
	if version < 4 {
		size = (at + end + 8) &^ 7
	}
	return f, size, flags, size <= len(b)
}

// offset reads a number as git's packs and indexes write it: seven bits a byte,
// the highest first, and each further byte adds one more.
func offset(b []byte) (v, used int) {
	for i, c := range b {
		if i > 4 || v > math.MaxInt32>>8 {
			return 0, 0
		}
		if i > 0 {
			v++
		}
		v = v<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}

// Find returns what the index has of a path, or nil.
func (x *Index) Find(path string) *Entry {
	if x == nil {
		return nil
	}
	i := sort.Search(len(x.Files), func(i int) bool { return x.Files[i].Path >= path })
	if i == len(x.Files) || x.Files[i].Path != path {
		return nil
	}
	return &x.Files[i]
}

// Below reports whether the index has a path in dir.
func (x *Index) Below(dir string) bool {
	if x == nil {
		return false
	}
	dir += "/"
	i := sort.Search(len(x.Files), func(i int) bool { return x.Files[i].Path >= dir })
	return i < len(x.Files) && len(x.Files[i].Path) > len(dir) && x.Files[i].Path[:len(dir)] == dir
}

// IsFile reports whether f is a regular file for git.
func (f *Entry) IsFile() bool { return f.Mode == modeFile || f.Mode == modeProgram }
