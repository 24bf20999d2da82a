package boundary

import (
	"os"
	"testing"
)

// TestAPatternIsMetWholeOrNotAtAll: more matches than can be carried out, or more files than can
// be looked at, are an error.
func TestAPatternIsMetWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := matcher{base: dir, pattern: "a", found: make([]string, matchLimit-1)}
	if err := m.visit(dir+"/a", list[0], nil); err != nil || len(m.found) != matchLimit {
		t.Errorf("the last one that may match: %v", err)
	}
	if err := m.visit(dir+"/a", list[0], nil); err == nil {
		t.Error("one too many matches")
	}
	if err := m.visit(dir+"/b", list[0], nil); err != nil {
		t.Errorf("what does not match counts: %v", err)
	}
	m = matcher{base: dir, pattern: "a", seen: walkLimit - 1}
	if err := m.visit(dir+"/a", list[0], nil); err != nil {
		t.Errorf("the last one that may be looked at: %v", err)
	}
	if err := m.visit(dir+"/a", list[0], nil); err == nil {
		t.Error("one too many is looked at")
	}
}
