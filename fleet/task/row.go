package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Row makes the task of row number n, which counts from 0.
func (m Map) Row(n int, r Row) Task {
	t := m.Task
	t.ID = fmt.Sprintf("%s-%05d", m.ID, n)
	t.Map = m.ID
	if r.Repository != "" {
		t.Repository = r.Repository
	}
	if r.Revision != "" {
		t.Revision = r.Revision
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(r.Values)) { // a name may begin another: "A" does "A}{B"
		pairs = append(pairs, "{"+name+"}", r.Values[name])
	}
	// What a value holds is not replaced again.
	t.Prompt = strings.NewReplacer(pairs...).Replace(t.Prompt)
	return t
}

// badKept bounds how many tasks that were not done a map names.
const badKept = 100

// Count takes up how a task of the map ended.
func (m *Map) Count(id string, end Phase) {
	m.Counts[end]++
	if end != Done && len(m.Bad) < badKept {
		m.Bad = append(m.Bad, id)
	}
}
