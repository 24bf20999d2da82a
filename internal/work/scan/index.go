package scan

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"sort"
)

// maxIndex is the size from which an index is not read.
const maxIndex = 256 << 20

// index is a git index: which blob each path had, and its stat data then.
type index struct {
	files   []indexed // by path
	written int64     // when, in nanoseconds
}

type indexed struct {
	path         string
	mtime, ctime [2]uint32 // seconds, nanoseconds
	ino, size    uint32
	mode         uint32
	blob         oid
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

// parseIndex reads a git index of version 2 to 4 with names of n bytes. One that
// is split in two files is refused: its half would lie.
func parseIndex(data []byte, n int) (*index, error) {
	if len(data) < 12+n || string(data[:4]) != "DIRC" || !checked(data, n) {
		return nil, errIndex
	}
	version := binary.BigEndian.Uint32(data[4:])
	count := binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || int64(count) > int64(len(data)/(indexFixed+n+2)) {
		return nil, errIndex
	}
	x := &index{files: make([]indexed, 0, count)}
	rest, prev := data[12:len(data)-n], ""
	for range count {
		f, size, flags, ok := parseEntry(rest, n, version, prev)
		if !ok || f.path < prev || f.path == prev && flags&flagStage == 0 && prev != "" {
			return nil, errIndex
		}
		prev = f.path
		rest = rest[size:]
		// Of a conflict none of the stages is what the file is.
		if flags&flagStage == 0 {
			x.files = append(x.files, f)
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

func parseEntry(b []byte, n int, version uint32, prev string) (f indexed, size int, flags uint16, ok bool) {
	fixed := indexFixed + n + 2
	if len(b) < fixed {
		return f, 0, 0, false
	}
	u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	f.ctime, f.mtime = [2]uint32{u(0), u(1)}, [2]uint32{u(2), u(3)}
	f.ino, f.mode, f.size = u(5), u(6), u(9)
	f.blob.n = uint8(n)
	copy(f.blob.bytes[:], b[indexFixed:indexFixed+n])
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
	f.path = prev[:keep] + string(b[at:at+end])
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

// find returns what the index has of a path, or nil.
func (x *index) find(path string) *indexed {
	if x == nil {
		return nil
	}
	i := sort.Search(len(x.files), func(i int) bool { return x.files[i].path >= path })
	if i == len(x.files) || x.files[i].path != path {
		return nil
	}
	return &x.files[i]
}

// below reports whether the index has a path in dir.
func (x *index) below(dir string) bool {
	if x == nil {
		return false
	}
	dir += "/"
	i := sort.Search(len(x.files), func(i int) bool { return x.files[i].path >= dir })
	return i < len(x.files) && len(x.files[i].path) > len(dir) && x.files[i].path[:len(dir)] == dir
}

// isFile reports whether f is a regular file for git.
func (f *indexed) isFile() bool { return f.mode == modeFile || f.mode == modeProgram }

// clean reports whether a file with signature s is still as it was when the
// index was written at the given time. No means that it must be read.
func (f *indexed) clean(s sig, written int64) bool {
	mtime := int64(f.mtime[0])*1e9 + int64(f.mtime[1])
	ctime := int64(f.ctime[0])*1e9 + int64(f.ctime[1])
	return f.isFile() && s.isFile() && uint32(s.size) == f.size &&
		mtime == s.mtime && mtime < written &&
		(ctime == s.ctime || s.ctime == 0) && (f.ino == uint32(s.ino) || s.ino == 0)
}
