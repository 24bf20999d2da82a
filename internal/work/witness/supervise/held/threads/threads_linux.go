package threads

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// busyLong is more time than a call takes of a processor.
const busyLong = 20 * time.Millisecond

// WentOn reports whether a thread is no more in a call, by its number and arguments. known is false
// where it may be, or not: it has to be asked again. ran is how long the thread had run when it was
// first asked about, 0 before that. proc is /proc, open.
func WentOn(proc int, tid uint32, number int32, args [6]uint64, ran *int64) (over, known bool) {
	text, err := read(proc, tid, "syscall")
	if err != nil {
		return err == unix.ENOENT || err == unix.ESRCH, true // or nobody is told
	}
	fields := strings.Fields(text)
	if len(fields) > 0 && fields[0] != "running" {
		is := strconv.Itoa(int(number))
		for _, a := range args {
			is += " 0x" + strconv.FormatUint(a, 16)
		}
		return !strings.HasPrefix(text, is+" "), true
	}
	text, err = read(proc, tid, "schedstat") // it runs, or waits for a processor
	if fields = strings.Fields(text); err != nil || len(fields) == 0 {
		return false, true
	}
	now, err := strconv.ParseInt(fields[0], 10, 64)
	if *ran == 0 {
		*ran = now
	}
	return err == nil && now-*ran > int64(busyLong), false
}

// read reads what /proc tells of a thread.
func read(proc int, tid uint32, name string) (string, error) {
	fd, err := unix.Openat(proc, strconv.Itoa(int(tid))+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var b [512]byte
	n, err := unix.Read(fd, b[:])
	return string(b[:max(n, 0)]), err
}
