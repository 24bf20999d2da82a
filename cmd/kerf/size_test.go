package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// mostBytes bounds the program as it is released: 29 MiB and 152 KiB.
const mostBytes = 29<<20 + 152<<10

// mostAtStart bounds the memory, in bytes, that packages take when the program starts, whatever
// it then does: expressions, maps and tables that are made before anybody asks for them.
const mostAtStart = 900_000

// The program stays small. What makes it large at once is a package that finds methods by
// names, such as text/template: the linker then keeps every exported method of every type. What
// makes it large bit by bit are generic functions and methods, which are compiled for each type:
// see text/order and agent/tools/define.
//
// What packages make at each start is bounded, too: see text/pattern and sync.OnceValue.
func TestTheProgramIsSmall(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "kerf")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	st, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", st.Size())
	if st.Size() > mostBytes {
		t.Errorf("the program has %d bytes, at most %d: go tool nm -size -sort size tells what is large, and "+
			"go build -ldflags -dumpdep | grep '<ReflectMethod>' what keeps all methods", st.Size(), mostBytes)
	}
	start := exec.CommandContext(t.Context(), bin, "--version")
	start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	told, err := start.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	sum, large := 0, ""
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, .*$`).FindAllStringSubmatch(string(told), -1) {
		n, _ := strconv.Atoi(m[2])
		if sum += n; n > 20_000 {
			large += "\n" + m[0]
		}
	}
	t.Logf("%d bytes at start", sum)
	if sum == 0 || sum > mostAtStart {
		t.Errorf("packages take %d bytes when the program starts, at most %d:%s", sum, mostAtStart, large)
	}
}
