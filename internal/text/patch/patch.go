// Package patch turns patches into the changes they mean.
//
// [Parse] reads three dialects: the "*** Begin Patch" format, git diffs and
// plain unified diffs. [Patch.Plan] works out the whole result in memory; a patch
// that does not apply changes nothing and says which hunk failed, what the file
// has instead and what would succeed. The package is pure: it sees files only
// through the function it is given, and that function decides what may be seen.
package patch

import (
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch/unified"
)

// Dialect is the language of a patch.
type Dialect string

// The dialects.
const (
	Envelope Dialect = "envelope" // *** Begin Patch
	Git      Dialect = "git"      // unified with "diff --git" headers
	Unified  Dialect = "unified"  // only --- and +++ and hunks
)

// Patch is a parsed patch. It is immutable and may be shared.
type Patch struct {
	dialect Dialect
	ops     []operation    // of Envelope
	files   []unified.File // of Git and Unified
}

// Error says why a patch cannot be read or applied.
type Error = unified.Error

// FileError is one file that a best-effort plan left alone.
type FileError struct {
	Path string
	Err  *unified.Error
}

// Read returns the current state of a path as the patch names it; nil is a path
// with nothing there. Links may be given as links or followed; a git diff is
// refused behind links only where they are given as links.
type Read = func(path string) (*delta.Image, error)

// PlanOptions change how a plan is made. The zero value is what Plan uses. All but
// Reverse concern git and unified diffs only.
type PlanOptions struct {
	// Fuzz is how many lines of context at either end of a hunk may be ignored
	// when it fits nowhere.
	Fuzz int
	// Reverse applies the patch backwards. Of an envelope that goes as far as it
	// tells what it removes.
	Reverse bool
	// Strip is how many leading components are cut from names. 0 cuts the a/ and
	// b/ that git writes and copes with names that lack them; -1 cuts none.
	Strip int
	// ThreeWay, if set, returns the content that the diff was made from: the blob
	// whose id begins with blob. Where hunks do not apply, the change is made to
	// that content and merged with the current one; a conflict refuses.
	ThreeWay func(path, blob string) ([]byte, bool)
	// IsDir, if set, tells directories, which Read shows as nothing, for messages.
	IsDir func(path string) bool
	// Merged, if set, is told each path that only a merge made fit.
	Merged func(path string)
}

// Parse reads a patch in any dialect. An error is an *Error.
func Parse(text []byte) (*Patch, error) {
	lines := unified.SplitPatch(text)
	if detect(lines) == Envelope {
		p, err := parseEnvelope(text, lines)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	files, err := unified.Parse(unified.Uncolour(lines))
	if err != nil {
		return nil, err
	}
	p := &Patch{dialect: Unified, files: files}
	for _, f := range files {
		if f.Git {
			p.dialect = Git
		}
	}
	return p, nil
}

// detect tells an envelope from a unified diff by the first line that only one
// of them can have.
func detect(lines []string) Dialect {
	for i, l := range lines {
		l = unified.TrimLineEnd(strings.TrimPrefix(l, unified.BOM))
		switch {
		case strings.HasPrefix(strings.TrimSpace(l), "*** "):
			if marker(l) {
				return Envelope
			}
		case strings.HasPrefix(l, "diff --git "), strings.HasPrefix(l, "@@ -"):
			return Git
		case strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			return Git
		}
	}
	return Git
}

// Dialect returns the language the patch is written in.
func (p *Patch) Dialect() Dialect { return p.dialect }

// Paths returns the paths that the patch names, each once, in order.
func (p *Patch) Paths() []string {
	var paths []string
	seen := map[string]bool{}
	for _, s := range p.Stats() {
		for _, path := range []string{s.Path, s.To} {
			if path != "" && !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Plan returns the net changes that the patch makes, one for each path, with
// paths as the patch names them; a path that ends as it began is left out. Later
// operations see the results of earlier ones. A move is two changes: one with
// From at the new path, one with To at the old. An error is an *Error, and then
// there is no set.
func (p *Patch) Plan(read Read) (delta.Set, error) {
	return p.PlanWith(read, PlanOptions{})
}

// PlanWith is Plan with options.
func (p *Patch) PlanWith(read Read, o PlanOptions) (delta.Set, error) {
	set, failed := p.plan(read, o, true)
	if len(failed) > 0 {
		return nil, failed[0].Err
	}
	return set, nil
}

// PlanEach plans file by file: what applies is in the set, what does not is in
// the errors.
func (p *Patch) PlanEach(read Read) (delta.Set, []FileError) {
	return p.PlanEachWith(read, PlanOptions{})
}

// PlanEachWith is PlanEach with options.
func (p *Patch) PlanEachWith(read Read, o PlanOptions) (delta.Set, []FileError) {
	return p.plan(read, o, false)
}
