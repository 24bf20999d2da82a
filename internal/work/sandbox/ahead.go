package sandbox

import (
	"os"

	"kerf/internal/work/sandbox/whole"
)

// Ahead is a launcher that comes up while it is still worked out what it launches, which takes
// about as long. It gets its program, and the word to begin, when all that protects is there
// ([Box.Started]): until then it waits, and when that word cannot come any more it ends.
type Ahead struct {
	Argv []string
	// Files are what it needs as descriptors 3 and up. The witness's socket among them stays
	// its owner's until there is a box.
	Files []*os.File
	// Cgroup is where it starts (proc.Spec.Cgroup), or nil.
	Cgroup *os.File

	program, wait *os.File
	gate          *os.File // behind which it waits
	whole         *whole.Bound
}

// Close gives up a launcher for which there is no box. It ends then.
func (a *Ahead) Close() {
	a.gate.Close()
	a.wait.Close()
	a.program.Close()
	_ = a.whole.End()
}
