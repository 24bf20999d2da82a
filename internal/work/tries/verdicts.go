package tries

import (
	"fmt"

	"kerf/internal/work/ledger"
)

// Newest is the number of the last entry that the try's own ledger has; 0 for none.
func (t *Try) Newest() int64 {
	list, err := t.entries()
	if err != nil || len(list) == 0 {
		return 0
	}
	return list[len(list)-1].Seq
}

// Verdicts are what checks found in a try, as it is entered into the ledger of the directory
// when the try was kept. They are about the state of the files that each names: of what is kept
// in parts, or was merged, none holds. What the checks printed is gone with the try.
type Verdicts []ledger.Entry

// Enter appends them.
func (v Verdicts) Enter(l *ledger.Ledger) error {
	for i := range v {
		if err := l.Append(&v[i]); err != nil {
			return fmt.Errorf("record what checks found: %w", err)
		}
	}
	if len(v) == 0 {
		return nil
	}
	return l.Sync() // so that nobody cuts them off unnoticed
}

// Verdicts are those after an entry of the try's own ledger.
func (t *Try) Verdicts(after int64) (verdicts Verdicts, err error) {
	list, err := t.entries()
	if err != nil {
		return nil, fmt.Errorf("read what checks found in try %d: %w", t.ID, err)
	}
	for _, e := range list {
		if e.Check == nil || e.Check.When == "" || e.Seq <= after {
			continue
		}
		v := *e.Check
		v.Output = ""
		verdicts = append(verdicts, ledger.Entry{Time: e.Time, Session: e.Session, Client: e.Client, Turn: e.Turn, Tool: e.Tool,
			Cause: ledger.CauseChecked, Certainty: e.Certainty, Exact: e.Exact, Changes: []ledger.Change{}, Check: &v})
	}
	return verdicts, nil
}
