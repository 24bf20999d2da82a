package scan

import (
	"os"
	"strings"
	"testing"
)

// TestMoveWithAnEditIsAMove: one command moves files and edits them. What is alike goes
// together, whatever the names; what is not stays apart.
func TestMoveWithAnEditIsAMove(t *testing.T) {
	text := func(what string, n int) string {
		return strings.Repeat(what+" says something\n", n) + "the end of " + what + "\n"
	}
	w := newWorld(t, Options{}, "a="+text("a", 20), "b="+text("b", 20), "c="+text("c", 20), "d=short")
	s0 := w.snap()
	base := w.tree()
	w.must(os.Remove(w.at("a")))
	w.must(os.Remove(w.at("b")))
	w.must(os.Remove(w.at("c")))
	w.must(os.Remove(w.at("d")))
	w.plant("x/b="+text("a", 19), "x/a="+text("b", 21), "x/c="+text("other", 20), "x/d=nothing like it")
	set, gaps := w.diff(s0, w.snap())
	w.reproduces(base, w.tree(), set, gaps)
	got := map[string]string{}
	for _, c := range set {
		if c.To != "" {
			got[strings.TrimPrefix(c.Path, w.at("")+"/")] = strings.TrimPrefix(c.To, w.at("")+"/")
		}
		if c.From != "" && c.Pre != nil {
			t.Errorf("%s was there and has come from %s", c.Path, c.From)
		}
	}
	if len(got) != 2 || got["a"] != "x/b" || got["b"] != "x/a" {
		t.Errorf("moves %v", got)
	}
}
