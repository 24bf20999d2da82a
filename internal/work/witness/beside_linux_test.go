package witness_test

import (
	"strings"
	"testing"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
)

// TestWhatAnotherCommandMovesIsTold: one command makes a file in a directory, and another one of the
// same session moves that. The first one made it, and does not know where it is.
func TestWhatAnotherCommandMovesIsTold(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	for _, line := range []string{"mv d q", "mv -T --exchange d e 2>/dev/null || mv d q", "mv p q"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			b.write("d/a", "a")
			b.write("e/b", "b")
			b.write("p/d/a", "a")
			mover, cmd, out, box := b.start("while [ ! -e go ]; do sleep 0.01; done; " + line)
			r, _ := b.run("printf 1 > d/x; printf 1 > p/d/x")
			first := b.told(r)
			maker, cmd2, out2, box2 := b.start("for d in d p/d; do printf 2 >> $d/a; printf 2 > $d/y; done; : > ready; " +
				"while [ ! -e over ]; do sleep 0.01; done")
			b.await("ready")
			b.write("go", "")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			b.write("over", "")
			if err := cmd2.Wait(); err != nil {
				t.Fatalf("%v %s", err, out2)
			}
			box.Close()
			box2.Close()
			other := b.told(b.end(mover))
			made := b.told(b.end(maker))
			in := ""
			if strings.Contains(line, "mv p") {
				in = "p/"
			}
			if !strings.Contains(made, "note "+in+"d/y ("+ledger.LeftThere) || strings.Contains(made, "\nproven "+in+"d/") {
				t.Errorf("the first:\n%s\nwho made it:\n%s\nwho moved it:\n%s", first, made, other)
			}
		})
	}
}
