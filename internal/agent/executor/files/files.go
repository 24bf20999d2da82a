// Package files is what tools see of the files of a workspace: their states, what the model
// has seen of them, and what a change of them is.
package files

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"

	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/code"
	"kerf/internal/agent/view"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/search"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// Tree reads the files of a workspace.
type Tree interface {
	// Resolve makes a path absolute and checks that it lies in the workspace.
	Resolve(path string) (string, error)
	// Read returns the state of a file, following links; ReadEntry that of what has the
	// name. At most limit bytes are read.
	Read(path string, limit int64) (*delta.Image, error)
	ReadEntry(path string, limit int64) (*delta.Image, error)
	// Target is a path without links; Entry one whose last name may be a link.
	Target(path string) (string, error)
	Entry(path string) (string, error)
	// MayWrite says why a path may not be written; link means the name itself.
	MayWrite(path string, link bool) error
}

// Options make Files.
type Options struct {
	Cwd  string
	Base string // diffs name paths relative to this directory
	Tree Tree
	Txn  *txn.Workspace // enters what an editor wrote into the ledger
	// Images gives back the bytes of an image; Keep stores what the model was shown, nil
	// stores nothing.
	Images func(delta.Sum) ([]byte, error)
	Keep   func([]byte) (delta.Sum, error)
	Search *search.Searcher
	// Outputs are the kept outputs of commands.
	Outputs *outputlog.Store
	// Editor holds buffers that are not saved, nil for none.
	Editor protocol.ClientFiles
	// View is what the model has seen, Versions what it was told of versions.
	View     *view.View
	Versions *tree.Versions
	// Seen is what the model of a resumed session last saw.
	Seen map[string]history.Observation
	// Languages answers questions about code; nil has nobody to ask.
	Languages Languages
}

// Languages asks language servers.
type Languages interface {
	Ask(ctx context.Context, env tool.Env, q code.Question) (code.Answer, error)
}

// Files are the files of one workspace as one model sees them. They implement tool.Env,
// and may be used by several goroutines.
type Files struct{ o Options }

// New returns files. Tree, View and Versions must be set.
func New(o Options) *Files {
	f := &Files{o: o}
	for path, s := range o.Seen {
		o.View.Observe(path, f.remembered(s))
	}
	return f
}

// Output returns lines of a kept output, see [outputlog.Store.Lines].
func (f *Files) Output(name string, first, limit, width int) (lines []string, total int, err error) {
	return f.o.Outputs.Lines(name, first, limit, width)
}

// remembered makes an image of a recorded observation; its bytes may be in the store.
func (f *Files) remembered(s history.Observation) *delta.Image {
	if s.Sum == "" {
		return nil
	}
	var sum ledger.Sum
	if err := sum.UnmarshalText([]byte(s.Sum)); err != nil {
		return nil
	}
	return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: s.Mode, Sum: delta.Sum(sum)}}
}

// AskLanguage asks a language server.
func (f *Files) AskLanguage(ctx context.Context, q code.Question) (code.Answer, error) {
	if f.o.Languages == nil {
		return code.Answer{}, tool.Refuse(tool.UnknownTool, "no language server is used here. Use grep")
	}
	return f.o.Languages.Ask(ctx, f, q)
}

// Cwd is where relative paths start.
func (f *Files) Cwd() string { return f.o.Cwd }

// Resolve makes path absolute and checks that it lies in the workspace.
func (f *Files) Resolve(path string) (string, error) {
	abs, err := f.o.Tree.Resolve(path)
	if err != nil {
		return "", Refusal(path, err)
	}
	return abs, nil
}

// keepLimit is the largest content that is kept for having been read.
const keepLimit = 1 << 20

// ReadLimit is the largest file that is read whole.
const ReadLimit = 256 << 20

// Read returns the state of a file and its version.
func (f *Files) Read(path string) (*delta.Image, tool.Stamp, error) {
	img, err := f.o.Tree.Read(path, ReadLimit)
	if err != nil {
		return nil, tool.Stamp{}, Refusal(path, err)
	}
	img = f.buffered(path, img)
	return img, f.Stamp(path, img), nil
}

// Stamp tells the version of an image as models know it.
func (f *Files) Stamp(path string, img *delta.Image) tool.Stamp {
	n := f.o.Versions.Observe(f.Real(path), img.At())
	if img == nil {
		return tool.Stamp{Version: n}
	}
	facts := lines.Facts(img.Data)
	ending := facts.Ending
	if ending == "" {
		ending = "lf"
	}
	return tool.Stamp{Version: n, ContentHash: hashOf(img), LineEnding: ending, Encoding: facts.Encoding}
}

func hashOf(img *delta.Image) string { return fmt.Sprintf("%016x", xxhash.Sum64(img.Data)) }

// Seen returns what the model last saw of path.
func (f *Files) Seen(path string) (*delta.Image, bool) {
	last, ok := f.o.View.Latest(f.Real(path))
	if ok && last != nil && !last.Loaded {
		if data, err := f.o.Images(last.Sum); err == nil {
			img := *last
			img.Data, img.Loaded, img.Size = data, true, int64(len(data))
			return &img, true
		}
	}
	return last, ok
}

