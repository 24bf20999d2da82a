package files

import (
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
)

// briefFrom is the size in bytes from which a repeated read is answered briefly.
const briefFrom = 400

// UnseenText is the code of the warning that a change touches text the model was
// never shown.
const UnseenText = "UNSEEN_TEXT"

// InView looks at what a tool proposes with what the model has in its context: a
// read of lines it holds is answered briefly, and a change of lines it was never
// shown carries a warning.
func (f *Files) InView(a tool.Action) tool.Action {
	switch a := a.(type) {
	case tool.Answer:
		return f.brief(a)
	case tool.Change:
		if a.Derived {
			return a
		}
		for _, c := range a.Set {
			if text := f.unseen(c); text != "" && a.Result.Short {
				a.Result.Warnings = append(a.Result.Warnings, tool.Warning{Code: UnseenText, Message: text + "; check them."})
			} else if text != "" {
				a.Result.Warnings = append(a.Result.Warnings, tool.Warning{Code: UnseenText, Message: text + ".",
					Suggestion: "Read the place and check that the change is what you meant."})
			}
		}
		return a
	}
	return a
}

func (f *Files) brief(a tool.Answer) tool.Action {
	if len(a.Observed) != 1 || a.Observed[0].First == 0 || a.Observed[0].Image == nil ||
		len(a.Result.Output) < briefFrom || a.Result.Error != nil {
		return a
	}
	saw := a.Observed[0]
	path := f.Real(string(saw.Path))
	if !f.o.View.Holds(path, saw.Image.Sum.String(), saw.First, saw.Last) {
		return a
	}
	version := a.Result.Output[strings.LastIndexByte(a.Result.Output, '\n')+1:]
	if !strings.HasPrefix(version, "[") && !strings.HasPrefix(version, "versionInfo") { // a line of the file
		version = ""
	} else {
		version = "\n" + version
	}
	a.Result.Output = fmt.Sprintf("unchanged: lines %d-%d of %d are what you were shown before in this conversation; "+
		"they are not repeated%s",
		saw.First, saw.Last, saw.Lines, version)
	return a
}

// unseen says which lines of c the model changes without having seen them, or
// nothing.
func (f *Files) unseen(c delta.Change) string {
	const most = 1 << 20 // larger texts are not compared for a warning
	if c.Pre == nil || c.Post == nil || !c.Pre.Loaded || !c.Post.Loaded || len(c.Pre.Data) > most ||
		len(c.Post.Data) > most {
		return ""
	}
	path := f.Real(c.Path)
	index := lines.NewIndex(c.Pre.Data)
	for _, e := range diff.Lines(c.Pre.Data, c.Post.Data) {
		first, last := index.LineOf(e.Start), index.LineOf(max(e.Start, e.End-1))
		if !f.o.View.Unseen(path, c.Pre.Sum.String(), first, last) {
			continue
		}
		if !f.o.View.Knows(path) {
			return fmt.Sprintf("%s was changed without having been read in this conversation", c.Path)
		}
		return fmt.Sprintf("lines %d-%d of %s were changed, which you were never shown", first, last, c.Path)
	}
	return ""
}
