package changes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
	"kerf/internal/work/ledger"
)

// blamed makes a history, in which every line says who wrote it, and returns the law
// of blame that it broke, or "". Attributed counts the lines laid to Kerf.
func blamed(draw source, alone bool, fault Fault) (broken string, attributed int, w *world) {
	broken, w = live(draw, NoFault, alone)
	if broken != "" {
		return broken, 0, w
	}
	for range 6 { // something is there to blame, also when all was undone
		w.turn++
		w.kerf("tool")
		if !alone && draw(3) == 0 {
			_ = w.commit(ledger.Entry{Cause: ledger.CauseOutside}, w.change("foreign"))
		}
		if broken := w.step(); broken != "" {
			return broken, 0, w
		}
	}
	w.fault = fault
	for _, path := range w.paths() {
		if w.files[path].Kind != delta.File {
			continue // a link has no lines
		}
		content := w.files[path].Data
		origins := w.reader().blame(newBook(w.entries), path, content)
		for i, line := range lines.Split(content) {
			word, e := strings.TrimSpace(string(line)), origins[i].Entry
			switch {
			case e == nil && alone && strings.HasPrefix(word, "ours"):
				return fmt.Sprintf("%s of %s is nobody's", word, path), 0, w
			case e == nil:
			case !strings.HasPrefix(word, "ours"):
				return fmt.Sprintf("%s of %s is laid to entry %d", word, path, e.Seq), 0, w
			case !w.wrote(e.Seq, word):
				return fmt.Sprintf("%s of %s is laid to entry %d, which did not write it", word, path, e.Seq), 0, w
			default:
				attributed++
			}
		}
	}
	return "", attributed, w
}

// wrote reports whether an entry brought a word into some file, and did not bring it
// back.
func (w *world) wrote(seq int64, word string) bool {
	if len(w.entries[seq-1].Undoes) > 0 {
		return false
	}
	for _, c := range w.entries[seq-1].Set() {
		if c.Post != nil && bytes.Contains(w.images[c.Post.Sum], []byte(word+"\n")) &&
			(c.Pre == nil || !bytes.Contains(w.images[c.Pre.Sum], []byte(word+"\n"))) {
			return true
		}
	}
	return false
}

// TestLawsOfBlame: no line of others is ever laid to Kerf, and none of Kerf's to the
// wrong entry; without others every line of Kerf's is known, through moves, undo and
// redo.
func TestLawsOfBlame(t *testing.T) {
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("alone=%v", alone), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "n") }
				if broken, _, w := blamed(draw, alone, NoFault); broken != "" {
					rt.Fatalf("%s\n%s", broken, w.story())
				}
			})
			total := 0
			for seed := range uint64(50) {
				_, n, _ := blamed(rand.New(rand.NewPCG(seed, 3)).IntN, alone, NoFault)
				total += n
			}
			if total < 50 {
				t.Errorf("only %d lines are laid to Kerf: the law proves little", total)
			}
		})
	}
}

// TestLawsOfBlameCatchFaults sees each law fail when blaming is broken.
func TestLawsOfBlameCatchFaults(t *testing.T) {
	for fault, law := range map[Fault]struct {
		alone bool
		words string
	}{
		BlameOthers: {false, " is laid to entry "},
		BlameUndo:   {true, ", which did not write it"},
	} {
		caught := ""
		tries := 0
		for ; tries < 20000 && !strings.Contains(caught, law.words); tries++ {
			caught, _, _ = blamed(rand.New(rand.NewPCG(uint64(tries), 5)).IntN, law.alone, fault)
		}
		if !strings.Contains(caught, law.words) {
			t.Errorf("fault %d is not caught", fault)
			continue
		}
		t.Logf("fault %d caught after %d histories: %s", fault, tries, caught)
	}
}

// TestBlameFollowsMoves: a line that was written under the old name is known under the
// new one, and a blame that forgets moves does not know it.
func TestBlameFollowsMoves(t *testing.T) {
	for _, fault := range []Fault{NoFault, BlameNoMoves} {
		w := newWorld(func(int) int { return 0 }, fault, true)
		old, text := w.files["/w/a"], delta.NewFile([]byte("ours\none\n"), 0o644)
		change := func(set delta.Set) {
			t.Helper()
			if err := w.commit(ledger.Entry{Session: "s", Turn: "t1", Cause: ledger.CauseTool}, set); err != nil {
				t.Fatal(err)
			}
		}
		change(delta.Set{{Path: "/w/a", Pre: old, Post: text}})
		change(delta.Set{{Path: "/w/a", Pre: text, To: "/w/n"}, {Path: "/w/n", Post: text, From: "/w/a"}})
		e := w.reader().blame(newBook(w.entries), "/w/n", text.Data)[0].Entry
		if known := e != nil && e.Seq == 1; known != (fault == NoFault) {
			t.Errorf("fault %d: laid to %+v", fault, e)
		}
	}
}

