package row

import (
	"cmp"
	"fmt"
	"strings"

	"kerf/internal/work/ledger"
)

// Who tells cause, certainty, tool and turn; long also session, call and client.
func (e *Entry) Who(long bool) string {
	parts := []string{e.Cause}
	switch {
	case e.Running:
		parts = append(parts, "still running")
	case e.Certainty != ledger.Proven && e.Certainty != e.Cause:
		parts = append(parts, e.Certainty)
	}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+value)
		}
	}
	if e.Tool != e.Cause {
		add("", e.Tool)
	}
	if e.Client != "" && (long || e.Session == "") {
		parts = append(parts, "by "+e.Client)
	}
	if long {
		add("session ", e.Session)
	}
	add("turn ", e.Turn)
	if long {
		add("call ", e.Call)
	}
	if e.Undone {
		parts = append(parts, "(undone)")
	}
	return strings.Join(parts, "  ")
}

// Words tells what is taken back, of the changes of tools and commands that it comes down to, oldest first.
func Words(roots []*ledger.Entry) string {
	if len(roots) == 0 {
		return "an earlier change"
	}
	e := roots[len(roots)-1]
	turns, calls := map[string]bool{}, map[string]bool{}
	for _, r := range roots {
		turns[r.Session+" "+r.Turn] = true
		calls[r.Call] = true
	}
	switch {
	case len(turns) > 1:
		return fmt.Sprintf("%d turns", len(turns))
	case len(calls) == 1 && e.Call != "" && e.Session != "":
		return fmt.Sprintf("turn %s, call %s (%s)", e.Turn, e.Call, cmp.Or(e.Tool, e.Cause))
	case e.Session != "":
		return "turn " + e.Turn
	}
	return cmp.Or(e.Tool, e.Cause)
}
