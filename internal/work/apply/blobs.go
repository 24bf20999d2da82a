package apply

import (
	"kerf/internal/text/delta"
	"kerf/internal/text/patch/unified"
	"kerf/internal/work/changes"
)

// maxBlobs bounds the contents of a session that are looked at for a merge.
const maxBlobs = 256 << 20

// Blobs are contents that a diff was made from, so that a merge needs no repository.
type Blobs map[delta.Sum][]byte

// SessionBlobs are the contents that a session found and left, as far as they are
// still kept.
func SessionBlobs(r changes.Reader, session string) (Blobs, error) {
	have, total := Blobs{}, int64(0)
	for e, err := range r.Ledger.Backward() {
		if err != nil {
			return nil, err
		}
		if e.Session != session {
			continue
		}
		for _, c := range e.Set() {
			for _, img := range []*delta.Image{c.Pre, c.Post} {
				if img == nil || img.Kind != delta.File || have[img.Sum] != nil || total+img.Size > maxBlobs {
					continue
				}
				if data, err := r.Images.Get(img.Sum); err == nil {
					have[img.Sum] = data
					total += img.Size
				}
			}
		}
	}
	return have, nil
}

// find returns the content whose name in git begins with id.
func (b Blobs) find(id string) ([]byte, bool) {
	for _, data := range b {
		if unified.IsBlob(data, id) {
			return data, true
		}
	}
	return nil, false
}
