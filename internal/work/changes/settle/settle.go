// Package settle makes a change where a later change of the same place stands in its way, as
// the user wants it.
package settle

import (
	"errors"
	"fmt"
	"strings"

	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/merge"
	"kerf/internal/work/store"
)

// Way says what becomes of files that were changed since in the same place. The zero value
// leaves the conflict.
type Way string

// The ways.
const (
	// Skip leaves such files as they are, as a whole.
	Skip Way = "skip"
	// Ours leaves the lines in conflict as they are now, and changes the others.
	Ours Way = "ours"
	// Theirs changes the lines in conflict as well; what was done there since goes.
	Theirs Way = "theirs"
	// Merge writes both into the file, with markers.
	Merge Way = "merge"
)

// Conflict makes the change c of what is there now. The contents are loaded where the conflict is
// about lines. It returns what the file becomes, and a note for the user; false where this way leads
// to nothing. Theirs says what the change leads to: "before the change" for an undo.
func Conflict(way Way, c delta.Change, now *delta.Image, conflict *delta.ConflictError, theirs string) (*delta.Image,
	string, bool) {
	if way == "" || way == Skip {
		return nil, "", false
	}
	if len(conflict.Conflicts) > 0 {
		if next, note, ok := lines(way, c, now, theirs); ok {
			return next, note, true
		}
	}
	switch way { // as a whole: it is no text, say
	case Ours:
		return now, "it was changed since and stays", true
	case Theirs:
		return c.Post, "what was changed in it since is gone", true
	}
	return nil, "", false
}

// lines settles conflicts in a text.
func lines(way Way, c delta.Change, now *delta.Image, theirs string) (*delta.Image, string, bool) {
	places := 0
	merged, ok := merge.Settle(c.Pre.Data, now.Data, c.Post.Data, charset.Charset{}, func(m merge.Conflict) []byte {
		places++
		switch way {
		case Ours:
			return m.Ours
		case Theirs:
			return m.Theirs
		}
		return merge.Marked(m, "now", theirs)
	})
	if !ok {
		return nil, "", false
	}
	mode := now.Mode
	if c.Pre.Mode == now.Mode {
		mode = c.Post.Mode
	}
	what := map[Way]string{Ours: "stays as it is", Theirs: "is as it was " + theirs, Merge: "has markers: edit it"}
	many := map[Way]string{Ours: "stay as they are", Theirs: "are as they were " + theirs, Merge: "have markers: edit them"}
	note := "1 place that was changed since " + what[way]
	if places != 1 {
		note = fmt.Sprintf("%d places that were changed since %s", places, many[way])
	}
	return delta.NewFile(merged, mode), note, true
}

// Note tells why a change back to post does not fit what is there now.
func Note(c *delta.ConflictError, now, post *delta.Image) string {
	switch {
	case len(c.Conflicts) > 0:
		return fmt.Sprintf("line %d was changed since", c.Conflicts[0].OursLines.Start)
	case now == nil:
		return "it is gone"
	case post == nil:
		return "it was changed since, and undo would delete these changes"
	case c.Base == nil:
		return "something else is there now"
	}
	return "it was changed since in a way that cannot be merged"
}

// Gone tells why something that is needed is not there.
func Gone(now *delta.Image) string {
	if now == nil {
		return "it is gone"
	}
	return "something else is there now"
}

// Lost tells why a content is not to be had.
func Lost(err error) string {
	if errors.Is(err, store.ErrDamaged) {
		return "its earlier content is damaged in the store"
	}
	return "its earlier content was not kept"
}

// KindOf is what is there, in words.
func KindOf(i *delta.Image) string {
	return map[delta.Kind]string{delta.Symlink: "a link", delta.File: "a file"}[i.Kind]
}

// Few is the first of some names, and how many more there are.
func Few(names []string) string {
	if more := len(names) - 5; more > 0 {
		names = append(names[:5:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
