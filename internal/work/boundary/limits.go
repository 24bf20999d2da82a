package boundary

// Limits bound what one command may use. Zero means no limit of Kerf's own.
type Limits struct {
	// Processes is how many may run at once inside. Without a cgroup or numbers of
	// their own the kernel does not hold root to it.
	Processes uint64
	// FileBytes is the size of the largest file that can be written.
	FileBytes uint64
	// DataBytes is the private memory of one process.
	DataBytes uint64
	// MemoryBytes is what all processes of the command may hold together.
	MemoryBytes uint64
	// TmpBytes is what may lie in the private /tmp.
	TmpBytes uint64
}
