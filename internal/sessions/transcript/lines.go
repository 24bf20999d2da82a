package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/outline"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/rollout/brief"
	"kerf/internal/sessions/records"
)

// line is a record of a turn and where it stands. Of a long one only the ends were read: it has the
// fields that stand there, and left is how many bytes were not.
type line struct {
	rollout.Placed
	rec  records.Record
	left int64
}

func lineOf(p rollout.Placed) line { return line{Placed: p, rec: records.Of(p.Record)} }

// briefly is a line of which only the ends were read. Of a text that is cut it has those, with words
// between them, and of what a call printed the end.
func briefly(b brief.Line) line {
	l := line{b.Placed, records.Of(b.Record), b.Left}
	cut := fmt.Sprintf("\n\n… %d bytes are not shown here …\n\n", b.Left)
	join := func(text string) string {
		if !b.Joined {
			return text + cut
		}
		return strings.Replace(text, "\x00", cut, 1)
	}
	switch rec := l.rec.Record.(type) {
	case history.ToolCall:
		if _, end, ok := strings.Cut(rec.Result, "\x00"); ok && b.Joined {
			rec.Result = end
		}
		if rec.Args == nil {
			rec.Args = json.RawMessage(`{}`)
		}
		l.rec.Record = rec
	case history.UserInput:
		rec.Text = join(rec.Text)
		l.rec.Record = rec
	case history.AssistantMessage:
		rec.Text = join(rec.Text)
		l.rec.Record = rec
	}
	return l
}

// backward yields the records of a turn between two places, the last one first.
func backward(dir string, t outline.Turn, from, to int64,
	stop func(r rollout.Record, end int64) bool) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		stopped := false
		plain := func(from, to int64) bool {
			if from <= to {
				return true
			}
			end := int64(0)
			stops := func(r rollout.Record) bool {
				stopped = stop(r, end)
				return stopped
			}
			for r, err := range rollout.BackwardOf(dir, rollout.Back{From: from, To: to, End: &end, Stop: stops}) {
				if !yield(lineOf(rollout.Placed{Record: r, End: end}), err) || err != nil {
					return false
				}
			}
			return !stopped
		}
		at := from
		for _, s := range slices.Backward(t.Long) {
			if s.End > at || s.From < to {
				continue
			}
			if !plain(at, s.End) || !ends(dir, s, yield) {
				return
			}
			at = s.From
		}
		plain(at, to)
	}
}

// forward yields the records of a turn between two places, in order. Want is asked for those that are
// not long; the others are read by their ends.
func forward(dir string, t outline.Turn, o rollout.Ahead) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) { linesOf(dir, t, o, yield) }
}

func linesOf(dir string, t outline.Turn, o rollout.Ahead, yield func(line, error) bool) {
	to := cmp.Or(o.To, t.End)
	if o.Most > 0 {
		to = min(to, o.From+o.Most)
	}
	plain := func(from, to int64) bool {
		if from >= to {
			return true
		}
		for l, err := range rollout.Forward(dir, rollout.Ahead{From: from, To: t.End, Most: to - from, Want: o.Want}) {
			if !yield(lineOf(l), err) || err != nil {
				return false
			}
		}
		return true
	}
	at := o.From
	for _, s := range t.Long {
		if s.From < at || s.From >= to {
			continue
		}
		if !plain(at, s.From) || !ends(dir, s, yield) {
			return
		}
		at = s.End
	}
	plain(at, to)
}

// ends yields a long line, and reports whether more is wanted. One that is no record is passed over.
func ends(dir string, s outline.Span, yield func(line, error) bool) bool {
	b, ok, err := brief.Of(dir, s.From, s.End)
	if err != nil || !ok {
		return err == nil || yield(line{}, err) && false
	}
	return yield(briefly(b), nil)
}
