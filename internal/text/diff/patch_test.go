package diff

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatchAppliesUnified lets the other judge, GNU patch, apply what it understands.
func TestPatchAppliesUnified(t *testing.T) {
	needUnixNames(t)
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch")
	}
	if out, err := exec.Command(patch, "--version").Output(); err != nil ||
		!bytes.Contains(out, []byte("GNU patch 2.7")) && !bytes.Contains(out, []byte("GNU patch 2.8")) {
		t.Skip("not GNU patch 2.7 or later, which understands git's headers")
	}
	file := func(data string) entry { return entry{0100644, data} }
	for name, c := range map[string][2]tree{
		"modify":           {{"f": file(long)}, {"f": file(strings.Replace(long, "10\n", "ten\n", 1))}},
		"create":           {{}, {"d/e/f": file("a\nb\n")}},
		"create empty":     {{}, {"f": file("")}},
		"delete":           {{"f": file("a\n")}, {}},
		"fill a file":      {{"f": file("")}, {"f": file("a\nb")}},
		"lose newline":     {{"f": file("a\nb\n")}, {"f": file("a\nb")}},
		"gain newline":     {{"f": file("a\nb")}, {"f": file("a\nb\n")}},
		"crlf":             {{"f": file("a\r\nb\r\n")}, {"f": file("a\r\nb\n")}},
		"latin1":           {{"f": file("caf\xe9\n")}, {"f": file("caf\xe8\n")}},
		"chmod and modify": {{"f": file("a\n")}, {"f": {0100755, "b\n"}}},
		"create program":   {{}, {"f": {0100755, "b\n"}}},
		"spaces":           {{"a b/c d": file("1\n")}, {"a b/c d": file("2\n")}},
		"many hunks":       {{"f": file(long + long + long)}, {"f": file("x\n" + long + "y\n" + long + long[2:])}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c[0].write(t, dir)
			text := Unified(between(c[0], c[1]))
			cmd := exec.Command(patch, "-p1", "--binary", "--batch", "--no-backup-if-mismatch", "--fuzz=0")
			cmd.Dir, cmd.Stdin = dir, bytes.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("patch: %v\n%s\n%s", err, out, text)
			}
			if d := cmp.Diff(c[1], readTree(t, dir)); d != "" {
				t.Fatalf("patch made something else: -want +got\n%s\n%s", d, text)
			}
		})
	}
}
