package program

import (
	"slices"
	"strings"

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

// Others names the flags that were not said, for a hint.
func (s Settling) Others() string {
	list := []string{"--merge (markers)", "--theirs", "--ours", "--skip"}
	for i, said := range []bool{s.merge, s.theirs, s.ours, s.skip} {
		if said {
			list = slices.Delete(list, i, i+1)
			break
		}
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
