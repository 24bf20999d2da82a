package boundary

import (
	"sync"
	"time"
)

// identities are the files with several names that a plan closes, by who they are.
type identities struct {
	mu    sync.Mutex
	files map[FileID]entry
	at    time.Time // when they were looked for
}

// fresh is how long the files below closed directories need not be looked for again.
const fresh = 2 * time.Second

// Of says what the plan allows with a file that was found at the real path p and is id;
// several says that it has more names than one. A file that is closed under one of its
// names is closed under all.
func (p *Plan) Of(path string, id FileID, several bool) Verdict {
	v := p.At(path)
	if p.answers == nil || p.answers.everything || v.Access == Hidden || id == (FileID{}) || !several {
		return v
	}
	if e, ok := p.answers.identity(id); ok {
		if o := e.verdict(); o.Access == Hidden || v.Access == Writable {
			return o
		}
	}
	return v
}

// identity looks whether a file with several names is a closed one.
func (a *answers) identity(id FileID) (entry, bool) {
	a.known.mu.Lock()
	defer a.known.mu.Unlock()
	if a.known.files == nil || time.Since(a.known.at) > fresh {
		a.known.files = make(map[FileID]entry)
		for path, e := range a.entries {
			if e.access == Write || e.access == Read && !e.closed || path == a.tmp {
				continue
			}
			for _, m := range a.view.Multiples(path, namesLimit) {
				if nearest(a.entries, m.Path) != path {
					continue // another one says what holds there
				}
				if have, ok := a.known.files[m.ID]; !ok || have.access != None {
					a.known.files[m.ID] = e
				}
			}
		}
		a.known.at = time.Now()
	}
	e, ok := a.known.files[id]
	return e, ok
}
