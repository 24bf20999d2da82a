package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/pathname"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/author"
	"kerf/internal/work/repo"
)

// Options say what is told.
type Options struct {
	Changes  changes.Reader
	Dir      string // in the working tree, a real path
	Revision string // as git names a commit
	Paths    []string
	// Model is the model of a turn, as `provider/name`, or empty.
	Model func(session, turn string) string
	// Kerf is the version of the program.
	Kerf string
}

// OfCommit says who wrote the files of a commit: those at or below the paths, which are real
// ones, or all. Sums are the SHA-256 of the files that the record names.
func OfCommit(ctx context.Context, o Options) (record *Record, sums map[string]string, err error) {
	rev, err := repo.Commit(ctx, o.Dir, o.Revision)
	if err != nil {
		return nil, nil, err
	}
	if record, err = New(rev, o.Kerf, time.Now()); err != nil {
		return nil, nil, err
	}
	files, err := repo.Files(ctx, o.Dir, rev)
	if err != nil {
		return nil, nil, err
	}
	past, err := o.Changes.Past()
	if err != nil {
		return nil, nil, err
	}
	touched := author.Touched(past)
	top, _, _ := repo.Find(o.Dir) // it was found just now
	sums = map[string]string{}
	for _, f := range files {
		real := filepath.ToSlash(filepath.Join(top, filepath.FromSlash(f.Path)))
		if !touched[real] || !strings.HasPrefix(f.Mode, "100") || !below(real, o.Paths) {
			continue
		}
		content, ok := repo.Blob(ctx, o.Dir, f.ID)
		if !ok {
			return nil, nil, fmt.Errorf("%s of %s cannot be read from git", visible.Line(f.Path), rev)
		}
		sum := sha256.Sum256(content)
		sums[f.Path] = hex.EncodeToString(sum[:])
		record.Add(f.Path, author.Then(past, real, content), o.Model)
	}
	return record, sums, nil
}

// below reports whether a path is one of some, or lies below one; all do if there are none.
func below(file string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return pathname.Inside(p, file) })
}
