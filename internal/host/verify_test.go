package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// TestVerifyNamesThePlace flips, cuts, inserts, doubles and swaps each record of a
// real session: verify names the line, or the one behind it, which no longer fits.
func TestVerifyNamesThePlace(t *testing.T) {
	h := scripted(t, caller("write_file", map[string]any{"file_path": "a.txt", "content": "one\n"}))
	id := talk(t, h, protocol.OpenOptions{}, "hello", "change it", "and on")
	path := filepath.Join(h.SessionsDir(), string(id), "rollout.jsonl")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info := protocol.SessionInfo{ID: id, Cwd: h.Config.Cwd}
	verify := func() error {
		_, err := h.Sessions().Verify(info, false)
		return err
	}
	if r, err := h.Sessions().Verify(info, true); err != nil || len(r.Faults) > 0 || r.Changes != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(good, []byte("\n")), []byte("\n"))
	if len(lines) < 10 {
		t.Fatalf("only %d records", len(lines))
	}
	lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
	join := func(parts ...[][]byte) []byte {
		var all []byte
		for _, p := range parts {
			all = append(all, bytes.Join(p, nil)...)
		}
		return all
	}
	for i := range lines {
		flipped := bytes.Clone(lines[i])
		at := bytes.Index(flipped, []byte(`"type":"`)) + 9
		flipped[at] ^= 1
		for what, b := range map[string][]byte{
			"flip":   join(lines[:i], [][]byte{flipped}, lines[i+1:]),
			"cut":    join(lines[:i], [][]byte{lines[i][:len(lines[i])/2]}),
			"gone":   join(lines[:i], lines[i+1:]),
			"insert": join(lines[:i], [][]byte{[]byte(`{"seq":1,"timestamp":"2026-01-01T00:00:00.000Z","type":"event","prev":""}` + "\n")}, lines[i:]),
			"double": join(lines[:i+1], lines[i:]),
			"swap":   join(lines[:max(0, i-1)], lines[i:i+1], lines[max(0, i-1):i], lines[i+1:]),
		} {
			if what == "swap" && i == 0 {
				continue
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			err := verify()
			if err == nil || !near(err.Error(), i+1) {
				t.Errorf("%s of record %d: %v", what, i+1, err)
			}
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	// A diff that is not the one between the contents is named, too.
	name := filepath.Join(h.SessionsDir(), string(id), "diffs", "001.diff")
	if err := os.WriteFile(name, []byte("diff --git a/a.txt b/a.txt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := h.Sessions().Verify(info, false)
	if err != nil || len(r.Faults) != 1 ||
		!strings.Contains(r.Faults[0], "diffs/001.diff is not the diff of the change of") {
		t.Errorf("a forged diff: %v, %q", err, r.Faults)
	}
}

// near reports whether a message names the line, or one beside it.
func near(message string, line int) bool {
	for _, n := range []int{line, line + 1, line - 1} {
		if strings.Contains(message, fmt.Sprintf("rollout.jsonl line %d:", n)) {
			return true
		}
	}
	return false
}
