// Package records reads the records of a session with their types.
package records

import (
	"iter"
	"slices"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
)

// Record is one record with its place and time. One that cannot be decoded is an
// Unknown.
type Record struct {
	Seq  int64
	Time time.Time
	history.Record
}

// Of decodes a line.
func Of(r rollout.Record) Record {
	body, err := history.Line{Type: r.Type, JSON: r.Raw}.Decode()
	if err != nil {
		body = history.Unknown{Name: r.Type, JSON: r.Raw}
	}
	return Record{r.Seq, r.Time, body}
}

// Read reads a session, given as its directory or its rollout. Like rollout.Read
// it survives any damage and tells of it.
func Read(path string) ([]Record, *rollout.Damage, error) {
	lines, damage, err := rollout.Read(path)
	if err != nil {
		return nil, nil, err
	}
	list := make([]Record, len(lines))
	for i, l := range lines {
		list[i] = Of(l)
	}
	return list, damage, nil
}

// Backward reads a session from its newest record on, of the given types only; of
// all without any.
func Backward(dir string, only ...history.Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for l, err := range rollout.Backward(dir) {
			switch {
			case err != nil:
				if !yield(Record{}, err) {
					return
				}
			case len(only) > 0 && !slices.ContainsFunc(only, func(r history.Record) bool { return r.Type() == l.Type }):
			case !yield(Of(l), nil):
				return
			}
		}
	}
}
