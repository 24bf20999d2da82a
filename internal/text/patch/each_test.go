package patch_test

import (
	"slices"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
)

// TestEachFileForItself: a file where a new path needs a directory keeps only that path from being made, and
// what was to be moved there where it is. What that leaves in the way of others keeps them out as well.
func TestEachFileForItself(t *testing.T) {
	p, err := patch.Parse([]byte("*** Begin Patch\n*** Update File: from\n*** Move to: file/x\n@@\n-from\n+moved\n" +
		"*** Add File: file/y\n+y\n*** Add File: from/z\n+z\n*** Add File: beside\n+b\n*** Update File: old\n*** Move to: new\n" +
		"@@\n-old\n+new\n*** End Patch\n"))
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{}
	for _, name := range []string{"file", "from", "old"} {
		tr[name] = delta.NewFile([]byte(name+"\n"), 0o644)
	}
	set, failed := p.PlanEach(tr.reader(nil))
	if got, want := set.Paths(), []string{"beside", "old", "new"}; !slices.Equal(got, want) {
		t.Errorf("planned %q, not %q", got, want)
	}
	var paths []string
	for _, f := range failed {
		paths = append(paths, f.Path)
	}
	if want := []string{"file/x", "file/y", "from/z"}; !slices.Equal(paths, want) {
		t.Errorf("failed: %q, not %q", paths, want)
	}
	tr.commit(t, set)
	if set, err := p.Plan(tr.reader(nil)); err == nil {
		t.Errorf("together: %v", set.Paths())
	}
}
