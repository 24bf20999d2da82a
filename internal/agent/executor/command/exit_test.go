package command

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"
)

// TestAnExitCodeKeepsNoOutput: a conversation keeps the code of each command; the outputs, up to a
// megabyte each, are not kept with them.
func TestAnExitCodeKeepsNoOutput(t *testing.T) {
	result := Result{Output: strings.Repeat("x", 1<<20), Code: 3, done: true}
	output := weak.Make(unsafe.StringData(result.Output))
	code := result.Exit()
	result = Result{}
	runtime.GC()
	if output.Value() != nil {
		t.Error("the output is still held")
	}
	if *code != 3 {
		t.Errorf("code %d", *code)
	}
}
