package outline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"kerf/internal/protocol"
)

// far is a session whose outline is long enough for an index.
func far(t *testing.T, turns int) (dir string) {
	t.Helper()
	dir, w := session(t)
	record(t, w, 0, turns)
	count(t, view(dir))
	if keptBytes(dir) < 4*small/indexFrom {
		t.Fatalf("an outline of %d bytes needs no index", keptBytes(dir))
	}
	return dir
}

// TestATurnFarBackIsFoundByTheIndex spoils all lines of an outline but its last ones, and those that
// tell of one turn: that turn is found, by its id and by its number, so nothing else was read. What
// was used is told as well. Where the line itself is spoiled, all is made anew.
func TestATurnFarBackIsFoundByTheIndex(t *testing.T) {
	const turns, wanted = 400, 37
	dir := far(t, turns)
	want, err := view(dir).All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, keptName)
	spoil := func(which func(i, n int, line []byte) bool) {
		edit(t, path, func(b []byte) []byte {
			lines := bytes.Split(bytes.TrimSpace(b), []byte{'\n'})
			for i, l := range lines {
				if len(l) > 0 && which(i, len(lines), l) {
					copy(l, bytes.Repeat([]byte{'x'}, len(l)))
				}
			}
			return b
		})
	}
	name := fmt.Appendf(nil, `"id":"t%d"`, wanted)
	spoil(func(i, n int, line []byte) bool { return i < n-2*recent && !bytes.Contains(line, name) })
	id := protocol.TurnID(fmt.Sprint("t", wanted))
	v := view(dir)
	got, after, ok, err := v.Find(t.Context(), id)
	if err != nil || !ok || after != turns-1-wanted || !reflect.DeepEqual(got, want.Turns[wanted]) {
		t.Errorf("found %+v, %d after it, %t %v", got, after, ok, err)
	}
	list, older, err := v.Turns(t.Context(), turns-1-wanted, 1)
	if err != nil || !older || len(list) != 1 || !reflect.DeepEqual(list[0], want.Turns[wanted]) {
		t.Errorf("by its number: %+v %t %v", list, older, err)
	}
	if used, err := v.Used(t.Context()); err != nil || len(used) != len(want.Used) || used[0] != want.Used[0] {
		t.Errorf("used %+v: %v", used, err)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Contains(b, []byte("xxxxx")) {
		t.Error("the outline was made anew", err)
	}
	spoil(func(i, n int, line []byte) bool { return bytes.Contains(line, name) })
	if got, _, ok, err = view(dir).Find(t.Context(), id); err != nil || !ok || !reflect.DeepEqual(got, want.Turns[wanted]) {
		t.Errorf("behind a spoiled line: %+v %t %v", got, ok, err)
	}
	same(t, view(dir))
}

// TestTheIndexIsOfTheOutline takes the index away, cuts it, puts that of another session there, and
// lets the record go on: what is told is what is told without one.
func TestTheIndexIsOfTheOutline(t *testing.T) {
	const turns = 200
	other := far(t, 150)
	foreign, err := os.ReadFile(filepath.Join(other, indexName))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"gone":     func([]byte) []byte { return nil },
		"cut":      func(b []byte) []byte { return b[:len(b)/2] },
		"twice":    func(b []byte) []byte { return append(b, b...) },
		"foreign":  func([]byte) []byte { return foreign },
		"no index": func(b []byte) []byte { return bytes.Repeat([]byte("\x00[{\n"), 1000) },
		"a bit": func(b []byte) []byte {
			b[len(b)/3] ^= 1
			return b
		},
		"the end of it": func(b []byte) []byte { return b[bytes.LastIndex(bytes.TrimSpace(b), []byte{'\n'}):] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := far(t, turns)
			edit(t, filepath.Join(dir, indexName), change)
			for _, n := range []int{0, 3, turns / 2, turns - 1} {
				v := view(dir)
				id := protocol.TurnID(fmt.Sprint("t", n))
				if got, after, ok, err := v.Find(t.Context(), id); err != nil || !ok || got.ID != id || after != turns-1-n {
					t.Errorf("turn %d: %+v, %d after it, %t %v", n, got, after, ok, err)
				}
				if list, _, err := v.Turns(t.Context(), turns-1-n, 1); err != nil || len(list) != 1 || list[0].ID != id {
					t.Errorf("turn %d by its number: %+v %v", n, list, err)
				}
			}
			same(t, view(dir))
		})
	}
}
