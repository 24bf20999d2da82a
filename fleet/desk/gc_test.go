package desk

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/fleet/blob"
)

// A moving bucket has a task that goes on: when somebody looks at its checkpoint, another one has taken its place.
type moving struct {
	blob.Dir
	from, to, hash string
}

func (m *moving) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	if name != m.from {
		return m.Dir.Read(ctx, name, limit)
	}
	if err := m.Write(ctx, m.to, []byte(m.hash)); err != nil {
		return nil, err
	}
	if err := m.Delete(ctx, m.from); err != nil {
		return nil, err
	}
	return nil, fs.ErrNotExist
}

// What a checkpoint names stays, however old, also when the one that the sweep has listed goes meanwhile.
func TestSweepFollowsATaskThatGoesOn(t *testing.T) {
	ctx := context.Background()
	m := &moving{Dir: blob.Dir{Path: t.TempDir()}, from: "tasks/t/checkpoints/0001-0000000000000001",
		to: "tasks/t/checkpoints/0001-0000000000000002"}
	store, err := blob.New(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) string {
		hash, err := store.Put(ctx, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-5 * time.Hour)
		if err = os.Chtimes(filepath.Join(m.Path, "objects", hash[:2], hash[2:]), long, long); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	part, nobodys := put("a part of long ago"), put("what nothing names")
	data, err := json.Marshal(map[string]any{"files": map[string]any{"tree/a": map[string]any{"parts": []string{part}}}})
	if err != nil {
		t.Fatal(err)
	}
	m.hash = put(string(data))
	if err = store.Point(ctx, m.from, m.hash); err != nil {
		t.Fatal(err)
	}
	swept, err := Desk{Store: store}.Sweep(ctx, SweepLeast, false)
	if err != nil || swept.Objects != 1 || swept.Tasks != 0 {
		t.Errorf("%+v %v", swept, err)
	}
	for hash, stays := range map[string]bool{part: true, m.hash: true, nobodys: false} {
		if _, err := store.Get(ctx, hash); (err == nil) != stays {
			t.Errorf("%.8s: %v", hash, err)
		}
	}
}

// A content of long ago that is put again is young: its name may come when the sweep has listed the names.
func TestWhatIsPutAgainIsYoung(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	store, err := blob.New(blob.Dir{Path: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, age := range []time.Duration{time.Minute, blob.Fresh*time.Second + time.Minute, 1000 * time.Hour} {
		hash, err := store.Put(ctx, []byte("again"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "objects", hash[:2], hash[2:])
		was := time.Now().Add(-age)
		if err = os.Chtimes(path, was, was); err != nil {
			t.Fatal(err)
		}
		if _, err = store.Put(ctx, []byte("again")); err != nil {
			t.Fatal(err)
		}
		if swept, err := (Desk{Store: store}).Sweep(ctx, SweepLeast, false); err != nil || swept.Objects != 0 {
			t.Errorf("put again after %s: %+v %v", age, swept, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if young := time.Since(info.ModTime()) < age; young != (age >= blob.Fresh*time.Second) {
			t.Errorf("put again after %s it is written anew: %v", age, young)
		}
	}
}

// A name that is used already names what it named before.
func TestAnotherTaskTakesNoName(t *testing.T) {
	ctx := context.Background()
	store, err := blob.New(blob.Dir{Path: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Desk{Store: store}
	var names []string
	for _, hash := range []string{strings.Repeat("a", 64), strings.Repeat("b", 64), ""} {
		if err = d.name(ctx, "t", "rows", hash); err != nil {
			t.Fatal(err)
		}
	}
	err = store.List(ctx, "tasks/t/", "", func(o blob.Object) error { names = append(names, o.Name); return nil })
	if err != nil || strings.Join(names, " ") != "tasks/t/rows-aaaaaaaaaaaa tasks/t/rows-bbbbbbbbbbbb" {
		t.Errorf("%v %v", names, err)
	}
}
