package exec

import "kerf/internal/text/visible"

// Visible returns s with everything that a terminal would act on, or hide, as
// visible text. See [visible.String].
func Visible(s string) string { return visible.String(s) }

// oneLine returns s visible and without line breaks.
func oneLine(s string) string { return visible.Line(s) }
