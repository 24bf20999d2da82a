package executor

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"kerf/internal/agent/turn"
)

// TestATurnDoesNotHoldContents: what a turn keeps in memory of its edits does not grow
// with the size of the file, and its diff is right all the same.
func TestATurnDoesNotHoldContents(t *testing.T) {
	const edits, size = 24, 1 << 20
	b := newBench(t, nil)
	half := strings.Repeat("a line that says little\n", size/2/24)
	b.write("f", half+"line 0\n"+half)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	edit := func(k int) {
		b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": fmt.Sprintf("line %d\n", k),
			"new_string": fmt.Sprintf("line %d\n", k+1)}), true)
	}
	edit(0)
	before := heap()
	for k := 1; k < edits; k++ {
		edit(k)
	}
	if grown := int64(heap()) - int64(before); grown > 4*size {
		t.Errorf("%d edits of %d bytes left %d bytes in memory", edits, size, grown)
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || !in.Diff.Exact || !strings.Contains(in.Diff.Diff, fmt.Sprintf("-line 0\n+line %d\n", edits)) {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}
