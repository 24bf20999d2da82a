package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/lines"
	"kerf/internal/work/changes"
)

// LogOptions say what a log shows.
type LogOptions struct {
	Session string // id, prefix or title
	Paths   []string
	Limit   int
	Diffs   bool
}

// LogEntry is one line of the ledger for people and programs.
type LogEntry struct {
	Seq     int64       `json:"seq"`
	Time    time.Time   `json:"time"`
	Cause   string      `json:"cause"`
	Tool    string      `json:"tool,omitempty"`
	Client  string      `json:"client,omitempty"`
	Session string      `json:"session,omitempty"`
	Turn    string      `json:"turn,omitempty"`
	Call    string      `json:"call,omitempty"`
	Prompt  string      `json:"prompt,omitempty"`
	Exact   bool        `json:"exact"`
	Note    string      `json:"note,omitempty"`
	Undoes  []int64     `json:"undoes,omitempty"`
	Undone  bool        `json:"undone"`
	Changes []LogChange `json:"changes"`
	Dirs    []string    `json:"directories_made,omitempty"`
	Gone    []string    `json:"directories_removed,omitempty"`
	Diff    string      `json:"diff,omitempty"`
}

// LogChange is one path of an entry. Before and After are SHA-256, empty for "not
// there".
type LogChange struct {
	Path      string `json:"path"`
	Operation string `json:"operation"`
	From      string `json:"moved_from,omitempty"`
	To        string `json:"moved_to,omitempty"`
	Before    string `json:"before"`
	After     string `json:"after"`
}

// Log lists what was changed in the workspace of the working directory, newest
// first.
func (h *Host) Log(o LogOptions) ([]LogEntry, error) {
	root := h.historyRoot()
	f := changes.Filter{Limit: o.Limit}
	if o.Session != "" {
		info, err := h.find(o.Session, false, true)
		if err != nil {
			return nil, err
		}
		f.Session = string(info.ID)
		if info.Cwd != "" {
			root = info.Cwd
		}
	}
	for _, p := range o.Paths {
		f.Paths = append(f.Paths, h.realPath(p))
	}
	var list []LogEntry
	err := h.reading(root, func(r changes.Reader) error {
		records, err := r.Log(f)
		if err != nil {
			return err
		}
		ask := prompts{h: h}
		for i := range records {
			e := logEntry(&records[i])
			e.Prompt = ask.of(e.Session, e.Turn)
			if o.Diffs {
				e.Diff = string(r.EntryDiff(&records[i].Entry))
			}
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

func logEntry(r *changes.Record) LogEntry {
	e := LogEntry{Seq: r.Seq, Time: r.Time, Cause: r.Cause, Tool: r.Tool, Client: r.Client, Session: r.Session, Turn: r.Turn,
		Call: r.Call, Exact: r.Exact, Note: r.Note, Undoes: r.Undoes, Undone: r.Undone, Changes: []LogChange{}}
	for _, c := range r.Set() {
		lc := LogChange{Path: c.Path, Operation: c.Op(), From: c.From, To: c.To}
		if c.Pre != nil {
			lc.Before = c.Pre.Sum.String()
		}
		if c.Post != nil {
			lc.After = c.Post.Sum.String()
		}
		e.Changes = append(e.Changes, lc)
	}
	for _, d := range r.Dirs {
		e.Dirs = append(e.Dirs, string(d))
	}
	for _, d := range r.Gone {
		e.Gone = append(e.Gone, string(d.Path))
	}
	return e
}

// reading uses a reader of the workspace of root.
func (h *Host) reading(root string, use func(changes.Reader) error) error {
	_, err := h.read(root, func(r changes.Reader) ([]byte, error) { return nil, use(r) })
	return err
}

// BlameLine tells where a line comes from: "kerf", "other" or "unknown".
type BlameLine struct {
	Line    int        `json:"line"`
	Text    string     `json:"text"`
	Origin  string     `json:"origin"`
	Seq     int64      `json:"seq,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Cause   string     `json:"cause,omitempty"`
	Tool    string     `json:"tool,omitempty"`
	Client  string     `json:"client,omitempty"`
	Session string     `json:"session,omitempty"`
	Turn    string     `json:"turn,omitempty"`
	Call    string     `json:"call,omitempty"`
	Prompt  string     `json:"prompt,omitempty"`
}

// maxBlame is the largest file that is blamed.
const maxBlame = 64 << 20

// Blame tells of each line of a file where it comes from.
func (h *Host) Blame(file string) ([]BlameLine, error) {
	path := h.realPath(file)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = filepath.ToSlash(target)
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case st.Size() > maxBlame:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are blamed", file, st.Size(), maxBlame)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []BlameLine
	err = h.reading(h.historyRoot(), func(r changes.Reader) error {
		origins, err := r.Blame(path, content)
		if err != nil {
			return err
		}
		ask := prompts{h: h}
		for i, text := range lines.Split(content) {
			list = append(list, blameLine(i, string(text), origins[i], &ask))
		}
		return nil
	})
	return list, err
}

func blameLine(i int, text string, o changes.Origin, ask *prompts) BlameLine {
	l := BlameLine{Line: i + 1, Text: text, Origin: "other"}
	switch e := o.Entry; {
	case e != nil:
		l.Origin, l.Seq, l.Time, l.Cause, l.Tool, l.Client = "kerf", e.Seq, &e.Time, e.Cause, e.Tool, e.Client
		l.Session, l.Turn, l.Call, l.Prompt = e.Session, e.Turn, e.Call, ask.of(e.Session, e.Turn)
	case o.Unknown:
		l.Origin = "unknown"
	}
	return l
}

// Changes lists what was changed in the workspace of a session since it began,
// oldest first, by whomever.
func (h *Host) Changes(ctx context.Context, id protocol.SessionID) ([]protocol.Deed, error) {
	info, err := h.find(string(id), false, true)
	if err != nil {
		return nil, err
	}
	var deeds []protocol.Deed
	err = h.reading(orElse(info.Cwd, h.Config.Cwd), func(r changes.Reader) error {
		records, err := r.Log(changes.Filter{})
		if err != nil {
			return err
		}
		for i := range records {
			e := &records[i]
			if e.Time.Before(info.Created) || ctx.Err() != nil {
				break
			}
			deeds = append(deeds, deedOf(r, e))
		}
		return ctx.Err()
	})
	slices.Reverse(deeds)
	return deeds, err
}

func deedOf(r changes.Reader, e *changes.Record) protocol.Deed {
	d := protocol.Deed{Session: protocol.SessionID(e.Session), Turn: protocol.TurnID(e.Turn), Call: protocol.CallID(e.Call),
		Cause: e.Cause, Tool: e.Tool, Time: e.Time, Undone: e.Undone, Diff: string(r.EntryDiff(&e.Entry))}
	for _, c := range e.Set() {
		pc := protocol.PathChange{Path: c.Path, Kind: protocol.Update, Moved: c.From}
		switch {
		case c.Pre == nil:
			pc.Kind = protocol.Add
		case c.Post == nil:
			pc.Kind = protocol.Delete
		}
		d.Changes = append(d.Changes, pc)
	}
	return d
}
