package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/excerpt"
	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
	"kerf/internal/text/patch"
)

//go:embed apply_patch.md
var applyPatchWords string

//go:embed apply_patch.lark
var applyPatchGrammar string

type patchArgs struct {
	Input           *string `json:"input,omitempty" brief:"required" doc:"The whole patch, from *** Begin Patch to *** End Patch."`
	Patch           *string `json:"patch,omitempty" doc:"The same as input."`
	TransactionMode string  `json:"transactionMode,omitempty" enum:"all-or-nothing,best-effort" doc:"all-or-nothing (default), or best-effort: file by file."`
}

func applyPatch() entry {
	return define.Tool[patchArgs]{
		Name: "apply_patch", Text: applyPatchWords, Grammar: applyPatchGrammar, Plan: preparePatch,
		Aliases: []define.Alias[patchArgs]{define.As("ApplyPatch", func(a patchArgs) (patchArgs, error) { return a, nil })},
	}.Entry()
}

func preparePatch(_ context.Context, env tool.Env, c tool.Call, a patchArgs) (tool.Action, error) {
	text := a.Input
	switch {
	case a.Input == nil && a.Patch == nil:
		return nil, tool.Refuse(tool.InvalidArguments, "%s: missing field input (a string): the patch", c.Name)
	case a.Input != nil && a.Patch != nil:
		return nil, tool.Refuse(tool.InvalidArguments, "%s: expected input or patch, found both", c.Name)
	case text == nil:
		text = a.Patch
	}
	return proposePatch(env, c.Manner, *text, "", a.TransactionMode == "best-effort")
}

// proposePatch plans a patch whose relative paths start at dir, or at the working
// directory when dir is empty.
func proposePatch(env tool.Env, m tool.Manner, text, dir string, bestEffort bool) (tool.Action, error) {
	parsed, err := patch.Parse([]byte(text))
	if err != nil {
		return nil, patchRefusal(err)
	}
	files := &patchFiles{env: env, dir: dir, abs: map[string]string{}, added: map[string]bool{},
		asText: parsed.Dialect() == patch.Envelope, texts: map[string]patchText{}}
	for _, s := range parsed.Stats() {
		files.added[s.Path] = files.added[s.Path] || s.Op == patch.Added
	}
	change := tool.Change{BestEffort: bestEffort}
	if bestEffort {
		var failed []patch.FileError
		change.Set, failed = parsed.PlanEach(files.read)
		for _, f := range failed {
			e, ok := asRefusal(patchRefusal(f.Err))
			if !ok {
				return nil, f.Err
			}
			change.Failures = append(change.Failures, tool.Failure{Path: f.Path, Err: e})
		}
		if len(change.Set) == 0 && len(failed) > 0 {
			return nil, change.Failures[0].Err
		}
		for _, f := range change.Failures {
			f.Err.Message = strings.TrimSuffix(f.Err.Message, nothingWritten)
		}
	} else if change.Set, err = parsed.Plan(files.read); err != nil {
		return nil, patchRefusal(err)
	}
	if len(change.Set) == 0 {
		return tool.Answer{Result: tool.Result{Success: true,
			Output: "Success. The files already read as the patch would make them; nothing changed."}}, nil
	}
	return files.propose(change, m)
}

const nothingWritten = "\nNothing was written."

// patchRefusal is err in words for the model; faults of the machine stay.
func patchRefusal(err error) error {
	if e, ok := asRefusal(err); ok {
		return e // what reading a file was refused for
	}
	var p *patch.Error
	if !errors.As(err, &p) || p.Cause != nil {
		return err
	}
	return tool.Refuse(tool.PatchFailed, "%v"+nothingWritten, p)
}

// patchFiles reads files for a patch and remembers where they are.
type patchFiles struct {
	env tool.Env
	dir string
	// By the path as the patch names it:
	abs   map[string]string
	added map[string]bool // whether it is said to be a new file
	// An envelope is written for text: files in UTF-16 and declared encodings are
	// given to it as UTF-8. Diffs are for bytes.
	asText bool
	texts  map[string]patchText
}

// patchText is a file that the patch sees as text.
type patchText struct {
	target
	shown *delta.Image // as the patch sees it
}

// named is a path of the patch as seen from the working directory.
func (f *patchFiles) named(path string) string {
	if f.dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.ToSlash(filepath.Join(f.dir, filepath.FromSlash(path)))
}

func (f *patchFiles) read(path string) (*delta.Image, error) {
	t, err := look(f.env, "input", f.named(path), "")
	if err != nil {
		return nil, err
	}
	f.abs[path] = t.abs
	if !f.asText || t.disk == nil || t.binary(t.disk.Data) {
		return t.disk, nil
	}
	text, err := charset.Decode(t.disk.Data, t.charset)
	if err != nil || !text.Known() || text.Encoding() == lines.UTF8 || text.Encoding() == lines.UTF8BOM {
		return t.disk, nil
	}
	shown := delta.NewFile(text.Bytes, t.disk.Mode)
	f.texts[path] = patchText{t, shown}
	return shown, nil
}

