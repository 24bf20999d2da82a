package policy

import (
	"cmp"
	"fmt"

	"kerf/internal/protocol"
)

// Resumed are the settings with which a session goes on. Now are those that configuration,
// trust and flags give, asked what was asked for just now, was those of the session's last
// turn. What was not asked for stays as it was, but the modes never allow more than now.
// Narrowed says in a line what the session may do no longer, and is empty otherwise.
//
// Undecided says that neither trust nor configuration says anything about the directory, and
// that it is the session's own: then the user's word for the session still counts there, unless
// it was that there is no sandbox.
//
// A front end with modes for edits of its own begins with these: it takes only model and
// effort over.
func Resumed(now, asked, was protocol.Settings, undecided bool) (set protocol.Settings, narrowed string) {
	set = now
	if asked.Model == "" {
		set.Model = cmp.Or(was.Model, now.Model)
	}
	if asked.Effort == "" {
		set.Effort = cmp.Or(was.Effort, now.Effort)
	}
	if asked.Edits != "" {
		return set, ""
	}
	if n := was.Approval.Rank(); asked.Approval == "" && n > 0 && n < now.Approval.Rank() {
		set.Approval = was.Approval
	}
	switch n := was.Sandbox.Rank(); {
	case asked.Sandbox != "" || n == 0:
	case n <= now.Sandbox.Rank(), undecided && was.Sandbox == protocol.SandboxWorkspace:
		set.Sandbox = was.Sandbox
	default:
		narrowed = fmt.Sprintf("the session ran in the sandbox %s; it goes on in %s, as trust and configuration say here. "+
			"To go on as before: -s %s", was.Sandbox, now.Sandbox, was.Sandbox)
	}
	return set, narrowed
}
