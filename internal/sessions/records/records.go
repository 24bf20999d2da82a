// Package records reads the records of a session with their types.
package records

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
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

// maxFirst bounds the first record of a session, which holds the instructions.
const maxFirst = 16 << 20

// First is the first record of the session in a directory, which says where it began.
func First(dir string) (Record, error) {
	f, err := os.Open(filepath.Join(dir, "rollout.jsonl"))
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxFirst)).ReadBytes('\n')
	if err != nil {
		return Record{}, fmt.Errorf("the first record: %w", err)
	}
	var head struct {
		Seq       int64     `json:"seq"`
		Timestamp time.Time `json:"timestamp"`
		Type      string    `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return Record{}, fmt.Errorf("the first record: %w", err)
	}
	return Of(rollout.Record{Seq: head.Seq, Time: head.Timestamp, Type: head.Type, Raw: line}), nil
}

// Backward reads a session from its newest record on, of the given types only; of
// all without any.
func Backward(dir string, only ...history.Record) iter.Seq2[Record, error] {
	if len(only) == 0 {
		return BackwardOf(dir, rollout.Back{})
	}
	return BackwardOf(dir, rollout.Back{Want: Types(only...)})
}

// Types tells records of the given types by their names.
func Types(only ...history.Record) func(kind string) bool {
	return func(kind string) bool {
		return slices.ContainsFunc(only, func(r history.Record) bool { return r.Type() == kind })
	}
}

// BackwardOf is Backward for the records that o names.
func BackwardOf(dir string, o rollout.Back) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for l, err := range rollout.BackwardOf(dir, o) {
			if err != nil {
				if !yield(Record{}, err) {
					return
				}
				continue
			}
			if !yield(Of(l), nil) {
				return
			}
		}
	}
}
