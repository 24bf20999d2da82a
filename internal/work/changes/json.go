package changes

import (
	"encoding/json"

	"kerf/internal/pathname"
)

// MarshalJSON writes a path that survives.
func (f FilePlan) MarshalJSON() ([]byte, error) {
	type plain FilePlan
	return json.Marshal(struct {
		Path pathname.Path `json:"path"`
		plain
	}{pathname.Path(f.Path), plain(f)})
}
