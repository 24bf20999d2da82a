package lean

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestLimit: the limit follows what is in use, and is never below what an idle session needs.
func TestLimit(t *testing.T) {
	for _, x := range []struct {
		heap, beside uint64
		want         int64
	}{{0, 0, least}, {3 << 20, 2 << 20, least}, {8 << 20, 2 << 20, 18 << 20}, {100 << 20, 4 << 20, 158 << 20}} {
		if got := limit(x.heap, x.beside); got != x.want {
			t.Errorf("limit(%d, %d) = %d, want %d", x.heap, x.beside, got, x.want)
		}
	}
}

// TestRestGivesBack: what was used once does not stay with the process, and what is used is not
// held below what it needs.
func TestRestGivesBack(t *testing.T) {
	percent, before := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(before) }()
	Begin(func(string) string { return "" })
	var held [][]byte
	for range 64 {
		held = append(held, make([]byte, 1<<20))
	}
	runtime.GC()
	Pace()
	if got := debug.SetMemoryLimit(-1); got < 96<<20 {
		t.Errorf("with 64 MiB in use the limit is %d bytes", got)
	}
	runtime.KeepAlive(held)
	held = nil
	Rest()
	if got := debug.SetMemoryLimit(-1); got > 64<<20 {
		t.Errorf("with nothing in use the limit is %d bytes", got)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if kept := m.HeapSys - m.HeapReleased; kept > 40<<20 {
		t.Errorf("%d bytes of the heap are kept", kept)
	}

	debug.SetMemoryLimit(before)
	Begin(func(name string) string { return map[string]string{"GOGC": "200"}[name] })
	if debug.SetMemoryLimit(-1) != before {
		t.Error("what the user's environment sets is not kept")
	}
}
