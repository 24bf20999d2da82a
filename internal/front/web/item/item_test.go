package item

import (
	"fmt"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// TestManyFilesAreCounted changes thousands of files with one command: the item names some of them, and
// those that agents or editors obey in any case.
func TestManyFilesAreCounted(t *testing.T) {
	var list []protocol.PathChange
	for n := range 5000 {
		list = append(list, protocol.PathChange{Path: fmt.Sprintf("/w/%d", n), ControlFile: n == 4000})
	}
	v := Of(protocol.Item{Body: protocol.Command{Command: "make", Changes: list}})
	named := v.Listed
	if len(v.Changes) != 5000 || len(named) != maxListed+1 || named[maxListed].Path != "/w/4000" {
		t.Errorf("%d of %d are named: %+v", len(named), len(v.Changes), named[len(named)-1])
	}
	if v = Of(protocol.Item{Body: protocol.FileChange{Changes: list}}); len(v.Title) > 100*20 || len(v.Listed) != maxListed+1 {
		t.Errorf("the title has %d bytes", len(v.Title))
	}
}

// TestWhatWasNotReadIsCounted leaves out bytes of the record of an output: they are counted with those
// that the page has no room for.
func TestWhatWasNotReadIsCounted(t *testing.T) {
	long := strings.Repeat("x", maxOutput) + strings.Repeat("y", 1000)
	for text, cut := range map[string]int{long: 1000, "short": 0} {
		v := Of(protocol.Item{Body: protocol.Command{Output: text}})
		if v.Cut != (cut > 0) {
			t.Errorf("%d bytes: cut %t", len(text), v.Cut)
		}
		v.Leave(5 << 20)
		want := fmt.Sprintf("… %d bytes before this are not shown\n", 5<<20+cut)
		if !strings.HasPrefix(v.Output, want) || strings.Count(v.Output, "not shown") != 1 || !v.Cut {
			t.Errorf("%.80q, want %q", v.Output, want)
		}
	}
}