// TestLinesThatAnUndoOfSeveralBroughtBack are laid to who wrote them first, also where the oldest
// change that was undone is of another file.
func TestLinesThatAnUndoOfSeveralBroughtBack(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	edit := func(turn, path, text string) {
		t.Helper()
		now := w.files[path]
		if err := w.commit(ledger.Entry{Session: "s", Turn: turn, Call: turn, Cause: ledger.CauseTool},
			delta.Set{{Path: path, Pre: now, Post: delta.NewFile([]byte(text), now.Mode)}}); err != nil {
			t.Fatal(err)
		}
	}
	edit("t1", "/w/a", "one\nours\nthree\n")
	edit("t2", "/w/b", "other\n")
	edit("t2", "/w/a", "one\nlater\nthree\n")
	p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t2"}, w.look())
	if err == nil {
		err = w.do(p)
	}
	if err != nil || p.Problem != "" {
		t.Fatal(err, p.Problem)
	}
	var got []int64
	for _, o := range w.reader().blame(newBook(w.entries), "/w/a", w.files["/w/a"].Data) {
		if o.Entry == nil {
			got = append(got, 0)
		} else {
			got = append(got, o.Entry.Seq)
		}
	}
	if fmt.Sprint(got) != "[0 1 0]" {
		t.Errorf("the lines are laid to %v", got)
	}
}

// TestBlameOfWhatIsNotKept: lines from before a content that is gone, or that was a link's, are of
// nobody knows whom.
func TestBlameOfWhatIsNotKept(t *testing.T) {
	w := newWorld(func(int) int { return 0 }, NoFault, true)
	commit := func(path string, post *delta.Image) {
		t.Helper()
		if err := w.commit(ledger.Entry{Session: "s", Turn: "t", Call: "c", Cause: ledger.CauseTool},
			delta.Set{{Path: path, Pre: w.files[path], Post: post}}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(path, text string) (got []string) {
		for _, o := range w.reader().blame(newBook(w.entries), path, []byte(text)) {
			switch {
			case o.Unknown:
				got = append(got, "unknown")
			case o.Entry == nil:
				got = append(got, "nobody's")
			default:
				got = append(got, fmt.Sprint(o.Entry.Seq))
			}
		}
		return got
	}
	commit("/w/a", delta.NewFile([]byte("one\ntwo\nours\n"), 0o644))
	first := w.files["/w/a"].Sum
	commit("/w/a", delta.NewFile([]byte("one\ntwo\nours\nlater\n"), 0o644))
	text := "one\ntwo\nours\nlater\n"
	if got := strings.Join(told("/w/a", text), " "); got != "nobody's nobody's 1 2" {
		t.Errorf("all is kept: %s", got)
	}
	delete(w.images, first)
	if got := strings.Join(told("/w/a", text), " "); got != "unknown unknown unknown unknown" {
		t.Errorf("without what the second found: %s", got)
	}
	commit("/w/l", delta.NewSymlink("target"))
	if got := strings.Join(told("/w/l", "target"), " "); got != "unknown" {
		t.Errorf("a file where a link was made: %s", got)
	}
}

// TestHalfOfAMoveIsLeftWithTheOther: nobody saw who took a file away, and the command put it
// elsewhere. To take that back alone would remove the only copy.
func TestHalfOfAMoveIsLeftWithTheOther(t *testing.T) {
	for _, fault := range []Fault{NoFault, TakeUnseen} {
		w := newWorld(func(int) int { return 0 }, fault, true)
		a := w.files["/w/a"]
		commit := func(certainty string, c delta.Change) {
			t.Helper()
			if err := w.commit(ledger.Entry{Session: "s", Turn: "t", Call: "c", Cause: ledger.CauseCommand, Certainty: certainty},
				delta.Set{c}); err != nil {
				t.Fatal(err)
			}
		}
		commit(ledger.Unproven, delta.Change{Path: "/w/a", Pre: a, To: "/w/z"})
		commit(ledger.Proven, delta.Change{Path: "/w/z", Post: a, From: "/w/a"})
		p, err := w.reader().plan(newBook(w.entries), Choice{Turn: "t"}, w.look())
		if err != nil {
			t.Fatal(err)
		}
		if left := len(p.Left) == 2 && p.Problem != "" && len(p.Set) == 0; left != (fault == NoFault) {
			t.Errorf("with fault %d: left %v, %q, %d changes", fault, p.Left, p.Problem, len(p.Set))
		}
		if fault != NoFault {
			continue
		}
		p, err = w.reader().plan(newBook(w.entries), Choice{Turn: "t", Unproven: true}, w.look())
		if err != nil || p.Problem != "" || len(p.Set) != 2 {
			t.Errorf("asked for: %v, %+v", err, p)
		}
	}
}
