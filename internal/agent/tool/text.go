package tool

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Text is the result as the model reads it.
func (r Result) Text() string {
	var b strings.Builder
	if r.Error != nil {
		b.WriteString(r.Error.Error())
	}
	if r.Output != "" {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(r.Output)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\nwarning %s: %s", w.Code, w.Message)
		if w.Suggestion != "" {
			b.WriteString(" " + w.Suggestion)
		}
	}
	if len(r.UpdatedStates) > 0 && !r.Short {
		// Map keys are sorted by encoding/json, so the text is stable.
		states, err := json.Marshal(r.UpdatedStates)
		if err == nil {
			b.WriteString("\nupdatedFileStates: " + string(states))
		}
	}
	return b.String()
}
