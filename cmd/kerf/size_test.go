package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// mostBytes bounds the program as it is released: 29 MiB.
const mostBytes = 29 << 20

// The program stays small. What makes it large at once is a package that finds methods by
// names, such as text/template: the linker then keeps every exported method of every type. What
// makes it large bit by bit are generic functions and methods, which are compiled for each type:
// see text/order and agent/tools/define.
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
}
