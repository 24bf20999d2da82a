package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	show "kerf/internal/text/visible"
)

// SessionsDir is where sessions live.
func (h *Host) SessionsDir() string { return filepath.Join(h.Config.Home, "sessions") }

// ids returns the ids of all sessions, newest first: they are UUIDv7 and sort by
// the time they were made.
func (h *Host) ids() ([]string, error) {
	f, err := os.Open(h.SessionsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return len(n) != 36 })
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// List returns the sessions that match f, newest first.
func (h *Host) List(ctx context.Context, f protocol.Filter) ([]protocol.SessionInfo, error) {
	ids, err := h.ids()
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	if f.Cursor != "" {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id >= f.Cursor })
	}
	var list []protocol.SessionInfo
	first := true
	for len(ids) > 0 && (f.Limit <= 0 || len(list) < f.Limit) {
		some, of := ids, whole
		switch {
		case f.Limit > 0 && first: // a page needs few of many, as a rule
			some, of = ids[:min(len(ids), 2*f.Limit)], few
		case f.Limit > 0 || f.Cursor != "":
			of = many
		}
		ids, first = ids[len(some):], false
		infos, err := h.infos(ctx, some, of)
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			if matches(info, f) && (f.Limit <= 0 || len(list) < f.Limit) {
				list = append(list, info)
			}
		}
	}
	return list, nil
}

func matches(i protocol.SessionInfo, f protocol.Filter) bool {
	if f.Cwd != "" && i.Cwd != f.Cwd || i.Archived != f.Archived || i.Source == agentSource && !f.Agents {
		return false
	}
	want := strings.ToLower(f.Search)
	return want == "" || strings.Contains(strings.ToLower(i.Title), want) || strings.HasPrefix(string(i.ID), want)
}

func (h *Host) info(id string) protocol.SessionInfo {
	m, err := rollout.LoadMetadata(filepath.Join(h.SessionsDir(), id))
	if err != nil {
		return protocol.SessionInfo{ID: protocol.SessionID(id), Damage: "metadata.json: " + err.Error()}
	}
	return protocol.SessionInfo{ID: protocol.SessionID(id), Title: m.Title, Cwd: m.Cwd, Model: m.Model, Branch: m.Git.Branch,
		Created: m.Created, Updated: m.Updated, Turns: m.Turns, Tokens: m.Tokens, Parent: protocol.SessionID(m.Parent), Archived: m.Archived, Source: m.Source}
}

// find returns the session that name means: an id, a unique prefix of one, or a
// title; or the newest one.
func (h *Host) find(name string, last, anyCwd bool) (protocol.SessionInfo, error) {
	if name == "" {
		f := protocol.Filter{Limit: 1}
		if !anyCwd {
			f.Cwd = h.Config.Cwd
		}
		list, err := h.List(context.Background(), f)
		if err != nil {
			return protocol.SessionInfo{}, err
		}
		if len(list) == 0 {
			return protocol.SessionInfo{}, fmt.Errorf("no session of %s yet; --all takes the newest of any directory", h.Config.Cwd)
		}
		return list[0], nil
	}
	ids, err := h.ids()
	if err != nil {
		return protocol.SessionInfo{}, fmt.Errorf("find session: %w", err)
	}
	var hits []string
	for _, id := range ids {
		if strings.HasPrefix(id, strings.ToLower(name)) {
			hits = append(hits, id)
		}
	}
	if len(hits) == 0 {
		hits = h.titled(ids, name)
	}
	switch len(hits) {
	case 1:
		return h.info(hits[0]), nil
	case 0:
		return protocol.SessionInfo{}, h.unknown(ids, name)
	}
	return protocol.SessionInfo{}, fmt.Errorf("%d sessions begin with %q: %s; give more of the id", len(hits), name, strings.Join(hits[:min(3, len(hits))], ", "))
}

// titled returns the sessions with a title, which need not be in the same case.
func (h *Host) titled(ids []string, title string) []string {
	infos, err := h.infos(context.Background(), ids, whole)
	if err != nil {
		return nil
	}
	var hits []string
	for _, info := range infos {
		if strings.EqualFold(info.Title, title) {
			hits = append(hits, string(info.ID))
		}
	}
	return hits
}

// maxNear is how many sessions a name is compared with that nobody has.
const maxNear = 1000

// unknown names the sessions that are nearest to a name nobody has.
func (h *Host) unknown(ids []string, name string) error {
	if len(ids) == 0 {
		return fmt.Errorf("no session %q: there are no sessions yet in %s", name, h.SessionsDir())
	}
	type near struct {
		id, title string
		far       int
	}
	var list []near
	for _, id := range ids[:min(maxNear, len(ids))] {
		title := h.info(id).Title
		list = append(list, near{id, title, min(distance(id[:min(len(name), len(id))], name), distance(strings.ToLower(title), strings.ToLower(name)))})
	}
	slices.SortStableFunc(list, func(a, b near) int { return a.far - b.far })
	var words []string
	for _, n := range list[:min(3, len(list))] {
		words = append(words, fmt.Sprintf("%s (%s)", n.id, excerpt(n.title)))
	}
	return fmt.Errorf("no session %q; the nearest are %s (see: kerf sessions list)", name, strings.Join(words, ", "))
}

