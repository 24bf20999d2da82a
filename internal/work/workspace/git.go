package workspace

import (
	"context"

	"kerf/internal/text/delta"
	"kerf/internal/work/repo"
	"kerf/internal/work/scan"
)

// InGit finds contents in the object store of the repository that a path is in, for
// changes.Reader.Elsewhere: those whose sum is that of the version, and the blob that a scan
// named because it was too large to be read.
func InGit() func(path string, v delta.Version) ([]byte, bool) {
	var contents repo.Contents
	return func(path string, v delta.Version) ([]byte, bool) {
		return contents.Find(context.Background(), path, v.Size, func(blob string, data []byte) bool {
			return delta.SumOf(data) == v.Sum || scan.StandIn(blob) == v.Sum
		})
	}
}
