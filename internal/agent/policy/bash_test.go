package policy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPlainIsWhatBashRuns holds the reading of plain lines against a real shell:
// of random lines that count as plain, bash runs no command with other words than
// were seen.
func TestPlainIsWhatBashRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	lines := 1500
	if os.Getenv("KERF_LONG") != "" {
		lines = 15_000
	}
	var script bytes.Buffer
	var seen []map[string]bool
	rnd := rand.New(rand.NewPCG(1, 2))
	for tries := 0; len(seen) < lines && tries < 100*lines; tries++ {
		line := randomLine(rnd)
		commands, ok := Plain(line)
		if !ok || strings.Contains(line, "\x00") {
			continue
		}
		set := map[string]bool{}
		for _, argv := range commands {
			set[strings.Join(argv, "\x1f")] = true
		}
		seen = append(seen, set)
		script.WriteString(line + "\x00")
	}
	if len(seen) < lines {
		t.Fatalf("only %d plain lines", len(seen))
	}
	const program = `PATH=/nonexistent
command_not_found_handle() { local IFS=$'\x1f'; printf 'R%d %s\0' "$N" "$*" >&3; }
exec 3>&1 >/dev/null 2>/dev/null
N=0
while IFS= read -r -d '' line <&4; do eval "$line" </dev/null; N=$((N+1)); done`
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", program)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() { _, _ = w.Write(script.Bytes()); w.Close() }()
	cmd.ExtraFiles = []*os.File{r, r}
	cmd.Env, cmd.Dir = []string{"LC_ALL=C.UTF-8"}, t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, rec := range strings.Split(string(out), "\x00") {
		if rec == "" {
			continue
		}
		head, argv, _ := strings.Cut(rec, " ")
		var n int
		if _, err := fmt.Sscanf(head, "R%d", &n); err != nil {
			t.Fatalf("%q: %v", rec, err)
		}
		runs++
		if !seen[n][argv] {
			line := bytes.Split(script.Bytes(), []byte{0})[n]
			t.Fatalf("bash runs %q of %q, which reads as %v", argv, line, seen[n])
		}
	}
	if runs < lines {
		t.Errorf("bash ran only %d commands of %d lines", runs, lines)
	}
}

// randomLine strings together pieces of shell. Programs have names that exist
// nowhere.
func randomLine(r *rand.Rand) string {
	pieces := []string{"x1", "x2", "x3 ", " ", " ", "a", "b c", "'q u'", `"d q"`, `\`, "\n", ";", " && ", " || ", " | ",
		"#", "# c", "-n", "=", "a=b", "~", "*", "[", "]", "{", "}", "{a,b}",
		"!", "$", "$x", "`", "(", ")", "<", ">", "2>/dev/null", ">/dev/null", "&", "\t", "é", "'", `"`, ",", "^", "%", "@",
		"+(", "?", "%1", "-", "--", "0", "12", ":", "./", "\\\n", "$'\\n'", "<<<'h'", "<<'E'\nz\nE\n", "2>&1", "if", "then",
		"fi", "time", "[[", "a[1]=2", "x1[", "é~", "\u00a0"}
	var b strings.Builder
	b.WriteString("x0 ")
	for range 1 + r.IntN(9) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}
