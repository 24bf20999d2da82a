package row

import (
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
