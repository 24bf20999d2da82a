package apply

import (
	"kerf/internal/text/delta"
	"kerf/internal/text/patch/unified"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
)

// maxBlobs bounds the contents of a session that are looked at for a merge.
const maxBlobs = 256 << 20

// Blobs finds the contents that a session's diff was made from among the images of a
// ledger, by git's name for them, so that a merge needs no repository. Images that
// are no longer kept are not found.
func Blobs(l *ledger.Ledger, images changes.Images, session string) (func(id string) ([]byte, bool), error) {
	have, total := map[delta.Sum][]byte{}, int64(0)
	for e, err := range l.Backward() {
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
				if data, err := images.Get(img.Sum); err == nil {
					have[img.Sum] = data
					total += img.Size
				}
			}
		}
	}
	return func(id string) ([]byte, bool) {
		for _, data := range have {
			if unified.IsBlob(data, id) {
				return data, true
			}
		}
		return nil, false
	}, nil
}
