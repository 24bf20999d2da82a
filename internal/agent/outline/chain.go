package outline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// errNoChain says that what is kept does not reach the beginning of the record.
var errNoChain = errors.New("the outline has a gap")

// known is a line of a part that is known. It is valid until the next one.
type known struct {
	head
	entry *entry // of the index, or nil
	file  io.ReaderAt
	text  []byte // where there is no entry
}

// whole is the part.
func (l known) whole() (part, error) {
	if l.entry == nil {
		return partOf(l.text)
	}
	text, err := l.entry.line(l.file)
	if err != nil {
		return part{}, err
	}
	return partOf(text)
}

// ids are those of some turns, as lines name them.
type ids struct {
	wanted  map[protocol.TurnID]bool
	digests [][]byte
}

func idsOf(wanted map[protocol.TurnID]bool) ids {
	i := ids{wanted: wanted}
	for id := range wanted {
		i.digests = append(i.digests, appendID(nil, id))
	}
	return i
}

// named reports whether a line may name a turn that is wanted.
func (l known) named(i ids) bool {
	if l.entry != nil {
		return slices.ContainsFunc(i.digests, l.entry.has)
	}
	return named(l.text, i.wanted)
}

// chain shows the lines of the parts that are known, the last one first, until use wants no
// more.
func (v View) chain(use func(l known) (more bool, err error)) error {
	want, more := v.Kept.part.Size, true
	next := func(l known) error {
		if l.Size != want {
			return nil // of another process
		}
		want = l.From
		var err error
		more, err = use(l)
		more = more && want > 0
		return err
	}
	text := func(line []byte) error {
		h, err := headOf(line)
		if err != nil {
			return nil // torn
		}
		return next(known{head: h, text: line})
	}
	if want == 0 {
		return nil
	}
	for _, line := range slices.Backward(v.Kept.lines) {
		if err := text(line); err != nil || !more {
			return err
		}
	}
	read, short := 0, true // whether there is no index to go on with
	for line, err := range backwardBeside(v.Dir, keptName) {
		if read++; read > recent {
			if short, err = v.byIndex(next, &more); !short || err != nil {
				return err
			}
			read = math.MinInt
		}
		if err == nil {
			err = text(line)
		}
		if err != nil || !more {
			return err
		}
	}
	return errNoChain
}

// recent is how many lines from the end of an outline are read there: many want no more.
const recent = 4

// byIndex shows lines of the file by its index, the last one first, until no more is wanted. Short says
// that there is no index.
func (v View) byIndex(show func(known) error, more *bool) (short bool, err error) {
	st, err := os.Lstat(filepath.Join(v.Dir, keptName))
	if err != nil || !st.Mode().IsRegular() {
		return true, nil
	}
	f, err := rollout.OpenBeside(v.Dir, keptName, os.O_RDONLY)
	if err != nil {
		return true, nil
	}
	defer f.Close()
	x := v.indexed(f, st.Size())
	if x == nil {
		return true, nil
	}
	for i := range slices.Backward(x.entries) {
		e := &x.entries[i]
		if err := show(known{head: e.head, entry: e, file: f}); err != nil || !*more {
			return false, err
		}
	}
	return false, errNoChain
}

// counted shows the parts that have turns of which the number is below a bound, the last one
// first, and how far the turns of each count.
func (v View) counted(bound int, use func(l known, below int) (more bool, err error)) error {
	return v.chain(func(l known) (bool, error) {
		below := bound
		bound = min(bound, l.Keep)
		if l.Keep >= below {
			return true, nil
		}
		more, err := use(l, below)
		return more && bound > 0, err
	})
}

// between are the turns from one number up to another.
func (v View) between(first, end int) ([]Turn, error) {
	list := make([]Turn, max(0, end-first))
	if len(list) == 0 {
		return nil, nil
	}
	err := v.counted(v.Kept.part.count(), func(l known, below int) (bool, error) {
		if l.Keep >= end {
			return true, nil
		}
		p, err := l.whole()
		for i, t := range p.Turns {
			if n := l.Keep + i; n >= first && n < end && n < below {
				list[n-first] = t
			}
		}
		return l.Keep > first, err
	})
	return list, err
}