// Real is the path without links, so that a file has one name.
func (f *Files) Real(path string) string {
	if target, err := f.o.Tree.Target(path); err == nil {
		return target
	}
	return path
}

// Observe notes that the model was shown a file, and returns the record of it.
func (f *Files) Observe(path string, img *delta.Image) history.Observation {
	path = f.Real(path)
	f.o.View.Observe(path, img)
	if img == nil {
		return history.Observation{Path: pathname.Path(path)}
	}
	if f.o.Keep != nil && img.Loaded && len(img.Data) <= keepLimit {
		_, _ = f.o.Keep(img.Data) // without it a stale edit is refused rather than merged
	}
	seen := history.Observation{Path: pathname.Path(path), Sum: img.Sum.String(), Mode: img.Mode,
		Version: f.o.Versions.Observe(path, img.At())}
	if img.Loaded {
		seen.Hash = hashOf(img)
	}
	return seen
}

// List lists a directory of the workspace.
func (f *Files) List(ctx context.Context, dir string, depth, limit int) ([]tool.Entry, bool, error) {
	var names []string
	real, err := f.o.Tree.Target(dir)
	more := false
	if err == nil {
		names, more, err = f.o.Search.List(ctx, real, depth, limit)
	}
	if err != nil {
		return nil, false, Refusal(dir, err)
	}
	entries := make([]tool.Entry, len(names))
	for i, n := range names {
		entries[i] = tool.Entry{Path: n}
	}
	return entries, more, nil
}

// Glob finds files by pattern.
func (f *Files) Glob(ctx context.Context, dir, pattern string, limit int) ([]string, bool, error) {
	var paths []string
	real, err := f.o.Tree.Target(dir)
	more := false
	if err == nil {
		paths, more, err = f.o.Search.Glob(ctx, real, renamed(pattern, dir, real), limit)
	}
	if err != nil {
		return nil, false, Refusal(dir, err)
	}
	for i := range paths {
		paths[i] = renamed(paths[i], real, dir)
	}
	return paths, more, nil
}

// Grep finds lines by pattern.
func (f *Files) Grep(ctx context.Context, q tool.Query) ([]tool.Line, tool.Missed, error) {
	var found []search.Line
	asked := q.Dir
	real, err := f.o.Tree.Target(asked)
	var missed search.Missed
	if err == nil {
		q.Dir = real
		found, missed, err = f.o.Search.Grep(ctx, search.Query(q))
	}
	if err != nil {
		return nil, tool.Missed{}, Refusal(asked, err)
	}
	for i, path := range missed.Large {
		missed.Large[i] = renamed(path, real, asked)
	}
	result := make([]tool.Line, len(found))
	for i, l := range found {
		l.Path = renamed(l.Path, real, asked)
		result[i] = tool.Line(l)
	}
	return result, tool.Missed(missed), nil
}

// renamed is a path below from as one below to, in the spelling of from that was used.
func renamed(path, from, to string) string {
	from, to = filepath.ToSlash(from), filepath.ToSlash(to)
	if rest, ok := strings.CutPrefix(path, from); ok && from != to && (rest == "" || rest[0] == '/') {
		return to + rest
	}
	return path
}

// Refusal turns a fault of the machine about path into words for the model.
func Refusal(path string, err error) error {
	var refused *tool.Error
	var outside *tree.OutsideError
	var special *tree.SpecialError
	var large *tree.TooLargeError
	var pattern *search.PatternError
	var bounded *boundary.RefusedError
	var searched *search.OutsideError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &outside):
		return tool.Refuse(tool.OutsideWorkspace, "%s is outside the workspace (%s). Use a path inside it, or ask the "+
			"user to add the directory with --add-dir",
			path, strings.Join(outside.Roots, ", "))
	case errors.As(err, &bounded):
		return tool.Refuse(tool.Denied, "%v. The file tools and commands are held by the same boundary; the user sees the "+
			"reason with kerf explain --path %s", bounded, path)
	case errors.As(err, &searched):
		return tool.Refuse(tool.OutsideWorkspace, "%s is outside the workspace (%s). Use a path inside it, or ask the "+
			"user to add the directory with --add-dir", path, strings.Join(searched.Roots, ", "))
	case errors.Is(err, tree.ErrDirectory):
		return tool.Refuse(tool.NotAFile, "%s is a directory. Use list_dir to see what is in it", path)
	case errors.As(err, &special):
		return tool.Refuse(tool.NotAFile, "%s is a %s, not a regular file. It is neither read nor written", path,
			special.What)
	case errors.As(err, &large):
		return tool.Refuse(tool.TooLarge, "%s has %d bytes; at most %d are read. Look at parts of it with a command such "+
			"as sed -n", path, large.Size, large.Limit)
	case errors.As(err, &pattern):
		return tool.Refuse(tool.InvalidArguments, "%v", pattern)
	}
	return err
}

// Relative is path as diffs name it.
func (f *Files) Relative(path string) string {
	rel, err := filepath.Rel(f.o.Base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return strings.TrimPrefix(filepath.ToSlash(path), "/")
	}
	return filepath.ToSlash(rel)
}