// inKind returns c with the contents that files have in place of those that the
// patch saw and made.
func (f *patchFiles) inKind(c delta.Change) (delta.Change, error) {
	was, known := f.texts[c.Path]
	if known && c.Pre.Same(was.shown) {
		c.Pre = was.disk
	}
	if !known && c.From != "" {
		was, known = f.texts[c.From]
	}
	if !known || c.Post == nil {
		return c, nil
	}
	data, err := was.encode(string(c.Post.Data))
	if err != nil {
		return c, err
	}
	c.Post = delta.NewFile(data, c.Post.Mode)
	return c, nil
}

// propose fills in a change whose set still has the paths of the patch.
func (f *patchFiles) propose(change tool.Change, m tool.Manner) (tool.Action, error) {
	names := map[string]string{} // by absolute path
	var notes []string
	marked := map[string][]string{}
	states, places := map[string]tool.FileState{}, map[string]string{}
	moved := map[string]bool{}
	for _, c := range change.Set {
		moved[c.To] = c.To != ""
	}
	for i, c := range change.Set {
		name := c.Path
		abs, err := f.resolve(name)
		if err != nil {
			return nil, err
		}
		if c, err = f.inKind(c); err != nil {
			return nil, err
		}
		if other, twice := names[abs]; twice && other != name {
			return nil, tool.Refuse(tool.PatchFailed,
				"%s and %s are the same file; name it in one way only. Nothing was written.", other, name)
		}
		names[abs] = name
		if note := f.note(name, abs, c); note != "" {
			notes = append(notes, note)
		}
		if mark := mark(c, moved[name]); mark != "" && !slices.Contains(marked[mark], name) {
			marked[mark] = append(marked[mark], name)
		}
		states[f.named(name)], places[name] = patched(f.texts[name].target, c)
		if change.Set[i], err = f.located(c, abs); err != nil {
			return nil, err
		}
	}
	var b, brief strings.Builder
	b.WriteString("Success. Updated the following files:")
	brief.WriteString("Success. Updated:")
	for _, mark := range []string{"A", "M", "D"} {
		for _, name := range marked[mark] {
			fmt.Fprintf(&b, "\n%s %s", mark, name)
			fmt.Fprintf(&brief, "\n%s %s%s", mark, name, strings.TrimSuffix(places[name], ": "))
		}
	}
	for _, n := range notes {
		b.WriteString("\n" + n)
		brief.WriteString("\n" + n)
	}
	change.Result = excerpt.Result(m, b.String(), brief.String(), states, false)
	return change, nil
}

// located is c with absolute paths.
func (f *patchFiles) located(c delta.Change, abs string) (delta.Change, error) {
	c.Path = abs
	for _, p := range []*string{&c.From, &c.To} {
		if *p == "" {
			continue
		}
		there, err := f.resolve(*p)
		if err != nil {
			return c, err
		}
		*p = there
	}
	return c, nil
}

func (f *patchFiles) resolve(path string) (string, error) {
	if abs, ok := f.abs[path]; ok {
		return abs, nil
	}
	return resolve(f.env, "input", f.named(path))
}

// mark is the letter of a change in the list of files: a move counts as one
// modified file, under its new name.
func mark(c delta.Change, arrived bool) string {
	switch {
	case c.To != "" && c.Post == nil:
		return ""
	case c.From != "" && arrived:
		return "M"
	case c.Pre == nil:
		return "A"
	case c.Post == nil:
		return "D"
	}
	return "M"
}

// note tells what the model may not know of a file that it changes.
func (f *patchFiles) note(name, abs string, c delta.Change) string {
	if c.Pre == nil {
		return ""
	}
	base, seen := f.env.Seen(abs)
	switch {
	case !seen && c.Post == nil && c.To == "":
		return fmt.Sprintf("(%s was deleted without having been read.)", name)
	case !seen && f.added[name]:
		return fmt.Sprintf("(%s existed and was replaced without having been read.)", name)
	case seen && (base == nil || base.Sum != c.Pre.Sum):
		return fmt.Sprintf("(%s had changed since you last saw it; the patch was applied to its present text.)", name)
	}
	return ""
}

// patched describes what a change makes of its file, and tells in a few words where, if that is text.
func patched(t target, c delta.Change) (s tool.FileState, place string) {
	switch {
	case c.Post == nil:
		return tool.FileState{Deleted: true}, ""
	case c.Pre == nil:
		return excerpt.State(t.plain, nil, c.Post.Data), ""
	}
	compared := excerpt.Compare(t.plain(c.Pre.Data), t.plain(c.Post.Data))
	if !t.binary(c.Post.Data) {
		place = ": " + compared.Change()
	}
	return compared.State(c.Post.Data), place
}
