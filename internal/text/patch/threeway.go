package patch

import (
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"strings"

	"kerf/internal/text/merge"
)

// threeWay makes the change to the content that the diff was made from and
// merges the result with the current one. Where that conflicts, misfit gets the
// lines.
func (pl *planner) threeWay(f *fileDiff, name string, ours []byte, misfit *Error) ([]byte, bool) {
	if pl.opt.ThreeWay == nil || f.create || f.remove || f.oldID == "" || nullID(f.oldID) {
		return nil, false
	}
	base, ok := pl.opt.ThreeWay(name, f.oldID)
	if !ok || !isBlob(base, f.oldID) {
		return nil, false
	}
	theirs, err := applyHunks(base, f.hunks, 0)
	if err != nil {
		return nil, false
	}
	merged, _, conflicts := merge.Three(base, ours, theirs)
	if len(conflicts) == 0 {
		if pl.opt.Merged != nil {
			pl.opt.Merged(name)
		}
		return merged, true
	}
	r := conflicts[0].OursLines
	misfit.Conflict = true
	misfit.Message = fmt.Sprintf("the file and the diff both changed the same place (lines %d-%d, %d such places); make the diff from the file as it is\n%s",
		r.Start, max(r.Start, r.End), len(conflicts), misfit.Message)
	return nil, false
}

// IsBlob reports whether git gives content the name id, of either hash and perhaps
// abbreviated.
func IsBlob(content []byte, id string) bool { return isBlob(content, id) }

// isBlob reports whether content has the id, which may be abbreviated and of
// either hash.
func isBlob(content []byte, id string) bool {
	return strings.HasPrefix(blobID(content, 2*sha1.Size), id) || strings.HasPrefix(blobID(content, 2*sha256.Size), id)
}
