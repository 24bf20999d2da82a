package others

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/content"
)

// Write reports whether a process that is not of a witnessed command has the file open for writing
// that a name below a directory leads to. proc is /proc, open; threads are some of the command. A
// process whose descriptors this one may not read is not counted.
func Write(proc, dir int, below string, threads []uint32) bool {
	var file content.Thing
	if file.Lstat(dir, below) != nil {
		return false
	}
	list, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	own := of("self")
	apart := false
	for _, tid := range threads {
		apart = apart || of(strconv.Itoa(int(tid))).depth > own.depth
	}
	for _, e := range list {
		if _, err := strconv.Atoi(e.Name()); err != nil || !has(proc, e.Name(), &file) {
			continue
		}
		if p := of(e.Name()); p.filters <= own.filters || apart && p.depth <= own.depth {
			return true
		}
	}
	return false
}

// has reports whether a process has a file open for writing.
func has(proc int, pid string, file *content.Thing) bool {
	list, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		return false
	}
	for _, e := range list {
		var open content.Thing
		if open.Stat(proc, pid+"/fd/"+e.Name()) == nil && open.ID == file.ID && writes(pid, e.Name()) {
			return true
		}
	}
	return false
}

// writes reports whether a descriptor is open for writing, as far as that is known.
func writes(pid, fd string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/fdinfo/" + fd)
	_, rest, ok := bytes.Cut(text, []byte("flags:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	flags, perr := strconv.ParseUint(string(bytes.TrimSpace(line)), 8, 64)
	return err == nil && (!ok || perr != nil || flags&unix.O_ACCMODE != unix.O_RDONLY && flags&unix.O_PATH == 0)
}

// process is what tells those of commands from others: they have a seccomp filter that this process
// does not have, and in a sandbox a namespace of their own.
type process struct{ filters, depth int }

func of(pid string) (p process) {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range bytes.Lines(text) {
		if n, ok := bytes.CutPrefix(line, []byte("Seccomp_filters:")); ok {
			p.filters, _ = strconv.Atoi(string(bytes.TrimSpace(n)))
		}
		if ids, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			p.depth = len(bytes.Fields(ids))
		}
	}
	return p
}
