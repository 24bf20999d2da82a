package merge

import "kerf/internal/text/charset"

// Contents is Three for the contents of files: where all three are in one encoding
// that is no superset of ASCII, UTF-16 say, they are merged as text and written
// back in kind. Conflicts then hold text, not bytes of the files.
func Contents(base, ours, theirs []byte, declared charset.Charset) ([]byte, []Region, []Conflict) {
	b, err := charset.Decode(base, declared)
	if err != nil {
		return Three(base, ours, theirs)
	}
	o, err := charset.Decode(ours, declared)
	if err != nil || !b.Same(o) {
		return Three(base, ours, theirs)
	}
	t, err := charset.Decode(theirs, declared)
	if err != nil || !b.Same(t) || !b.Known() {
		return Three(base, ours, theirs)
	}
	merged, regions, conflicts := Three(b.Bytes, o.Bytes, t.Bytes)
	if len(conflicts) > 0 {
		return nil, nil, conflicts
	}
	content, err := b.Encode(merged)
	if err != nil { // each line of it was read from one of the three
		return Three(base, ours, theirs)
	}
	return content, regions, nil
}
