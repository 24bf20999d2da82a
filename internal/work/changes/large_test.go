package changes

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// TestDiffOfWhatIsNotKept has files whose contents were never stored, because of their
// size or for another reason, beside an ordinary one: the diff names all of them.
func TestDiffOfWhatIsNotKept(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text := delta.NewFile([]byte("text\n"), 0o644)
	if _, err := s.Put(text.Data); err != nil {
		t.Fatal(err)
	}
	unkept := delta.NewFile(bytes.Repeat([]byte("x\n"), 3<<20), 0o644)
	huge := delta.NewFile(nil, 0o644)
	huge.Size, huge.Sum = ShownLimit+1, delta.SumOf([]byte("huge"))
	set := delta.Set{{Path: "/w/a", Post: text}, {Path: "/w/big", Pre: unkept}, {Path: "/w/huge", Pre: text, Post: huge}}
	e := &ledger.Entry{Cause: ledger.CauseCommand, Session: "s", Turn: "t", Changes: ledger.ChangesOf(set)}
	if err := l.Append(e); err != nil {
		t.Fatal(err)
	}
	got, err := Reader{Ledger: l, Images: s, Base: "/w"}.LastTurn()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+text", "Binary files a/big and /dev/null differ", "Binary files a/huge and b/huge differ"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the diff has no %q:\n%s", want, got)
		}
	}
	// A damaged content is not passed over.
	if _, err := (Reader{Ledger: l, Images: damaged{}, Base: "/w"}).LastTurn(); err == nil {
		t.Error("damage is not told")
	}
}

type damaged struct{}

func (damaged) Verify(delta.Sum) error { return fmt.Errorf("x: %w", store.ErrDamaged) }

func (damaged) Get(delta.Sum) ([]byte, error) { return nil, fmt.Errorf("x: %w", store.ErrDamaged) }
