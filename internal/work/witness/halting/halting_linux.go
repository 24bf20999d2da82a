// Package halting lets a test stop the helper process at a call: before the call is looked at, or
// right before it goes on. Tests import it; its init comes before that of package supervise, since
// it imports less.
package halting

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/listener"
)

// Key is the variable with the file that a Point is mapped from.
const Key = "KERF_TEST_HALT"

// Point is where the helper stops next: two numbers in a file that is mapped by both sides.
type Point struct{ armed, reached *atomic.Int64 }

// The moments of a call.
const (
	never int64 = iota
	Noticed
	Kept
)

// Map maps a point from a file, which it makes.
func Map(path string) (Point, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Point{}, err
	}
	defer f.Close()
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		return Point{}, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return Point{}, err
	}
	return Point{(*atomic.Int64)(unsafe.Pointer(&m[0])), (*atomic.Int64)(unsafe.Pointer(&m[64]))}, nil
}

// At calls f when the helper has stopped at a moment of the next call that begin leads to, and
// lets it go on then.
func (p Point) At(moment int64, begin, f func()) {
	p.reached.Store(never)
	p.armed.Store(moment)
	begin()
	for p.reached.Load() != moment {
		time.Sleep(pause)
	}
	f()
	p.armed.Store(never)
}

const pause = 20 * time.Microsecond

func init() {
	path := os.Getenv(Key)
	if path == "" {
		return
	}
	p, err := Map(path)
	if err != nil {
		return
	}
	listener.Halt = func(answered bool) {
		moment := Noticed
		if answered {
			moment = Kept
		}
		if p.armed.Load() != moment {
			return
		}
		p.reached.Store(moment)
		for p.armed.Load() == moment {
			time.Sleep(pause)
		}
	}
}
