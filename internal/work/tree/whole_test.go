package tree

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/text/delta"
)

// TestLargeContentsAreMeasured: without a limit, and for an image that is not loaded, what is larger
// than the tree has whole is not loaded, and the version is that of its content.
func TestLargeContentsAreMeasured(t *testing.T) {
	dir := t.TempDir()
	tr := openTree(t, Options{Roots: []string{dir}, Whole: 10})
	d, err := tr.OpenDir(tr.Roots()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, text := range []string{"", "ten bytes.", "eleven byte", strings.Repeat("more than one part ", 40_000)} {
		write(t, filepath.Join(dir, "f"), text)
		want := delta.NewFile([]byte(text), 0o644)
		for _, c := range []struct {
			limit int64
			img   *delta.Image
			whole bool
		}{
			{0, nil, false}, {1 << 20, nil, true}, {1 << 20, &delta.Image{Version: want.Version}, false}, {0, want, true},
			{1 << 20, delta.NewFile([]byte("another"), 0o644), true},
		} {
			e, err := d.LookFor("f", c.limit, c.img)
			if err != nil || e.Image.Version != want.Version {
				t.Fatalf("%d bytes, limit %d: %+v, %v", len(text), c.limit, e, err)
			}
			if loaded := c.whole || len(text) <= 10; e.Image.Loaded != loaded || loaded && string(e.Image.Data) != text {
				t.Errorf("%d bytes, limit %d: loaded %v", len(text), c.limit, e.Image.Loaded)
			}
			if e, ok := d.Known("f", e.Image); ok && e.Image.Version != want.Version {
				t.Errorf("%d bytes: known as %+v", len(text), e.Image.Version)
			}
		}
		if same, err := d.Holds("f", want.Version); !same || err != nil {
			t.Errorf("%d bytes: not what it holds, %v", len(text), err)
		}
	}
}

// TestAFileThatGrowsIsReadToItsEnd, or refused, whatever was told of its size.
func TestAFileThatGrowsIsReadToItsEnd(t *testing.T) {
	dir := t.TempDir()
	text := []byte("twenty bytes of text")
	write(t, filepath.Join(dir, "f"), string(text))
	tr := openTree(t, Options{Roots: []string{dir}})
	d, err := tr.OpenDir(tr.Roots()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range []struct {
		limit, whole, told int64
		loaded, more       bool
	}{
		{100, 10, 5, false, false}, {100, 10, 50, false, false}, {100, 30, 5, true, false}, {100, 30, 50, false, false},
		{15, 10, 5, false, true}, {15, 10, 12, false, true}, {10, 10, 5, true, true}, {math.MaxInt64 - 1, 20, 20, true, false},
	} {
		f, err := d.h.OpenRead("f")
		if err != nil {
			t.Fatal(err)
		}
		img, err := wanted{limit: c.limit, whole: c.whole}.read(f, c.told, 0o644)
		_ = f.Close()
		if errors.Is(err, errMore) != c.more || !c.more && (err != nil || img.Version != delta.NewFile(text, 0o644).Version) {
			t.Errorf("%+v: %+v, %v", c, img, err)
		}
		if img.Loaded != c.loaded || c.loaded && !c.more && !bytes.Equal(img.Data, text) {
			t.Errorf("%+v: loaded %v", c, img.Loaded)
		}
	}
}

// TestStageAndWriteTakeContentsFromElsewhere: an image that is not loaded gets its content from where it
// is kept, and a content that is not what its sum says is an error.
func TestStageAndWriteTakeContentsFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	tr := openTree(t, Options{Roots: []string{dir}})
	d, err := tr.OpenDir(tr.Roots()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	img := &delta.Image{Version: delta.NewFile([]byte("some content"), 0o644).Version}
	from := shelf{img.Sum: "some content"}
	if _, err := d.Stage("new", img, StageOptions{From: from, Durable: true}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "old"), "an older content that is longer")
	if _, err := d.WriteInPlace("old", img, nil, true, from); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "old"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != "some content" {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, err := d.Stage("lost", img, StageOptions{From: shelf{}}); !errors.Is(err, errLost) {
		t.Errorf("what is lost is staged: %v", err)
	}
	if _, err := d.WriteInPlace("old", img, nil, true, shelf{}); !errors.Is(err, errLost) {
		t.Errorf("what is lost is written: %v", err)
	}
	for got, torn := range map[string]bool{"some content": true, "other": false, "sometcontent": false, "some c": true, "": true} {
		write(t, filepath.Join(dir, "old"), got)
		if is, err := d.Torn("old", img, delta.NewFile(nil, 0o644), from); err != nil || is != torn {
			t.Errorf("%q may be torn: %v, %v", got, is, err)
		}
	}
	if _, err := d.Torn("old", img, img, shelf{}); !errors.Is(err, errLost) {
		t.Errorf("torn, without contents: %v", err)
	}
}

// shelf has contents by their sums.
type shelf map[delta.Sum]string

var errLost = errors.New("lost")

func (s shelf) Open(sum delta.Sum) (io.ReadCloser, error) {
	text, ok := s[sum]
	if !ok {
		return nil, errLost
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (s shelf) CopyTo(sum delta.Sum, f *os.File) error {
	r, err := s.Open(sum)
	if err == nil {
		_, err = io.Copy(f, r)
	}
	return err
}