// find is the newest turn with an id whose number is below a bound, and its number; -1 where
// there is none.
func (v View) find(id protocol.TurnID, bound int) (found Turn, at int, err error) {
	want := idsOf(map[protocol.TurnID]bool{id: true})
	at = -1
	err = v.counted(bound, func(l known, below int) (bool, error) {
		if !l.named(want) {
			return true, nil
		}
		p, err := l.whole()
		for i, t := range slices.Backward(p.Turns) {
			if t.ID == id && l.Keep+i < below {
				found, at = t, l.Keep+i
				return false, err
			}
		}
		return true, err
	})
	return found, at, err
}

// among are turns by their ids.
func (v View) among(ids map[protocol.TurnID]bool) (map[protocol.TurnID]Turn, error) {
	found := map[protocol.TurnID]Turn{}
	want := idsOf(ids)
	err := v.counted(v.Kept.part.count(), func(l known, below int) (bool, error) {
		if !l.named(want) {
			return true, nil
		}
		p, err := l.whole()
		for i, t := range slices.Backward(p.Turns) {
			if _, known := found[t.ID]; !known && ids[t.ID] && l.Keep+i < below {
				found[t.ID] = t
			}
		}
		return len(found) < len(ids), err
	})
	return found, err
}

// named reports whether a line names a turn that is wanted.
func named(line []byte, wanted map[protocol.TurnID]bool) bool {
	for {
		_, rest, ok := bytes.Cut(line, []byte(`"id":"`))
		if !ok {
			return false
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(rest))
		var id protocol.TurnID
		if bytes.IndexByte(rest[:end], '\\') < 0 {
			id = protocol.TurnID(rest[:end])
		} else if json.Unmarshal(fmt.Appendf(nil, `"%s"`, rest[:end]), &id) != nil {
			return true // who wants it looks
		}
		if wanted[id] {
			return true
		}
		line = rest
	}
}

// marks are those of a turn.
func (v View) marks(t Turn) (calls map[protocol.CallID]int64, changes []int64, err error) {
	calls = map[protocol.CallID]int64{}
	err = v.chain(func(l known) (bool, error) {
		if l.From >= t.End {
			return true, nil
		}
		p, err := l.whole()
		for _, m := range p.Calls {
			if m.End > t.From && m.End <= t.End {
				calls[m.Call] = m.End
			}
		}
		for _, at := range p.Changes {
			if at >= t.From && at < t.End {
				changes = append(changes, at)
			}
		}
		return l.From > t.From+v.pieces(marked), err
	})
	slices.Sort(changes)
	return calls, changes, err
}

// used is what was used, oldest first.
func (v View) used() ([]Used, error) {
	var parts [][]Used
	err := v.chain(func(l known) (bool, error) {
		parts = append(parts, l.Used)
		return true, nil
	})
	var list []Used
	for _, part := range slices.Backward(parts) {
		for _, u := range part {
			list = spent(list, u)
		}
	}
	return list, err
}

// spent adds to what was used.
func spent(list []Used, u Used) []Used {
	n := len(list)
	if n == 0 || list[n-1].Model != u.Model || !list[n-1].At.Equal(u.At) {
		return append(list, u)
	}
	list[n-1].Requests, list[n-1].Usage = list[n-1].Requests+u.Requests, list[n-1].Usage.Add(u.Usage)
	return list
}

func (v View) all() (o Outline, err error) {
	p := v.Kept.part
	o = Outline{Size: p.Size, Model: p.Model, Damage: p.Damage}
	if o.Turns, err = v.between(0, p.count()); err == nil {
		o.Used, err = v.used()
	}
	return o, err
}

// long adds the long lines of turns, which stand one behind the other.
func (v View) long(turns []Turn) error {
	if len(turns) == 0 {
		return nil
	}
	var spans []Span
	from, end := turns[0].From, turns[len(turns)-1].End
	err := v.chain(func(l known) (bool, error) {
		if s := (Span{l.Size - l.Last, l.Size}); l.Last >= piece && s.From >= from && s.End <= end {
			spans = append(spans, s)
		}
		return l.From > from, nil
	})
	slices.Reverse(spans)
	for i := range turns {
		turns[i].Long = within(spans, turns[i].From, turns[i].End)
	}
	return err
}

// within are the spans between two places.
func within(spans []Span, from, end int64) (list []Span) {
	for _, s := range spans {
		if s.From >= from && s.End <= end {
			list = append(list, s)
		}
	}
	return list
}
