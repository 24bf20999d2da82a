package host

import (
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/protocol"
)

// TestFilesAllowedForTheSession: a change of files that was allowed for the session
// is not asked about again, in whatever way they change; other files are.
func TestFilesAllowedForTheSession(t *testing.T) {
	put := func(name, text string) [2]string {
		return [2]string{"write_file", `{"file_path": "` + name + `", "content": "` + text + `"}`}
	}
	h := scripted(t, calling(put("a.txt", "1"), put("a.txt", "2"),
		[2]string{"edit_file", `{"file_path": "a.txt", "old_string": "2", "new_string": "3"}`}, put("b.txt", "1"),
		[2]string{"apply_patch", `{"input": "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: c.txt\n+x\n*** End Patch"}`}))
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyUntrusted,
		Sandbox: protocol.SandboxWorkspace}})
	path := func(name string) string { return filepath.Join(h.Config.Cwd, name) }
	a := l.asked()
	if a.Change == nil || a.Change.Changes[0].Path != path("a.txt") {
		t.Fatalf("asked about %+v", a.Change)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.ForSession})
	a = l.question()
	if a.Change == nil || a.Change.Changes[0].Path != path("b.txt") {
		t.Fatalf("asked about %+v", a.Change)
	}
	if b, _ := os.ReadFile(path("a.txt")); string(b) != "3" {
		t.Errorf("a.txt has %q", b)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	a = l.question() // one path of it was not allowed
	if len(a.Change.Changes) != 2 {
		t.Fatalf("asked about %+v", a.Change)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Deny})
	l.until(is[protocol.TurnCompleted])
	if _, err := os.Stat(path("c.txt")); err == nil {
		t.Error("c.txt was written")
	}
}
