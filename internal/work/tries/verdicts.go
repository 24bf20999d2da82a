package tries

import (
	"fmt"
	"slices"

	"kerf/internal/work/check"
	"kerf/internal/work/homes"
	"kerf/internal/work/ledger"
)

// Verdicts are what checks found in a try, as it is entered into the ledger of the directory
// when the try was kept. They are about the state of the files that each names: of what is kept
// in parts, or was merged, none holds. What the checks printed is gone with the try.
type Verdicts []ledger.Entry

// Beside notes how many files were there when the checks ran, and are not kept, although they
// are in no state of the files.
func (v Verdicts) Beside(n int) {
	for _, e := range v {
		e.Check.Beside = n
	}
}

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

// Verdicts are the newest of each check since something was changed in the try, oldest first.
// Where the try's own ledger is not as it was written, there are none, and the error is a
// [ledger.BreakError].
func (t *Try) Verdicts() (verdicts Verdicts, err error) {
	list, err := t.entries()
	if err == nil && len(list) > 0 {
		err = t.sound()
	}
	if err != nil {
		return nil, fmt.Errorf("read what checks found in try %d: %w", t.ID, err)
	}
	seen := map[[3]string]bool{}
	for _, e := range slices.Backward(list) {
		if len(e.Changes)+len(e.Dirs)+len(e.Gone)+len(e.Modes) > 0 {
			break
		}
		if e.Check == nil || e.Check.When == "" {
			continue
		}
		v := *e.Check
		if is := [3]string{v.Name, v.Command, v.When}; seen[is] {
			continue
		} else {
			seen[is] = true
		}
		v.Output = ""
		verdicts = append(verdicts, ledger.Entry{Time: e.Time, Session: e.Session, Client: e.Client, Turn: e.Turn, Tool: e.Tool,
			Cause: ledger.CauseChecked, Certainty: e.Certainty, Exact: e.Exact, Changes: []ledger.Change{}, Check: &v})
	}
	slices.Reverse(verdicts)
	return verdicts, nil
}

// Attempt is the newest verdict that decides about the try as one of several attempts, whatever
// it changed itself, with the number of its entry; nil when there is none.
func (t *Try) Attempt() (v *ledger.Verdict, seq int64, err error) {
	list, err := t.entries()
	for _, e := range slices.Backward(list) {
		if e.Check != nil && e.Check.When == string(check.Attempt) {
			return e.Check, e.Seq, err
		}
	}
	return nil, 0, err
}

// sound is the first place where the try's own ledger is not as it was written.
func (t *Try) sound() error {
	l, err := ledger.Open(homes.Of(t.Dir, t.Meta.Roots[0]))
	if err != nil {
		return err
	}
	defer l.Close()
	_, err = l.Verify()
	return err
}