// distance is how many bytes must be changed, added or taken away between the
// beginnings of two names.
func distance(a, b string) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// forkLog starts a new session with the records of an old one.
func (h *Host) forkLog(o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	info, err := h.find(o.Fork, false, false)
	if err != nil {
		return nil, err
	}
	from := filepath.Join(h.SessionsDir(), string(info.ID))
	records, _, err := rollout.Read(from)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	if records, err = upTo(records, o.ForkTurn); err != nil {
		return nil, fmt.Errorf("fork %s: %w", info.ID, err)
	}
	l, err := h.newLog(o, set, provider)
	if err != nil {
		return nil, err
	}
	l.state = history.Rebuild(linesOf(records))
	restoreImages(l.state, from)
	l.meta.Parent, l.meta.Title = string(info.ID), forkTitle(info.Title)
	if l.writer == nil {
		return l, nil
	}
	if err := l.adopt(from, records); err != nil {
		l.close()
		return nil, fmt.Errorf("fork %s: %w", info.ID, err)
	}
	return l, nil
}

// forkTitle tells a fork from what it was forked from.
func forkTitle(title string) string {
	const mark = " (fork)"
	if title == "" || strings.HasSuffix(title, mark) {
		return title
	}
	return title + mark
}

// upTo are the records up to and with those of a turn, given by its id, the
// beginning of it, or its number from 1; all of them for "".
func upTo(records []rollout.Record, turn protocol.TurnID) ([]rollout.Record, error) {
	if turn == "" {
		return records, nil
	}
	number, _ := strconv.Atoi(string(turn))
	var known []string
	from, ended := -1, true
	for i, r := range records {
		if ended = ended || endsTurn(r); r.Type != (history.TurnContext{}).Type() {
			continue
		}
		id := turnOf(r)
		again := !ended && len(known) > 0 && known[len(known)-1] == string(id) // told anew within the turn
		ended = false
		if again {
			continue
		}
		known = append(known, string(id))
		switch {
		case from >= 0:
			return records[:i], nil
		case from < 0 && (strings.HasPrefix(string(id), string(turn)) || len(known) == number):
			from = i
		}
	}
	if from < 0 {
		return nil, fmt.Errorf("there is no turn %q; it has %d, the last ones are %s", turn, len(known), strings.Join(known[max(0, len(known)-3):], ", "))
	}
	return records, nil
}

// endsTurn reports whether a record ends a turn.
func endsTurn(r rollout.Record) bool {
	var e history.EventRecord
	if r.Type != e.Type() || r.Decode(&e) != nil {
		return false
	}
	return e.What == history.TurnCompleted || e.What == history.TurnFailed || e.What == history.TurnAborted
}

// adopt copies records and diffs, so that the fork stands on its own when the
// parent is deleted.
func (l *log) adopt(from string, records []rollout.Record) error {
	var entries []rollout.Entry
	for _, r := range records {
		body := map[string]json.RawMessage{}
		if err := json.Unmarshal(r.Raw, &body); err != nil {
			return err
		}
		for _, k := range []string{"seq", "timestamp", "type", "prev"} {
			delete(body, k)
		}
		if r.Type == (history.SessionMeta{}).Type() {
			body["id"], _ = json.Marshal(l.id)
			body["parent"], _ = json.Marshal(l.meta.Parent)
		}
		entries = append(entries, rollout.Entry{Type: r.Type, Body: body})
	}
	if err := copyDiffs(filepath.Join(from, "diffs"), filepath.Join(l.dir, "diffs")); err != nil {
		return err
	}
	if err := copyDiffs(filepath.Join(from, "blobs"), filepath.Join(l.dir, "blobs")); err != nil {
		return err
	}
	return l.writer.Append(entries...)
}

func copyDiffs(from, to string) error {
	names, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(from, n.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, n.Name()), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Show prints a session, given by name or as a file, and survives any damage.
func (h *Host) Show(w io.Writer, name string) error {
	path := name
	if st, err := os.Stat(name); err != nil || st.IsDir() && !isSession(name) {
		info, err := h.find(name, false, true)
		if err != nil {
			return err
		}
		path = filepath.Join(h.SessionsDir(), string(info.ID))
		printInfo(w, info)
	}
	records, damage, err := rollout.Read(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "records: %d\n", len(records))
	if damage != nil {
		fmt.Fprintf(w, "damage: %s\n", damage)
	}
	for _, r := range records {
		printRecord(w, r)
	}
	return nil
}

func isSession(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "rollout.jsonl"))
	return err == nil
}

func printInfo(w io.Writer, i protocol.SessionInfo) {
	fmt.Fprintf(w, "session: %s\ntitle: %s\ndirectory: %s\nmodel: %s\nturns: %d\ntokens: %d\n", i.ID, visible(i.Title), visible(i.Cwd), visible(i.Model), i.Turns, i.Tokens)
	if i.Branch != "" {
		fmt.Fprintf(w, "branch: %s\n", visible(i.Branch))
	}
}

// printRecord prints one record as one line.
func printRecord(w io.Writer, r rollout.Record) {
	var v struct {
		Text, Name, Path, Operation, Cause, Message, Event string
		DiffPath                                           string `json:"diff_path"`
		Result                                             string
		Success                                            bool
		Summary                                            []string
	}
	_ = json.Unmarshal(r.Raw, &v)
	line := ""
	switch r.Type {
	case "user_input", "assistant_message":
		line = v.Text
	case "reasoning":
		line = strings.Join(v.Summary, " ")
	case "tool_call":
		first, _, _ := strings.Cut(v.Result, "\n")
		line = v.Name + ": " + first
	case "file_change":
		line = v.Operation + " " + v.Path + " (" + v.Cause + ", " + v.DiffPath + ")"
	case "event":
		line = strings.TrimSpace(v.Event + " " + v.Name + " " + v.Message)
	}
	fmt.Fprintf(w, "%5d %-17s %s\n", r.Seq, r.Type, cutLine(visible(line)))
}

func cutLine(s string) string {
	r := []rune(s)
	if len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return s
}

// visible makes control and direction characters harmless.
func visible(s string) string { return show.Plain(s) }
