package store

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "objects"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func noise(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGetReturnsWhatWasPut(t *testing.T) {
	s := open(t)
	for name, data := range map[string][]byte{
		"empty":       nil,
		"small":       []byte("x"),
		"text":        bytes.Repeat([]byte("line of text\n"), 1000),
		"noise":       noise(t, 10_000),
		"large text":  bytes.Repeat([]byte("line of text\n"), 400_000),
		"large noise": noise(t, 3<<20),
	} {
		for _, put := range []func([]byte) (delta.Sum, error){s.Put, s.PutSync, s.Put} {
			sum, err := put(data)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := s.Get(sum)
			if err != nil || !bytes.Equal(got, data) || !s.Has(sum) || sum != delta.SumOf(data) {
				t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(data))
			}
			if err := s.Sync(sum); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPutGetAreInverse(t *testing.T) {
	s := open(t)
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "data"), rapid.IntRange(1, 50).Draw(t, "times"))
		sum, err := s.Put(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(sum); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("got %q, %v, want %q", got, err, data)
		}
	})
}

func TestTextIsCompressedAndSharedAndPrivate(t *testing.T) {
	s := open(t)
	data := []byte(strings.Repeat("package main\n", 10_000))
	for range 3 {
		if _, err := s.Put(data); err != nil {
			t.Fatal(err)
		}
	}
	var objects []Object
	if err := s.Walk(func(o Object) error { objects = append(objects, o); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || objects[0].Sum != delta.SumOf(data) || objects[0].Size > int64(len(data)/10) {
		t.Errorf("objects %+v", objects)
	}
	err := filepath.Walk(s.dir, func(path string, st os.FileInfo, err error) error {
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDamageIsFound(t *testing.T) {
	s := open(t)
	data := bytes.Repeat([]byte("some text\n"), 60)
	sum, err := s.Put(data)
	if err != nil {
		t.Fatal(err)
	}
	path := s.path(sum)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x40
		for _, b := range [][]byte{bad, raw[:i]} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(sum); err == nil && !bytes.Equal(got, data) {
				t.Fatalf("byte %d: damage not found", i)
			} else if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	// An object that a power failure left empty is written anew.
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if s.Has(sum) {
		t.Error("an empty object counts as held")
	}
	if _, err := s.Put(data); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(sum); err != nil || !bytes.Equal(got, data) {
		t.Error("object was not mended", err)
	}
}

func TestMissingObject(t *testing.T) {
	s := open(t)
	if _, err := s.Get(delta.Sum{1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := s.Walk(func(Object) error { t.Error("object in an empty store"); return nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Error("reading made the directory")
	}
}

// TestPutFailsWhole fails every call of a put in turn: afterwards the object is not
// there, or whole, and nothing else lies around.
func TestPutFailsWhole(t *testing.T) {
	t.Run("new", func(t *testing.T) { putFails(t, false) })
	t.Run("known", func(t *testing.T) { putFails(t, true) })
}

// putFails tries a content that the store knows, or not, and has not made durable.
func putFails(t *testing.T, known bool) {
	data := bytes.Repeat([]byte("text\n"), 200)
	for k := 1; ; k++ {
		s := open(t)
		if known {
			if _, err := s.Put(data); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		boom := errors.New("no space")
		s.Hook = func(string, string) error {
			if n++; n == k {
				return boom
			}
			return nil
		}
		sum, err := s.PutSync(data)
		if n < k {
			if err != nil || k < 2 {
				t.Fatalf("%d calls, %v", n, err)
			}
			break
		}
		if !errors.Is(err, boom) {
			t.Fatalf("call %d: got %v", k, err)
		}
		s.Hook = nil
		if s.Has(sum) {
			if got, err := s.Get(sum); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("call %d: object is not whole", k)
			}
		}
		strays, err := filepath.Glob(filepath.Join(s.dir, "*", tmpPrefix+"*"))
		if err != nil || len(strays) > 0 {
			t.Fatalf("call %d: strays %v %v", k, strays, err)
		}
	}
}

func TestWalkSweepsOldStrays(t *testing.T) {
	s := open(t)
	shard := filepath.Join(s.dir, "a")
	if err := os.MkdirAll(shard, 0o700); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(shard, tmpPrefix+"OLD"), filepath.Join(shard, tmpPrefix+"YOUNG")
	for _, p := range []string{old, young} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if err := s.Walk(func(Object) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Error("old stray is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("young stray is gone")
	}
}

func TestRemove(t *testing.T) {
	s := open(t)
	sum, err := s.Put([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Remove(sum); err != nil || s.Has(sum) {
			t.Error("still there", err)
		}
	}
}

func BenchmarkPutSync(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat([]byte("line of text\n"), 800)
	for i := 0; b.Loop(); i++ {
		data[0], data[1], data[2] = byte(i), byte(i>>8), byte(i>>16)
		if _, err := s.PutSync(data); err != nil {
			b.Fatal(err)
		}
	}
}
