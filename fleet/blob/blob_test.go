package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"kerf/fleet/blob"
)

// addresses are stores of each kind, the servers of S3 that are on PATH, and the one at KERF_FLEET_TEST_S3, whose bucket
// must be there.
func addresses(t *testing.T) map[string]string {
	back := s3mem.New()
	if err := back.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(gofakes3.New(back).Server())
	t.Cleanup(s.Close)
	if os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		t.Setenv("AWS_ACCESS_KEY_ID", "k")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	all := map[string]string{"directory": filepath.Join(t.TempDir(), "s"), "s3": "s3://b/deep/prefix?endpoint=" + s.URL}
	if another := os.Getenv("KERF_FLEET_TEST_S3"); another != "" {
		all["another s3"] = another
	}
	certs := certificate(t)
	for _, p := range servers {
		if _, err := exec.LookPath(p.program); err == nil {
			all[p.program] = p.start(t, certs)
		}
	}
	return all
}

// A list of more names than a store gives at once has all of them, in order.
func TestLongLists(t *testing.T) {
	ctx := context.Background()
	for kind, address := range addresses(t) {
		if kind == "directory" {
			continue // which has no pages
		}
		s, err := blob.Open(ctx, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range 1005 { // a page has 1,000
			name := fmt.Sprintf("tasks/long/%05d", i)
			if err = s.Write(ctx, name, []byte("x")); err != nil {
				t.Fatal(err)
			}
			want = append(want, name)
		}
		var got []string
		err = s.List(ctx, "tasks/long/", "", func(o blob.Object) error { got = append(got, o.Name); return nil })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d names of %d, %v", kind, len(got), len(want), err)
		}
		if last, err := s.Last(ctx, "tasks/long/"); err != nil || last != want[len(want)-1] {
			t.Errorf("%s: the last is %s, %v", kind, last, err)
		}
	}
}

func TestStores(t *testing.T) {
	ctx := context.Background()
	for kind, address := range addresses(t) {
		for name, key := range map[string][]byte{"plain": nil, "encrypted": bytes.Repeat([]byte{7}, 32)} {
			t.Run(kind+" "+name, func(t *testing.T) {
				s, err := blob.Open(ctx, address, key)
				if err != nil {
					t.Fatal(err)
				}
				for _, data := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("secret words "), 100_000)} {
					hash, err := s.Put(ctx, data)
					if err != nil {
						t.Fatal(err)
					}
					again, err := s.Put(ctx, data)
					if err != nil || again != hash {
						t.Errorf("put again: %s %v", again, err)
					}
					got, err := s.Get(ctx, hash)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("get: %d bytes of %d, %v", len(got), len(data), err)
					}
				}
				if _, err = s.Get(ctx, strings.Repeat("0", 64)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("none: %v", err)
				}
				if _, err = s.Get(ctx, "../x"); err == nil {
					t.Error("a path was taken for a hash")
				}
				for i := range 12 {
					hash, _ := s.Put(ctx, []byte{byte(i)})
					if err = s.Point(ctx, fmt.Sprintf("tasks/%s/c/%04d", name, i), hash); err != nil {
						t.Fatal(err)
					}
				}
				var seen []string
				err = s.List(ctx, "tasks/"+name+"/c/", "tasks/"+name+"/c/0004", func(o blob.Object) error {
					seen = append(seen, o.Name[len(o.Name)-2:])
					return nil
				})
				if err != nil || !slices.Equal(seen, strings.Fields("05 06 07 08 09 10 11")) {
					t.Errorf("list: %v %v", seen, err)
				}
				if last, err := s.Last(ctx, "tasks/"+name+"/c/"); err != nil || !strings.HasSuffix(last, "0011") {
					t.Errorf("last: %s %v", last, err)
				}
				if h, err := s.Follow(ctx, "tasks/nobody/c/1"); err != nil || h != "" {
					t.Errorf("no name: %q %v", h, err)
				}
				if err = errors.Join(s.Delete(ctx, "tasks/"+name+"/c/0011"), s.Delete(ctx, "tasks/"+name+"/c/0011")); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// What is not what its name says is never given out: cut, changed, swapped, another key.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	key := bytes.Repeat([]byte{1}, 32)
	for _, k := range [][]byte{nil, key} {
		s, err := blob.New(blob.Dir{Path: dir}, k)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := s.Put(ctx, []byte(strings.Repeat("words of a task ", 50)))
		if err != nil {
			t.Fatal(err)
		}
		other, _ := s.Put(ctx, []byte("another"))
		path := filepath.Join(dir, "objects", hash[:2], hash[2:])
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		swapped, _ := os.ReadFile(filepath.Join(dir, "objects", other[:2], other[2:]))
		if k != nil && bytes.Contains(good, []byte("words")) {
			t.Error("the words can be read")
		}
		bad := [][]byte{nil, good[:len(good)-1], good[:3], append(slices.Clone(good), 1), swapped}
		for i := range good {
			b := slices.Clone(good)
			b[i] ^= 1
			bad = append(bad, b)
		}
		for i, b := range bad {
			if err = os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			// zstd's frame has bits that change nothing; then the content is whole.
			if got, err := s.Get(ctx, hash); err == nil && s.Hash(got) != hash {
				t.Errorf("damage %d was given out", i)
			} else if err != nil && errors.Is(err, fs.ErrNotExist) {
				t.Errorf("damage %d is told as missing: %v", i, err)
			}
		}
		if err = os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		if k != nil {
			wrong, _ := blob.New(blob.Dir{Path: dir}, bytes.Repeat([]byte{2}, 32))
			if _, err = wrong.Get(ctx, hash); err == nil || !strings.Contains(err.Error(), "another key") {
				t.Errorf("another key: %v", err)
			}
		}
	}
	s, _ := blob.New(blob.Dir{Path: dir}, nil)
	for _, name := range []string{"../out", "/abs", "a/../../b", "x.part", ""} {
		if err := s.Write(ctx, name, nil); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

// Writers of the same name do not mix: a reader sees one of the contents whole.
func TestWritersAtTheSameTime(t *testing.T) {
	ctx := context.Background()
	d := blob.Dir{Path: t.TempDir()}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				_ = d.Write(ctx, "n", bytes.Repeat([]byte{byte('a' + i)}, 10_000))
				data, err := d.Read(ctx, "n", 1<<20)
				if err != nil || len(data) != 10_000 || len(bytes.Trim(data, string(data[:1]))) != 0 {
					t.Errorf("%d bytes, %v", len(data), err)
				}
			}
		})
	}
	all.Wait()
	left, _ := filepath.Glob(filepath.Join(d.Path, "*"))
	if len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
