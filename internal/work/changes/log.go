package changes

import (
	"strings"
	"time"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/ledger"
)

// Filter says which entries a log shows.
type Filter struct {
	Session string   // the beginning of an id
	Paths   []string // absolute; directories stand for all below
	Limit   int      // the newest so many; 0 is all
	Diffs   bool     // with the diff of each entry
	Since   time.Time
}

// LogEntry is one entry of the ledger for people and programs. Undone says that all
// of it was taken back since. Exact is true only for what is proven. A command that
// still runs has an entry without changes that is Running; what it changed so far
// stands in entries of its own.
type LogEntry struct {
	Seq       int64     `json:"seq"`
	Time      time.Time `json:"time"`
	Cause     string    `json:"cause"`
	Certainty string    `json:"certainty"`
	Running   bool      `json:"running,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Client    string    `json:"client,omitempty"`
	Session   string    `json:"session,omitempty"`
	Turn      string    `json:"turn,omitempty"`
	Call      string    `json:"call,omitempty"`
	// Prompt is what the user asked for, which the ledger does not know.
	Prompt  string          `json:"prompt,omitempty"`
	Exact   bool            `json:"exact"`
	Note    string          `json:"note,omitempty"`
	Undoes  []int64         `json:"undoes,omitempty"`
	Undone  bool            `json:"undone"`
	Changes []LogChange     `json:"changes"`
	Dirs    []pathname.Path `json:"directories_made,omitempty"`
	Gone    []pathname.Path `json:"directories_removed,omitempty"`
	Diff    string          `json:"diff,omitempty"`
}

// LogChange is one path of an entry. Before and After are SHA-256, empty for "not
// there".
type LogChange struct {
	Path      pathname.Path `json:"path"`
	Operation string        `json:"operation"`
	From      pathname.Path `json:"moved_from,omitempty"`
	To        pathname.Path `json:"moved_to,omitempty"`
	Before    string        `json:"before"`
	After     string        `json:"after"`
}

// Log returns the entries that f fits, newest first. Turns that changed nothing
// and the beginnings of commands are left out.
func (r Reader) Log(f Filter) ([]LogEntry, error) {
	b, err := open(r.Ledger)
	if err != nil {
		return nil, err
	}
	var list []LogEntry
	ended := b.ended()
	for i := len(b.entries) - 1; i >= 0; i-- {
		e := &b.entries[i]
		over := e.Cause == ledger.CauseNone || e.Cause == ledger.CauseBegan && ended[e.Seq]
		if over || !strings.HasPrefix(e.Session, f.Session) || !b.touches(e, f.Paths) {
			continue
		}
		if e.Time.Before(f.Since) {
			break
		}
		if len(e.Changes)+len(e.Dirs)+len(e.Gone) == 0 && e.Ended {
			continue // only says that its command is over
		}
		le := logEntry(e)
		le.Undone = b.undone(e)
		if f.Diffs {
			le.Diff = string(r.EntryDiff(e))
		}
		list = append(list, le)
		if f.Limit > 0 && len(list) == f.Limit {
			break
		}
	}
	return list, nil
}

func logEntry(e *ledger.Entry) LogEntry {
	known := e.Known()
	le := LogEntry{Seq: e.Seq, Time: e.Time, Cause: e.Cause, Certainty: known, Tool: e.Tool, Client: e.Client,
		Session: e.Session, Turn: e.Turn, Call: e.Call, Exact: e.Exact && known == ledger.Proven, Note: e.Note,
		Undoes: e.Undoes, Changes: []LogChange{}}
	if e.Cause == ledger.CauseBegan {
		le.Cause, le.Running = ledger.CauseCommand, true
	}
	for _, c := range e.Set() {
		lc := LogChange{Path: pathname.Path(c.Path), Operation: c.Op(), From: pathname.Path(c.From),
			To: pathname.Path(c.To)}
		if c.Pre != nil {
			lc.Before = c.Pre.Sum.String()
		}
		if c.Post != nil {
			lc.After = c.Post.Sum.String()
		}
		le.Changes = append(le.Changes, lc)
	}
	for _, d := range e.Dirs {
		le.Dirs = append(le.Dirs, d)
	}
	for _, d := range e.Gone {
		le.Gone = append(le.Gone, d.Path)
	}
	return le
}

// touches reports whether e is about one of paths, or came from or went there.
func (b *book) touches(e *ledger.Entry, paths []string) bool {
	if len(paths) == 0 {
		return true
	}
	for _, c := range e.Changes {
		if below(c.Path, paths) || c.From != "" && below(c.From, paths) || c.To != "" && below(c.To, paths) {
			return true
		}
	}
	for _, p := range b.scope(e.Seq) {
		if below(p, paths) {
			return true
		}
	}
	return false
}

// EntryDiff is the diff of one entry. A file whose contents are not kept any more
// is shown by its sums.
func (r Reader) EntryDiff(e *ledger.Entry) []byte {
	set := e.Set()
	for i, c := range set {
		if pre, err := r.load(c.Pre); err == nil {
			set[i].Pre = pre
		}
		if post, err := r.load(c.Post); err == nil {
			set[i].Post = post
		}
	}
	return diff.Unified(delta.Files(set, func(path string) string { return Relative(r.Base, path) }))
}
