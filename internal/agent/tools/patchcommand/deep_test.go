package patchcommand

import (
	"strings"
	"testing"
)

// TestDeepCommandsDoNotCrash looks for a patch in what would overflow the parser's
// stack, and still finds one in a long here-document.
func TestDeepCommandsDoNotCrash(t *testing.T) {
	deep := strings.Repeat("$(", 1<<20)
	for _, line := range []string{"apply_patch " + deep, "apply_patch <<EOF\n" + deep + "\nEOF",
		"apply_patch <<'EOF'\nx\nEOF\n" + deep, "apply_patch \"<<'EOF'\"\n" + deep + "\nEOF\n", "apply_patch # <<'EOF'\n" +
			deep + "\nEOF\n", "apply_patch <<'EOF' <<X\nEOF\n" + deep, "apply_patch <<-'EOF'\n\tEOF\n" + deep} {
		if _, _, ok := Find(line); ok {
			t.Errorf("%.40q is taken for a patch", line)
		}
	}
	body := "*** Begin Patch\n*** Add File: x\n" + strings.Repeat("+((({{{$$$\n", 10_000) + "*** End Patch\n"
	if text, _, ok := Find("apply_patch <<'EOF'\n" + body + "EOF"); !ok || text != body {
		t.Errorf("a long patch is not found: %v, %d bytes", ok, len(text))
	}
}
