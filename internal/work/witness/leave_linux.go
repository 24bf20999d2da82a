package witness

import (
	"errors"
	"os"
	"path/filepath"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/message"
)

// News tells whether Collect would tell anything.
func (x *Watch) News() News {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return Nothing
	}
	if x.reader == nil {
		if _, err := os.Stat(filepath.Join(x.dir, journal.Name)); err != nil {
			return Nothing
		}
		return Touched
	}
	if x.reader.More() {
		return Touched
	}
	for p, t := range x.c.names { // what stayed open at the last collection
		if st, err := x.c.look(p); err == nil && t.was.done && st.Sig != t.was.Sig {
			return Written
		}
	}
	return Nothing
}

// Leave is End for a command that may leave processes behind, which go on. Then running
// is true, and the helper goes on with their journal, which Recover finishes one day.
func (x *Watch) Leave(use func(Report) bool) (running bool, err error) {
	_ = x.socket.Close()
	<-x.handed
	a, err := x.w.request(message.Message{Op: message.End, ID: x.id, Brief: true})
	if err != nil || a.Ended {
		return false, x.End(use)
	}
	return true, x.Collect(func(r Report) {
		if !use(r) {
			err = errors.New("what the command did stays in its journal")
		}
	})
}
