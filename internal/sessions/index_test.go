package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/said"
	"kerf/internal/work/changes"
)

// store is an empty store in a directory of its own.
func store(t testing.TB) *Store {
	t.Helper()
	dir := t.TempDir()
	return Open(Options{Dir: filepath.Join(dir, "sessions"), Home: dir, Cwd: "/w",
		Redact: func(b []byte) []byte { return b },
		Price:  func(model string, u protocol.Usage) (float64, bool) { return float64(u.Output), model == "priced" },
		Ledger: func(root string, use func(changes.Reader) error) error { return errors.New("no ledger") }})
}

// recorded makes n small sessions and returns their ids, oldest first.
func recorded(t testing.TB, s *Store, n int) []string {
	t.Helper()
	var ids []string
	for i := range n {
		id := fmt.Sprintf("01990000-%04x-7000-8000-%012x", i/65536, i%65536)
		dir := s.DirOf(protocol.SessionID(id))
		w, err := rollout.Create(dir, s.Rollout())
		if err != nil {
			t.Fatal(err)
		}
		u := history.UserInput{Turn: "t", Text: fmt.Sprintf("Please mend thing %d of the parser. Number%dEnd", i, i)}
		m := history.AssistantMessage{Turn: "t", Round: 1,
			Text: "It is mended: the lexer lost a token at the end of the line."}
		if err := w.Append(rollout.Entry{Type: u.Type(), Body: u}, rollout.Entry{Type: m.Type(), Body: m}); err != nil {
			t.Fatal(err)
		}
		meta := rollout.Metadata{ID: id, Title: fmt.Sprintf("session %d", i), Cwd: "/w", Model: "m", Created: time.Now(),
			Updated: time.Now(), Turns: 1}
		b := fmt.Appendf(nil, `{"id":%q,"title":%q,"cwd":%q,"model":"m","turns":1}`, id, meta.Title, meta.Cwd)
		if err := os.WriteFile(filepath.Join(dir, "metadata.json"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// TestTheIndexIsACache: lists and searches are the same without it, with it, with
// an old one, and with a spoiled one.
func TestTheIndexIsACache(t *testing.T) {
	s := store(t)
	ctx := context.Background()
	ids := recorded(t, s, indexFrom+20)
	list := func() []protocol.SessionInfo {
		t.Helper()
		infos, err := s.List(ctx, protocol.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return infos
	}
	find := func(words string) string {
		t.Helper()
		found, err := s.Search(ctx, words, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 {
			return fmt.Sprintf("%d found", len(found))
		}
		return string(found[0].Session.ID)
	}
	first := list()
	if len(first) != len(ids) || string(first[0].ID) != ids[len(ids)-1] {
		t.Fatalf("%d sessions, first %+v", len(first), first[0])
	}
	if got := find("number7end THING"); got != ids[7] {
		t.Errorf("found %s, want %s", got, ids[7])
	}
	same := func(what string) {
		t.Helper()
		if d := cmp.Diff(first, list()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if got := find(`"number7end"`); got != ids[7] {
			t.Errorf("%s: found %s", what, got)
		}
	}
	same("with the index")
	for _, name := range []string{indexName, said.Name} {
		path := filepath.Join(s.o.Dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, b := range map[string][]byte{"cut": good[:len(good)/2],
			"spoiled": append([]byte("nonsense\n{\n"), good...), "empty": {}, "twice": append(good, good...)} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			same(what + " " + name)
			same(what + " " + name + ", once more")
		}
	}
	if err := s.Rename(ctx, ids[3], "another name"); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Find(ctx, "another name"); err != nil || string(info.ID) != ids[3] {
		t.Errorf("after a rename: %+v, %v", info, err)
	}
	l, err := s.Resume(t.Context(), protocol.SessionInfo{ID: protocol.SessionID(ids[5])})
	if err != nil {
		t.Fatal(err)
	}
	u := history.UserInput{Turn: "t2", Text: "a word that is new: xylophone"}
	if err := l.Writer.Append(rollout.Entry{Type: u.Type(), Body: u}); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got := find("xylophone"); got != ids[5] {
		t.Errorf("a word said later: %s", got)
	}
	if err := s.Delete(ctx, ids[7]); err != nil {
		t.Fatal(err)
	}
	if got := find("number7end"); got != "0 found" {
		t.Errorf("a deleted session is found: %s", got)
	}
}

// BenchmarkStore lists and searches 10,000 sessions.
func BenchmarkStore(b *testing.B) {
	s := store(b)
	ctx := context.Background()
	recorded(b, s, 10_000)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.List(ctx, protocol.Filter{}); err != nil || len(list) != 10_000 {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.List(ctx, protocol.Filter{Limit: 50}); err != nil || len(list) != 50 {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if found, err := s.Search(ctx, "number77end parser", 0); err != nil || len(found) != 1 {
				b.Fatal(len(found), err)
			}
		}
	})
}
