package tries

import "kerf/internal/text/delta"

// Found reports whether the records of the try have a content that it found at a path.
func (t *Try) Found(path, text string) bool {
	list, err := t.entries()
	if err != nil {
		return false
	}
	for _, e := range list {
		for _, c := range e.Set() {
			if c.Path == path && c.Pre != nil && c.Pre.Sum == delta.SumOf([]byte(text)) {
				return true
			}
		}
	}
	return false
}
