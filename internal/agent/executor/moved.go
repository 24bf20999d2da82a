package executor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/turn"
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

// Gather finds what the model is told before a turn: what is new around it, what was
// undone, the news of the session, and files that changed.
func (h *Executor) Gather(ctx context.Context, e turn.Gather, news []*model.Item) turn.Gathered {
	h.begin(e.Turn)
	var in turn.Gathered
	if h.o.Instructions != nil {
		in = h.o.Instructions.Gather(ctx, e)
	}
	in.Notices = append(append(in.Notices, h.takeNotes()...), news...)
	if it := h.changed(); it != nil && e.Again == 0 {
		in.Notices = append(in.Notices, it)
	}
	return in
}

// changed tells of files that the model has in its context and that are no longer
// as it saw them, with short diffs; nil when there are none. Each change is told
// once.
func (h *Executor) changed() *model.Item {
	var b strings.Builder
	left := 0
	for _, sight := range h.view.Recent(movedFiles) {
		text, sum := h.since(sight)
		if text == "" || !h.view.Tell(sight.Path, sum) {
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
	return model.UserText("<files_changed>\nThese files changed since you saw them, and not by your file tools. Edits of other places still fit; read a file again where it matters.\n" +
		strings.ReplaceAll(b.String(), "</files_changed", "<\\/files_changed") + "</files_changed>")
}

// since tells what became of a file since it was seen, and its present sum; it is
// empty when nothing did.
func (h *Executor) since(seen history.Sight) (text, sum string) {
	if seen.Sum == "" {
		return "", ""
	}
	name := h.relative(seen.Path)
	if st, err := os.Stat(seen.Path); err == nil && st.Size() > movedSize {
		return "", "" // reading it would delay the request
	}
	now, _, err := h.Read(seen.Path)
	switch {
	case err != nil:
		return "", ""
	case now == nil:
		return name + ": it is gone\n", "gone"
	case now.Sum.String() == seen.Sum:
		return "", ""
	}
	old := h.load(h.remembered(seen))
	if old == nil || !old.Loaded {
		return name + ": it has other content now\n", now.Sum.String()
	}
	text = h.unified(delta.Set{{Path: seen.Path, Pre: old, Post: now}})
	if len(text) > movedDiff {
		return name + ": it changed in many places\n", now.Sum.String()
	}
	return text, now.Sum.String()
}
