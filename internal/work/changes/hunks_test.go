package changes_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// TestSingleEditsAreTakenBack holds the laws of PlanEdits over random edits: what
// was not named stays, what others wrote since stays, and the turn as a whole can
// still be undone and gives the file as it was before.
func TestSingleEditsAreTakenBack(t *testing.T) {
	d := newDisk(t, 3)
	r := changes.Reader{Ledger: d.work.Ledger, Images: d.work.Store, Base: d.root}
	look := present.In(d.work.Tree, d.root)
	for n := range 25 {
		name := fmt.Sprintf("f%d", n)
		pre, post := edited(d.r)
		if n%5 == 0 {
			d.write(t, name, pre)
		} else {
			d.write(t, name, strings.ReplaceAll(pre, "\n", "\r\n"))
			pre, post = strings.ReplaceAll(pre, "\n", "\r\n"), strings.ReplaceAll(post, "\n", "\r\n")
		}
		path, turn, call := d.path(name), fmt.Sprintf("t%d", n), fmt.Sprintf("c%d", n)
		before, err := look.At(path)
		must(t, err)
		origin := txn.Origin{Session: "s", Turn: turn, Call: call}
		_, err = d.work.Commit(t.Context(),
			delta.Set{{Path: path, Pre: before, Post: delta.NewFile([]byte(post), before.Mode)}},
			txn.CommitOptions{Origin: origin, Cause: ledger.CauseTool, Real: true})
		must(t, err)
		all := diff.Lines([]byte(pre), []byte(post))
		if len(all) == 0 {
			continue
		}
		var off []int
		var keep []diff.Edit
		for k, e := range all {
			if d.r.IntN(2) == 0 {
				off = append(off, k)
			} else {
				keep = append(keep, e)
			}
		}
		if len(off) == 0 {
			off, keep = []int{0}, all[1:]
		}
		want, err := diff.Apply([]byte(pre), keep)
		must(t, err)
		foreign := ""
		if n%2 == 0 { // somebody writes at the end
			foreign = "\nsomebody else\n"
			d.write(t, name, post+foreign)
		}
		c := changes.Choice{Session: "s", Turn: turn, Call: call}
		part := diff.Part{Edits: off}
		if n%3 == 0 { // the same, named by its lines
			part = diff.Part{Lines: linesOf([]byte(pre), all, off)}
		}
		plan, err := r.PlanEdits(c, map[string]diff.Part{path: part}, look)
		must(t, err)
		if plan.Problem != "" {
			t.Fatalf("%s: %s", name, plan.Problem)
		}
		_, err = plan.Commit(t.Context(), d.work, txn.Origin{Session: "s", Turn: turn, Call: "u" + call, Tool: "undo"})
		must(t, err)
		d.holds(t, name, string(want)+foreign)

		again, err := r.PlanEdits(c, map[string]diff.Part{path: {Edits: off}}, look)
		must(t, err)
		if again.Problem == "" {
			t.Errorf("%s: what was taken back is taken back again: %+v", name, again.Files)
		}
		whole, err := r.Plan(changes.Choice{Session: "s", Turn: turn}, look)
		must(t, err)
		_, err = whole.Commit(t.Context(), d.work, txn.Origin{Session: "s"})
		must(t, err)
		d.holds(t, name, pre+foreign)
	}
}

// linesOf are the lines of some edits, as they are counted in the diff.
func linesOf(pre []byte, all []diff.Edit, edits []int) []int {
	var out []int
	n := 0
	for k, e := range all {
		lines := strings.Count(string(pre[e.Start:e.End]), "\n") + strings.Count(string(e.New), "\n")
		for i := range lines {
			if slices.Contains(edits, k) {
				out = append(out, n+i)
			}
		}
		n += lines
	}
	return out
}

func (d *disk) holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(d.path(name))
	must(t, err)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", name, diff)
	}
}

// edited makes a text, and the same with some lines changed, far enough from its
// end that somebody else can write there.
func edited(r *rand.Rand) (pre, post string) {
	var a, b strings.Builder
	for i := range 40 {
		line := fmt.Sprintf("line %d\n", i)
		a.WriteString(line)
		switch {
		case i%4 == 0 && i < 34 && r.IntN(2) == 0:
			fmt.Fprintf(&b, "line %d is new\nand one more\n", i)
		case i%4 == 1 && i < 34 && r.IntN(4) == 0:
		default:
			b.WriteString(line)
		}
	}
	return a.String(), b.String()
}

func TestSingleEditsThatCannotBeTakenBack(t *testing.T) {
	d := newDisk(t, 4)
	r := changes.Reader{Ledger: d.work.Ledger, Images: d.work.Store, Base: d.root}
	look := present.In(d.work.Tree, d.root)
	before, err := look.At(d.path("a"))
	must(t, err)
	set := delta.Set{{Path: d.path("a"), Pre: before, Post: delta.NewFile([]byte("one\n2\nthree\n"), before.Mode)},
		{Path: d.path("new"), Post: delta.NewFile([]byte("new\n"), 0o644)}}
	_, err = d.work.Commit(t.Context(), set,
		txn.CommitOptions{Origin: txn.Origin{Session: "s", Turn: "t", Call: "c"}, Cause: ledger.CauseTool, Real: true})
	must(t, err)
	d.write(t, "a", "one\nzwei\nthree\n")
	for _, x := range []struct {
		path string
		edit int
		want string
	}{
		{"a", 1, "a: there are 1 edits, and no edit 2"},
		{"new", 0, "new: the call created or deleted it; undo the whole file"},
		{"b", 0, "nothing to undo"},
		{"a", 0, "conflict in " + d.path("a") + " (line 2 was changed since)"},
	} {
		plan, err := r.PlanEdits(changes.Choice{Session: "s", Turn: "t", Call: "c"},
			map[string]diff.Part{d.path(x.path): {Edits: []int{x.edit}}}, look)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = plan.Problem
		}
		if got != x.want {
			t.Errorf("%s edit %d: %q, want %q", x.path, x.edit, got, x.want)
		}
	}
	d.holds(t, "a", "one\nzwei\nthree\n")
}
