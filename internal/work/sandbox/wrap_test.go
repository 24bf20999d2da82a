package sandbox

import (
	"kerf/internal/work/boundary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFullAccessRunsTheCommandAsItIs(t *testing.T) {
	box, err := Wrap(t.Context(), boundary.Plan{Mode: boundary.FullAccess, Cwd: "/nowhere"}, []string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"true"}, box.Argv); diff != "" || box.Files != nil || box.Confined || box.Close() != nil {
		t.Error(diff, box)
	}
}

func TestDenied(t *testing.T) {
	for _, c := range []struct {
		output string
		code   int
		want   bool
	}{
		{"touch: cannot touch 'x': Read-only file system", 1, true}, {"Operation not permitted", 0, false}, {"", 159, true},
		{"bash: foo: command not found", 127, false}, {"mkdir: Permission denied", 1, true}, {"2 tests failed", 2, false}, {"", 126, false},
	} {
		if got := Denied([]byte(c.output), c.code); got != c.want {
			t.Errorf("%q, %d: got %v", c.output, c.code, got)
		}
	}
}
