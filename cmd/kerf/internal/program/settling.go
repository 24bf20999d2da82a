package program

import (
	"github.com/spf13/cobra"

	"kerf/internal/work/changes/settle"
)

// Settling are the flags that say what becomes of conflicts. The zero value says nothing.
type Settling struct{ merge, ours, theirs, skip bool }

// AddFlags adds the flags to a command; theirs says what --theirs does there.
func (s *Settling) AddFlags(cmd *cobra.Command, theirs string) {
	f := cmd.Flags()
	f.BoolVar(&s.merge, "merge", false, "in conflicts, write both into the file, with markers")
	f.BoolVar(&s.ours, "ours", false, "in conflicts, leave the lines as they are now")
	f.BoolVar(&s.theirs, "theirs", false, theirs)
	f.BoolVar(&s.skip, "skip", false, "leave files in conflict alone")
	cmd.MarkFlagsMutuallyExclusive("merge", "ours", "theirs", "skip")
}

// Way is what was said; empty for nothing.
func (s Settling) Way() settle.Way {
	switch {
	case s.merge:
		return settle.Merge
	case s.ours:
		return settle.Ours
	case s.theirs:
		return settle.Theirs
	case s.skip:
		return settle.Skip
	}
	return ""
}
