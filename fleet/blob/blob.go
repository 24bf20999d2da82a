// Package blob keeps what the fleet's machines share: a directory or a bucket of an
// S3-compatible store. Contents are named by their hash and checked when they are read;
// names point to them.
package blob

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Bucket is where bytes lie. Its methods may be called by several goroutines and machines.
type Bucket interface {
	// Write replaces an object as a whole: a reader sees the old bytes or the new ones.
	Write(ctx context.Context, name string, data []byte) error
	// Read returns an error that is fs.ErrNotExist where there is none, and reads at most
	// limit bytes.
	Read(ctx context.Context, name string, limit int64) ([]byte, error)
	// Stat tells of an object; the error is fs.ErrNotExist where there is none.
	Stat(ctx context.Context, name string) (Object, error)
	// List calls yield with each name below prefix that sorts behind after, in order.
	List(ctx context.Context, prefix, after string, yield func(Object) error) error
	Delete(ctx context.Context, name string) error
}

// Object is one line of a list.
type Object struct {
	Name string
	Size int64
	Age  int64 // seconds since it was written
}

// Store keeps contents by their hash in a bucket, compressed, and encrypted where there is a
// key. It may be used by several goroutines.
type Store struct {
	Bucket
	key  []byte // 32 bytes, or nil
	seal cipher.AEAD
	tool sync.Once
	enc  *zstd.Encoder
	dec  *zstd.Decoder
}

// Limit bounds one content, in bytes. Larger ones are kept in parts.
const Limit = 64 << 20

// New makes a store. A key has 32 bytes; nil keeps contents as they are.
func New(b Bucket, key []byte) (*Store, error) {
	s := &Store{Bucket: b, key: key}
	if key == nil {
		return s, nil
	}
	block, err := aes.NewCipher(key)
	if err == nil && len(key) != 32 {
		err = errors.New("the key of the store must have 32 bytes")
	}
	if err == nil {
		s.seal, err = cipher.NewGCM(block)
	}
	return s, err
}

// Hash names a content: its SHA-256 in hex, or its HMAC where the store has a key, so that
// names tell nothing either.
func (s *Store) Hash(data []byte) string {
	if s.key == nil {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}

func place(hash string) string { return "objects/" + hash[:2] + "/" + hash[2:] }

func (s *Store) tools() {
	s.tool.Do(func() {
		s.enc, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		s.dec, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(Limit*2))
	})
}

// Fresh is how young a content is after a Put, in seconds, at most: what collects old contents that nothing names must
// leave alone what is younger than twice of it, for a Put may have returned its hash a moment ago.
const Fresh = 30 * 60

// Put keeps a content and returns its hash. What is there already is not sent again, unless it is older than Fresh.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	if len(data) > Limit {
		return "", fmt.Errorf("a content of %d bytes; the limit is %d", len(data), Limit)
	}
	hash := s.Hash(data)
	o, err := s.Stat(ctx, place(hash))
	if err == nil && o.Age < Fresh {
		return hash, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hash, err
	}
	return hash, s.Write(ctx, place(hash), s.pack(data, hash))
}

// pack compresses data, and encrypts it where there is a key. What is packed for one name
// cannot be unpacked for another.
func (s *Store) pack(data []byte, name string) []byte {
	s.tools()
	packed := s.enc.EncodeAll(data, nil)
	if s.seal == nil {
		return packed
	}
	nonce := make([]byte, s.seal.NonceSize())
	_, _ = rand.Read(nonce) // which never fails
	return s.seal.Seal(nonce, nonce, packed, []byte(name))
}

// unpack is the other way round.
func (s *Store) unpack(packed []byte, name string) (data []byte, err error) {
	s.tools()
	if s.seal != nil {
		n := s.seal.NonceSize()
		if len(packed) < n {
			return nil, damaged(name)
		}
		if packed, err = s.seal.Open(nil, packed[:n], packed[n:], []byte(name)); err != nil {
			return nil, fmt.Errorf("%.80s of the store was kept with another key, or is damaged", name)
		}
	}
	if data, err = s.dec.DecodeAll(packed, nil); err != nil {
		return nil, damaged(name)
	}
	return data, nil
}

// Keep keeps data under a name, as Put does under its hash.
func (s *Store) Keep(ctx context.Context, name string, data []byte) error {
	return s.Write(ctx, name, s.pack(data, name))
}

// Kept reads what Keep kept.
func (s *Store) Kept(ctx context.Context, name string) ([]byte, error) {
	packed, err := s.Read(ctx, name, Limit+1<<20)
	if err != nil {
		return nil, err
	}
	return s.unpack(packed, name)
}

// Get returns a content. Bytes that are not those of the hash are an error.
func (s *Store) Get(ctx context.Context, hash string) ([]byte, error) {
	if !IsHash(hash) {
		return nil, fmt.Errorf("%.80q is no hash", hash)
	}
	packed, err := s.Read(ctx, place(hash), Limit+1<<20)
	if err != nil {
		return nil, fmt.Errorf("content %.12s: %w", hash, err)
	}
	data, err := s.unpack(packed, hash)
	if err == nil && s.Hash(data) != hash {
		err = damaged(hash)
	}
	return data, err
}

func damaged(name string) error { return fmt.Errorf("%.80s of the store is damaged", name) }

// IsHash reports whether s may name a content.
func IsHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// PutJSON keeps a value.
func (s *Store) PutJSON(ctx context.Context, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return s.Put(ctx, data)
}

// GetJSON reads a value that PutJSON kept.
func (s *Store) GetJSON(ctx context.Context, hash string, v any) error {
	data, err := s.Get(ctx, hash)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Point lets a name stand for a hash.
func (s *Store) Point(ctx context.Context, name, hash string) error {
	return s.Write(ctx, name, []byte(hash))
}

// Follow returns the hash that a name stands for, empty where there is no such name.
func (s *Store) Follow(ctx context.Context, name string) (string, error) {
	data, err := s.Read(ctx, name, 128)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && !IsHash(string(data)) {
		err = fmt.Errorf("%s of the store names nothing", name)
	}
	return string(data), err
}

// Try asks the store for one name, whatever it is: the error is [ErrRefused] where asking again would not help.
func (s *Store) Try(ctx context.Context) error {
	enough := errors.New("enough")
	err := s.List(ctx, "", "", func(Object) error { return enough })
	if errors.Is(err, enough) {
		err = nil
	}
	return err
}

// Last returns the last name below prefix, empty where there is none.
func (s *Store) Last(ctx context.Context, prefix string) (last string, err error) {
	err = s.List(ctx, prefix, "", func(o Object) error { last = o.Name; return nil })
	return last, err
}
