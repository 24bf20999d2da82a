package others

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/content"
)

// Write reports whether a process that is not of a witnessed command has the file open for writing
// that a name below a directory leads to. proc is /proc, open. A process whose descriptors this one
// may not read is not counted.
func Write(proc, dir int, below string) bool {
	var file content.Thing
	if file.Lstat(dir, below) != nil {
		return false
	}
	list, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	own, known := filters("self")
	for _, e := range list {
		if _, err := strconv.Atoi(e.Name()); err != nil || !has(proc, e.Name(), &file) {
			continue
		}
		// Commands have a filter that this process does not have.
		if n, ok := filters(e.Name()); !known || ok && n <= own {
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

// filters is how many seccomp filters a process has.
func filters(pid string) (n int, known bool) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	_, rest, ok := bytes.Cut(text, []byte("\nSeccomp_filters:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, perr := strconv.Atoi(string(bytes.TrimSpace(line)))
	return n, err == nil && ok && perr == nil
}
