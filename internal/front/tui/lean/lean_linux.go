package lean

import (
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unmap forgets the parts of the program's file that were read: at the start that is most of it, and
// later a small part. What is needed again is read again, as it was the first time. Only mappings
// that cannot be written are touched, so there is nothing to lose.
func unmap() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		if start, size, ok := mapping(line, self); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, size, unix.MADV_DONTNEED)
		}
	}
}

// mapping reads a line of /proc/self/maps: where a part of the file path is mapped that cannot be
// written.
func mapping(line, path string) (start, size uintptr, ok bool) {
	f := strings.Fields(line)
	if len(f) != 6 || f[5] != path || len(f[1]) != 4 || f[1][0] != 'r' || f[1][1] != '-' {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(f[0], "-")
	a, err := strconv.ParseUint(from, 16, 8*int(unsafe.Sizeof(start)))
	b, err2 := strconv.ParseUint(to, 16, 8*int(unsafe.Sizeof(start)))
	if err != nil || err2 != nil || b <= a {
		return 0, 0, false
	}
	return uintptr(a), uintptr(b - a), true
}
