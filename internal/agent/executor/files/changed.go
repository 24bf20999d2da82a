package files

import (
	"fmt"
	"os"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/text/delta"
)

// Bounds of what is told of files that changed since the model saw them.
const (
	movedFiles = 200     // files looked at, the ones seen last
	movedSize  = 1 << 20 // larger files are named only
	movedDiff  = 3000    // bytes of one diff
	movedAll   = 12_000  // bytes of all of them
)

// Changed tells of files that the model has in its context and that are no longer
// as it saw them, with short diffs; nil when there are none. Each change is told
// once.
func (f *Files) Changed() *model.Item {
	var b strings.Builder
	left := 0
	for _, o := range f.o.View.Recent(movedFiles) {
		text, sum := f.since(o)
		if text == "" || !f.o.View.Tell(string(o.Path), sum) {
			continue
		}
		if b.Len()+len(text) > movedAll {
			left++
			continue
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return nil
	}
	if left > 0 {
		fmt.Fprintf(&b, "%d more files changed; read them again before you rely on them\n", left)
	}
	return model.UserText("<files_changed>\nThese files changed since you saw them, and not by your file tools. Edits " +
		"of other places still fit; read a file again where it matters.\n" +
		strings.ReplaceAll(b.String(), "</files_changed", "<\\/files_changed") + "</files_changed>")
}

// since tells what became of a file since it was seen, and its present sum; it is
// empty when nothing did.
func (f *Files) since(seen history.Observation) (text, sum string) {
	if seen.Sum == "" {
		return "", ""
	}
	name := f.Relative(string(seen.Path))
	if st, err := os.Stat(string(seen.Path)); err == nil && st.Size() > movedSize {
		return "", "" // reading it would delay the request
	}
	now, _, err := f.Read(string(seen.Path))
	switch {
	case err != nil:
		return "", ""
	case now == nil:
		return name + ": it is gone\n", "gone"
	case now.Sum.String() == seen.Sum:
		return "", ""
	}
	old := f.Load(f.remembered(seen))
	if old == nil || !old.Loaded {
		return name + ": it has other content now\n", now.Sum.String()
	}
	text = f.Unified(delta.Set{{Path: string(seen.Path), Pre: old, Post: now}})
	if len(text) > movedDiff {
		return name + ": it changed in many places\n", now.Sum.String()
	}
	return text, now.Sum.String()
}
