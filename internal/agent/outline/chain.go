package outline

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"kerf/internal/protocol"
)

// errNoChain says that what is kept does not reach the beginning of the record.
var errNoChain = errors.New("the outline has a gap")

// chain shows the lines of the parts that are known, the last one first, until use wants no
// more.
func (v View) chain(use func(h head, line []byte) (more bool, err error)) error {
	want, more := v.Kept.part.Size, true
	next := func(line []byte) error {
		h, err := headOf(line)
		if err != nil || h.Size != want {
			return nil // of another process, or torn
		}
		want = h.From
		more, err = use(h, line)
		more = more && want > 0
		return err
	}
	if want == 0 {
		return nil
	}
	for _, line := range slices.Backward(v.Kept.lines) {
		if err := next(line); err != nil || !more {
			return err
		}
	}
	for line, err := range kept(v.Dir) {
		if err == nil {
			err = next(line)
		}
		if err != nil || !more {
			return err
		}
	}
	return errNoChain
}

// counted shows the parts that have turns of which the number is below a bound, the last one
// first, and how far the turns of each count.
func (v View) counted(bound int, use func(h head, line []byte, below int) (more bool, err error)) error {
	return v.chain(func(h head, line []byte) (bool, error) {
		below := bound
		bound = min(bound, h.Keep)
		if h.Keep >= below {
			return true, nil
		}
		more, err := use(h, line, below)
		return more && bound > 0, err
	})
}

// between are the turns from one number up to another.
func (v View) between(first, end int) ([]Turn, error) {
	list := make([]Turn, max(0, end-first))
	if len(list) == 0 {
		return nil, nil
	}
	err := v.counted(v.Kept.part.count(), func(h head, line []byte, below int) (bool, error) {
		if h.Keep >= end {
			return true, nil
		}
		p, err := partOf(line)
		for i, t := range p.Turns {
			if n := h.Keep + i; n >= first && n < end && n < below {
				list[n-first] = t
			}
		}
		return h.Keep > first, err
	})
	return list, err
}

// find is the newest turn with an id whose number is below a bound, and its number; -1 where
// there is none.
func (v View) find(id protocol.TurnID, bound int) (found Turn, at int, err error) {
	name, err := json.Marshal(id)
	if err != nil {
		return found, -1, err
	}
	name, at = append([]byte(`"id":`), name...), -1
	err = v.counted(bound, func(h head, line []byte, below int) (bool, error) {
		if !bytes.Contains(line, name) {
			return true, nil
		}
		p, err := partOf(line)
		for i, t := range slices.Backward(p.Turns) {
			if t.ID == id && h.Keep+i < below {
				found, at = t, h.Keep+i
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
	err := v.counted(v.Kept.part.count(), func(h head, line []byte, below int) (bool, error) {
		if !named(line, func(id string) bool { return ids[protocol.TurnID(id)] }) {
			return true, nil
		}
		p, err := partOf(line)
		for i, t := range slices.Backward(p.Turns) {
			if _, known := found[t.ID]; !known && ids[t.ID] && h.Keep+i < below {
				found[t.ID] = t
			}
		}
		return len(found) < len(ids), err
	})
	return found, err
}

// named reports whether a line names a turn that is wanted.
func named(line []byte, wanted func(id string) bool) bool {
	for {
		_, rest, ok := bytes.Cut(line, []byte(`"id":"`))
		if !ok {
			return false
		}
		id, _, _ := bytes.Cut(rest, []byte{'"'})
		if wanted(string(id)) {
			return true
		}
		line = rest
	}
}

// marks are those of a turn.
func (v View) marks(t Turn) (calls map[protocol.CallID]int64, changes []int64, err error) {
	calls = map[protocol.CallID]int64{}
	err = v.chain(func(h head, line []byte) (bool, error) {
		if h.From >= t.End {
			return true, nil
		}
		p, err := partOf(line)
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
		return h.From > t.From+v.pieces(marked), err
	})
	slices.Sort(changes)
	return calls, changes, err
}

// used is what was used, oldest first.
func (v View) used() ([]Used, error) {
	var parts [][]Used
	err := v.chain(func(h head, _ []byte) (bool, error) {
		parts = append(parts, h.Used)
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
