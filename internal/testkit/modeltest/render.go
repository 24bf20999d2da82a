package modeltest

import (
	"kerf/internal/model/script"
	"kerf/internal/model/script/dialect"
)

// M is a JSON object.
type M = dialect.M

// Event returns one event as it stands on the wire, see dialect.Event.
func Event(kind string, members M) string { return dialect.Event(kind, members) }

// Render returns the event stream of the Responses protocol that plays r as
// round k (from 1), see dialect.API.Render.
func Render(r script.Round, k int) []string { return dialect.Responses.Render(r, k) }
