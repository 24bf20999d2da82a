package said

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sessions makes records of sessions whose turns say numbers, of so many turns each, and returns their
// ids, newest first.
func sessions(t *testing.T, turns ...int) (dir string, ids []string) {
	t.Helper()
	dir = t.TempDir()
	for n, count := range turns {
		id := fmt.Sprintf("s%02d", n)
		ids = append(ids, id)
		var b strings.Builder
		for k := range count {
			fmt.Fprintf(&b, `{"seq":%d,"timestamp":"2026-01-01T00:00:00.000Z","type":"user_input","prev":"","turn_id":"t%d","text":"number%d of %s."}`+"\n",
				2*k+1, k, k, id)
			fmt.Fprintf(&b, `{"seq":%d,"timestamp":"2026-01-01T00:00:00.000Z","type":"tool_call","prev":"","turn_id":"t%d","result":"%s number%d"}`+"\n",
				2*k+2, k, strings.Repeat("x", 100), k)
		}
		write(t, record(dir, id), b.String())
	}
	slices.Reverse(ids)
	return dir, ids
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func places(list []Place) (all []string) {
	for _, p := range list {
		all = append(all, p.ID+" "+string(p.Turn))
	}
	return all
}

// TestFoundInParts looks for words in records that nobody has read: what was found is told while the
// rest is read, the newest message of each session counts in the end, and the list is that of a search
// that needs to read nothing.
func TestFoundInParts(t *testing.T) {
	dir, ids := sessions(t, 3, 400, 1, 50)
	var told []string
	var last Progress
	q := Query{Dir: dir, IDs: ids, Words: "number", Piece: 4 << 10, Tell: func(list []Place, p Progress) {
		if p.Read < last.Read || p.Read > p.Size {
			t.Errorf("%+v, then %+v", last, p)
		}
		last = p
		told = append(told, fmt.Sprint(places(list)))
	}}
	list, err := Find(t.Context(), q)
	want := []string{"s03 t49", "s02 t0", "s01 t399", "s00 t2"}
	if d := cmp.Diff(want, places(list)); err != nil || d != "" {
		t.Error(err, d)
	}
	if last.Read != last.Size || last.Size == 0 {
		t.Errorf("in the end %+v", last)
	}
	if told = slices.Compact(told); len(told) < 10 || !strings.HasPrefix(told[1], "[s03 ") {
		t.Errorf("told %d times: %.300q", len(told), told)
	}
	q.Limit, last = 2, Progress{}
	list, err = Find(t.Context(), q)
	if d := cmp.Diff(want[:2], places(list)); err != nil || d != "" {
		t.Error(err, d)
	}
	write(t, record(dir, "s00"), `{"seq":900,"timestamp":"","type":"assistant_message","prev":"","turn_id":"t9","text":"Number 9"}`+"\n")
	q.Limit, last = 0, Progress{}
	list, err = Find(t.Context(), q)
	if d := cmp.Diff(append(want[:3:3], "s00 t9"), places(list)); err != nil || d != "" {
		t.Error(err, d)
	}
}

// TestWhatAnEndedSearchReadIsKept ends searches soon after they began: each goes on where the one
// before ended, and the last one finds what the first would have.
func TestWhatAnEndedSearchReadIsKept(t *testing.T) {
	dir, ids := sessions(t, 500)
	was := int64(-1)
	for n := 0; ; n++ {
		if n > 500 {
			t.Fatal("it never ends")
		}
		c, known := open(dir), int64(0)
		if k := c.all["s00"]; k != nil {
			known = k.upTo
		}
		c.close()
		if known <= was {
			t.Fatalf("search %d knows %d bytes, the one before %d", n, known, was)
		}
		was = known
		ctx, stop := context.WithCancel(t.Context())
		list, err := Find(ctx, Query{Dir: dir, IDs: ids, Words: "number3 s00", Piece: 8 << 10, Tell: func(_ []Place, p Progress) {
			if p.Read > known {
				stop()
			}
		}})
		stop()
		if err == nil {
			if got := places(list); len(got) != 1 || n < 5 {
				t.Errorf("after %d searches: %q", n, got)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}

// TestLongLinesOfOthersArePassedOver has an output of some megabytes between two messages, and a
// message that is as long.
func TestLongLinesOfOthersArePassedOver(t *testing.T) {
	dir, ids := sessions(t, 2)
	long := strings.Repeat("y", 3<<20)
	for _, kind := range []string{"tool_call", "user_input"} {
		write(t, record(dir, "s00"), fmt.Sprintf(`{"seq":9,"timestamp":"","type":"%s","prev":"","turn_id":"%s","text":"zebra %s"}`+"\n", kind, kind, long))
		list, err := Find(t.Context(), Query{Dir: dir, IDs: ids, Words: "zebra"})
		if err != nil || len(list) != map[string]int{"user_input": 1}[kind] {
			t.Errorf("%s: %q %v", kind, places(list), err)
		}
	}
	st, err := os.Stat(filepath.Join(dir, Name))
	if err != nil || st.Size() > 4<<20 {
		t.Errorf("the cache has %d bytes: %v", st.Size(), err)
	}
}
