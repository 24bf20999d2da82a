// Package delegate has the tools by which a model starts agents, talks to them and waits for
// them. What they propose is a [tool.Delegate].
package delegate

import "kerf/internal/agent/tools/define"

// Tools returns them in the order in which models see them.
func Tools() []define.Entry {
	return []define.Entry{spawn(), send(), wait(), closing(), list(), resume()}
}
