package moment_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/moment"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// TestFilesAreAsEntriesLeftThem keeps a copy of two files behind each entry of random
// histories in which others change files, too, and compares. What others did since the last
// entry of a file has no known moment: then the file is as that entry left it, with a note.
func TestFilesAreAsEntriesLeftThem(t *testing.T) {
	for seed := range uint64(12) {
		h := newHistory(t, rand.New(rand.NewPCG(seed, 3)))
		for range 12 {
			h.step()
		}
		for seq := 1; seq < len(h.left); seq++ {
			for _, f := range h.names {
				h.judge(seq, f)
			}
		}
	}
}

// history is a random history of two files with a copy of them behind each entry.
type history struct {
	t      *testing.T
	r      *rand.Rand
	store  *store.Store
	ledger *ledger.Ledger
	names  []string
	now    map[string]*delta.Image
	left   []map[string]string // by entry: what each file held then
	// unsure are by entry the files that others had changed since their last entry; unseen
	// are those that others changed before their first entry, with the entries before that.
	unsure []map[string]bool
	first  map[string]int
	unseen map[string][]int
}

func newHistory(t *testing.T, r *rand.Rand) *history {
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"))
	check(t, err)
	l, err := ledger.Open(dir)
	check(t, err)
	t.Cleanup(func() { _ = s.Close(); _ = l.Close() })
	return &history{t: t, r: r, store: s, ledger: l, names: []string{"/w/a", "/w/b"}, now: map[string]*delta.Image{},
		left: []map[string]string{{}}, unsure: []map[string]bool{{}}, first: map[string]int{}, unseen: map[string][]int{}}
}

func (h *history) step() {
	name := h.names[h.r.IntN(2)]
	var next *delta.Image
	if text := []string{"", "one", "two", "three"}[h.r.IntN(4)]; text != "" {
		next = delta.NewFile([]byte(text), 0o644)
		put(h.t, h.store, next)
	}
	last := len(h.left) - 1
	if h.r.IntN(2) == 0 { // others
		h.now[name] = next
		if h.first[name] == 0 {
			h.unseen[name] = append(h.unseen[name], last)
		}
		h.unsure[last][name] = true
		return
	}
	pre := h.now[name]
	if pre != nil {
		put(h.t, h.store, pre)
	}
	check(h.t, h.ledger.Append(&ledger.Entry{Time: time.Unix(int64(last), 0), Cause: ledger.CauseTool,
		Certainty: ledger.Proven, Exact: true, Changes: ledger.ChangesOf(delta.Set{{Path: name, Pre: pre, Post: next}})}))
	h.now[name] = next
	held, unsure := map[string]string{}, map[string]bool{}
	for _, f := range h.names {
		held[f], unsure[f] = text(h.now[f]), h.unsure[last][f] && f != name
	}
	if h.first[name] == 0 {
		h.first[name] = last + 1
	}
	h.left, h.unsure = append(h.left, held), append(h.unsure, unsure)
}

func (h *history) judge(seq int, f string) {
	got, err := moment.At(changes.Reader{Ledger: h.ledger, Images: h.store, Base: "/w"},
		present.Look{At: func(p string) (*delta.Image, error) { return h.now[p], nil }}, f, int64(seq))
	check(h.t, err)
	before := h.first[f] == 0 || h.first[f] > seq
	if before && slices.ContainsFunc(h.unseen[f], func(at int) bool { return at >= seq }) ||
		!before && h.unsure[seq][f] && h.left[seq][f] != string(got.Data) {
		return // nobody can know
	}
	if string(got.Data) != h.left[seq][f] || got.There != (h.left[seq][f] != "") {
		h.t.Fatalf("%s behind #%d is %q (there %t), it was %q", f, seq, got.Data, got.There, h.left[seq][f])
	}
}

// TestWhatOthersDidHasANote tells that a file was changed at a moment that nobody knows.
func TestWhatOthersDidHasANote(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"))
	check(t, err)
	defer s.Close()
	l, err := ledger.Open(dir)
	check(t, err)
	defer l.Close()
	img := func(text string) *delta.Image {
		i := delta.NewFile([]byte(text), 0o644)
		put(t, s, i)
		return i
	}
	write := func(path string, pre, post *delta.Image) {
		check(t, l.Append(&ledger.Entry{Time: time.Unix(1, 0), Cause: ledger.CauseTool, Certainty: ledger.Proven, Exact: true,
			Changes: ledger.ChangesOf(delta.Set{{Path: path, Pre: pre, Post: post}})}))
	}
	write("/w/a", nil, img("one"))
	write("/w/b", nil, img("b"))
	write("/w/a", img("by others"), img("three"))
	r := changes.Reader{Ledger: l, Images: s, Base: "/w"}
	look := present.Look{At: func(string) (*delta.Image, error) { return img("by others again"), nil }}
	for seq, want := range map[int64]string{1: "", 2: "between #1 and #3", 3: "", 4: "after #3"} {
		f, err := moment.At(r, look, "/w/a", seq)
		check(t, err)
		if (want == "") != (f.Note == "") || !strings.Contains(f.Note, want) {
			t.Errorf("behind #%d the note is %q, want %q", seq, f.Note, want)
		}
	}
}

func text(i *delta.Image) string {
	if i == nil {
		return ""
	}
	return string(i.Data)
}

func check(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func put(t interface{ Fatal(...any) }, s *store.Store, i *delta.Image) {
	_, err := s.Put(i.Data)
	check(t, err)
}
