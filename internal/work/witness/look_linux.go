package witness

import (
	"os"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/beneath"
	"kerf/internal/work/witness/journal"
)

// places are the roots, open.
type places struct{ *beneath.Roots }

func newPlaces(roots []string) places { return places{beneath.New(roots)} }

// leave is how much of the disk stays free when a content is copied to it.
func (c *collector) leave() int64 {
	var st unix.Statfs_t
	if unix.Statfs(c.dir, &st) != nil {
		return 0 // the copy itself tells
	}
	return journal.Leave(int64(st.Blocks) * st.Bsize)
}

// look is what a name holds now; the content is not read. Names beside the journal are not counted.
func (c *collector) look(name string) (journal.State, error) {
	st, err := c.places.Look(name)
	if err == nil && st.Kind == journal.File && st.Links > 1 {
		for _, n := range c.apartOf[idOf(&st.Sig)] {
			if c.isName(n, &st.Sig) {
				st.Links--
			}
		}
	}
	return st, err
}

// isName reports whether what is kept beside the journal with a number is a name of a file.
func (c *collector) isName(number uint64, file *journal.Sig) bool {
	var st unix.Stat_t
	return unix.Lstat(journal.ApartPath(c.dir, number), &st) == nil && st.Ino == file.Ino && st.Dev == file.Dev
}

// file opens a regular file for reading.
func (c *collector) file(name string) (*os.File, error) {
	fd, err := c.places.Open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// beingWritten reports whether somebody has a file open for writing, or mapped.
func beingWritten(f *os.File) bool { return beneath.Written(int(f.Fd())) }
