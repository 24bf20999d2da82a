package journal

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// StateOf is a state in the form of the journal.
func StateOf(st *unix.Statx_t) State {
	s := State{Mode: uint32(st.Mode) & 0o7777, Links: uint64(st.Nlink), Sig: Sig{
		Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Size: int64(st.Size), Mtime: nanoseconds(st.Mtime),
		Ctime: nanoseconds(st.Ctime), Born: nanoseconds(st.Btime)}}
	if st.Dev_major == 0 && overlays()[st.Dev_minor] {
		s.Sig.Born = 0
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = File
	case unix.S_IFLNK:
		s.Kind = Link
	case unix.S_IFDIR:
		s.Kind = Dir
	default:
		s.Kind = Special
	}
	return s
}

// overlays are the minor numbers of the overlay file systems that were mounted when this
// process first asked. There a file of the lower layer keeps its number when it is changed,
// and is born anew.
var overlays = sync.OnceValue(func() map[uint32]bool {
	found := map[uint32]bool{}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return found
	}
	for line := range bytes.Lines(text) {
		_, about, ok := strings.Cut(string(line), " - ")
		fields := strings.Fields(string(line))
		if !ok || len(fields) < 3 || !strings.HasPrefix(about, "overlay ") {
			continue
		}
		minor, ok := strings.CutPrefix(fields[2], "0:")
		if n, err := strconv.ParseUint(minor, 10, 32); ok && err == nil {
			found[uint32(n)] = true
		}
	}
	return found
})

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// Restarted reports whether the machine was started after the moment of Written.
func (r *Reader) Restarted() bool {
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return false
	}
	return r.Written() < time.Now().UnixNano()-up.Nano()
}
