package files

import (
	"kerf/internal/agent/tool"
)

// Writable refuses a change of something that the session's boundary closes, before
// anybody is asked about it. A change that is made as far as it goes is refused where it
// comes to that.
func (f *Files) Writable(a tool.Action) error {
	change, ok := a.(tool.Change)
	if !ok || change.BestEffort {
		return nil
	}
	for _, c := range change.Set {
		if err := f.o.Tree.MayWrite(c.Path, c.Post == nil || isLink(c.Pre) || isLink(c.Post)); err != nil {
			return Refusal(c.Path, err)
		}
	}
	return nil
}
