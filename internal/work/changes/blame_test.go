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
func blamed(draw source, alone bool) (broken string, attributed int, w *world) {
	broken, w = live(draw, NoFault, alone)
	if broken != "" {
		return broken, 0, w
	}
	for range 6 { // something is there to blame, also when all was undone
		w.turn++
		w.kerf("tool")
		if !alone && draw(3) == 0 {
			_ = w.commit(ledger.Entry{Cause: ledger.CauseOutside}, w.deed("foreign"))
		}
	}
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

// wrote reports whether an entry brought a word into some file.
func (w *world) wrote(seq int64, word string) bool {
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
				if broken, _, w := blamed(draw, alone); broken != "" {
					rt.Fatalf("%s\n%s", broken, w.story())
				}
			})
			total := 0
			for seed := range uint64(50) {
				_, n, _ := blamed(rand.New(rand.NewPCG(seed, 3)).IntN, alone)
				total += n
			}
			if total < 50 {
				t.Errorf("only %d lines are laid to Kerf: the law proves little", total)
			}
		})
	}
}
