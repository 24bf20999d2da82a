package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/atomicfile"
	"kerf/internal/protocol"
	"kerf/internal/sessions/beside"
	"kerf/internal/sessions/said"
	"kerf/internal/work/ledger"
)

// The lists of many sessions come from sessions/index.jsonl: what the metadata of
// each said, and when that file was written. It is a cache: a line that does not
// fit the file is read anew, and the whole may be deleted at any time.

const (
	indexName = "index.jsonl"
	// indexFrom is how many sessions make the index worth it.
	indexFrom = 100
)

// indexLine is one session as its metadata had it.
type indexLine struct {
	ID    string               `json:"id"`
	Stamp int64                `json:"stamp"` // modification time, in nanoseconds
	Size  int64                `json:"size"`
	Info  protocol.SessionInfo `json:"info"`
}

// extent says which sessions are meant.
type extent int

const (
	few   extent = iota // the index is not worth it
	many                // but not all
	whole               // all there are
)

// infos returns what lists show of sessions, in the order of ids.
func (s *Store) infos(ctx context.Context, ids []string, of extent) ([]protocol.SessionInfo, error) {
	list, err := s.allRecorded(ctx, ids, of)
	if moves := s.moves(); len(moves) > 0 {
		for i := range list {
			list[i].Cwd = ledger.Now(moves, list[i].Cwd, list[i].Created)
		}
	}
	return list, err
}

// allRecorded is recorded for many sessions, by the index where that is worth it.
func (s *Store) allRecorded(ctx context.Context, ids []string, of extent) ([]protocol.SessionInfo, error) {
	if len(ids) < indexFrom {
		of = few
	}
	list := make([]protocol.SessionInfo, len(ids))
	known := map[string]indexLine{}
	path := filepath.Join(s.o.Dir, indexName)
	lines := 0
	if of != few {
		known, lines = readIndex(path)
	}
	fresh := make([]*indexLine, len(ids))
	err := beside.Each(ctx, len(ids), func(i int) {
		st, err := os.Lstat(filepath.Join(s.o.Dir, ids[i], "metadata.json"))
		if l, ok := known[ids[i]]; ok && err == nil && l.Stamp == st.ModTime().UnixNano() && l.Size == st.Size() {
			list[i] = l.Info
			return
		}
		list[i] = s.recorded(ids[i])
		if err == nil && list[i].Damage == "" {
			fresh[i] = &indexLine{ids[i], st.ModTime().UnixNano(), st.Size(), list[i]}
		}
	})
	if err != nil || of == few {
		return list, err
	}
	fresh = slices.DeleteFunc(fresh, func(l *indexLine) bool { return l == nil })
	switch {
	case of == whole && (lines > 2*len(ids) || len(fresh) > len(ids)/2):
		s.writeIndex(path, ids, list)
	case len(fresh) > 0:
		appendLines(path, fresh)
	}
	return list, nil
}

// readIndex reads the index and counts its lines; the last line of an id counts.
func readIndex(path string) (map[string]indexLine, int) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0
	}
	lines := bytes.Split(b, []byte{'\n'})
	parsed := make([]indexLine, len(lines))
	_ = beside.Each(context.Background(), len(lines), func(i int) {
		if json.Unmarshal(lines[i], &parsed[i]) != nil || string(parsed[i].Info.ID) != parsed[i].ID {
			parsed[i] = indexLine{}
		}
	})
	known := make(map[string]indexLine, len(lines))
	for _, l := range parsed {
		if l.ID != "" {
			known[l.ID] = l
		}
	}
	return known, len(lines)
}

// writeIndex writes the index anew. That it cannot be written is no reason to
// show no list.
func (s *Store) writeIndex(path string, ids []string, list []protocol.SessionInfo) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, id := range ids {
		st, err := os.Lstat(filepath.Join(s.o.Dir, id, "metadata.json"))
		if err == nil && list[i].Damage == "" {
			_ = enc.Encode(indexLine{id, st.ModTime().UnixNano(), st.Size(), list[i]}) // plain values always encode
		}
	}
	_ = atomicfile.WriteCache(path, b.Bytes())
}

func appendLines(path string, lines []*indexLine) {
	var b bytes.Buffer
	b.WriteByte('\n') // the last line may be torn
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		_ = enc.Encode(l)
	}
	appendTo(path, b.Bytes())
}

// appendTo adds to a cache file. Without it the next reader is slower, nothing else.
func appendTo(path string, b []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(b)
	_ = f.Close()
}

// forget takes a deleted session out of the caches.
func (s *Store) forget(id string) error {
	path := filepath.Join(s.o.Dir, indexName)
	b, err := os.ReadFile(path)
	if err == nil && bytes.Contains(b, []byte(id)) {
		var kept bytes.Buffer
		for line := range bytes.Lines(b) {
			if !bytes.Contains(line, []byte(id)) {
				kept.Write(line)
			}
		}
		err = atomicfile.WriteCache(path, kept.Bytes())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return said.Forget(s.o.Dir, id)
}
