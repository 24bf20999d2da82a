// Package lean keeps the memory of the process near what is in use. A process that people leave
// open in a terminal for days is looked at when it waits for them: what a turn, or the start, needed
// once goes back to the system then.
package lean

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// least is how much memory Go may take before it works harder to stay below that, in bytes:
	// what an idle session needs, twice.
	least = 12 << 20
	// growth is by how many hundredths of what is in use the heap may grow until it is collected.
	growth = 50
	// spare is what is added to what is in use, in bytes, so that a session that needs more is not
	// collected all the time.
	spare = 4 << 20
)

// Begin has the process stay small, unless the user's environment sets how Go collects memory
// (GOGC, GOMEMLIMIT).
func Begin(env func(name string) string) {
	if env("GOGC") == "" && env("GOMEMLIMIT") == "" {
		debug.SetGCPercent(growth)
		debug.SetMemoryLimit(least)
	}
}

// Pace lets the process grow with what it uses. Call it now and then while it works; it takes
// microseconds.
func Pace() {
	if now := debug.SetMemoryLimit(-1); now != math.MaxInt64 { // begun
		debug.SetMemoryLimit(limit(inUse()))
	}
}

// Rest gives the system what the process does not use. Call it when it is idle: it collects the
// heap, which takes milliseconds.
func Rest() {
	debug.FreeOSMemory()
	Pace()
	unmap()
}

// limit is the memory that Go may take where so many bytes of the heap, and so many beside it,
// are in use.
func limit(heap, beside uint64) int64 {
	return int64(max(beside+heap+heap/2+spare, least))
}

// inUse is what was in use of the heap when it was collected last, and what Go takes beside the
// heap, in bytes.
func inUse() (heap, beside uint64) {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(all)
	heap, beside = all[0].Value.Uint64(), all[1].Value.Uint64()
	for _, part := range all[2:] {
		beside -= min(part.Value.Uint64(), beside)
	}
	return heap, beside
}
