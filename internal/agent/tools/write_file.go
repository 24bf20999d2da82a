package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/excerpt"
	"kerf/internal/agent/tools/filekind"
	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
)

//go:embed write_file.md
var writeFileWords string

type writeArgs struct {
	FilePath string `json:"file_path" also:"path,file,filename,absolute_path,target_file" brief:"plain" doc:"The file to create or replace. Missing parent directories are made."`
	Content  string `json:"content" also:"contents,text" brief:"plain" doc:"The whole new text of the file."`
	Encoded
	Expectation
}

func writeFile() entry {
	return define.Tool[writeArgs]{
		Name: "write_file", Text: writeFileWords, Plan: prepareWrite,
		Aliases: []define.Alias[writeArgs]{define.Same[writeArgs]("write"), define.As("Write", func(a struct {
			FilePath string `json:"file_path" also:"path,file,filename,absolute_path,target_file"`
			Content  string `json:"content"`
		}) (writeArgs, error) {
			return writeArgs{FilePath: a.FilePath, Content: a.Content}, nil
		})},
	}.Entry()
}

func prepareWrite(_ context.Context, env tool.Env, c tool.Call, a writeArgs) (tool.Action, error) {
	t, err := look(env, "file_path", a.FilePath, a.Encoding)
	if err != nil {
		return nil, err
	}
	t.manner = c.Manner
	base, stale := t.known(env)
	if unmet := a.unmet(t); unmet != "" {
		return t.mismatch("is not at the expected "+unmet+".", base, tool.LineRange{}).action(nil)
	}
	content, err := t.encode(a.Content)
	if err != nil {
		return nil, err
	}
	if t.disk == nil {
		return t.create(content, stale, a.given()), nil
	}
	if string(t.disk.Data) == string(content) {
		return t.unchanged("already has exactly this content; nothing changed."), nil
	}
	if a.given() {
		return t.replace(content, false, true), nil // the model knows this very state
	}
	_, seen := env.Seen(t.abs)
	switch {
	case !seen:
		return t.unread().action(nil)
	case base == nil:
		return t.mismatch("was made by someone else since you last looked.", nil, tool.LineRange{}).action(nil)
	case !stale:
		return t.replace(content, false, false), nil
	}
	if base.Loaded {
		if joined, ok := t.merged(base.Data, content); ok {
			if string(joined) == string(t.disk.Data) {
				return t.unchanged("changed since you last saw it and already has all that you changed; nothing was written."), nil
			}
			return t.replace(joined, true, false), nil
		}
	}
	return t.mismatch("changed since you last saw it, and your text cannot be merged with the changes.", base,
		tool.LineRange{}).action(nil)
}

// unchanged says that the file is already what it should be.
func (t target) unchanged(words string) tool.Action {
	return tool.Answer{
		Result: tool.Result{Success: true, VersionInfo: &t.stamp, Short: t.manner.Short,
			Output: strings.TrimSuffix(t.name+" "+words+"\n"+t.versionLine(), "\n")},
		Observed: []history.Observation{{Path: pathname.Path(t.abs), Image: t.disk}},
	}
}

// create proposes a new file.
func (t target) create(content []byte, deleted, versions bool) tool.Action {
	note := ""
	if deleted {
		note = " It had been deleted since you last saw it."
	}
	n := lines.Count(t.plain(content))
	return tool.Change{
		Set: delta.Set{{Path: t.abs, Post: delta.NewFile(content, 0o644)}},
		Result: excerpt.Result(t.manner, fmt.Sprintf("Created %s (%d bytes, %d lines).%s", t.name, len(content), n, note),
			fmt.Sprintf("Created %s (%d lines).%s", t.name, n, note),
			map[string]tool.FileState{t.name: excerpt.State(t.plain, nil, content)}, versions),
	}
}

// replace proposes new content for a file that is there; its mode stays.
func (t target) replace(content []byte, merged, versions bool) tool.Action {
	old := t.disk.Data
	added, removed := diff.Stat(t.plain(old), t.plain(content))
	words := fmt.Sprintf("Modified %s (%d bytes, +%d -%d lines).", t.name, len(content), added, removed)
	brief, note := fmt.Sprintf("Modified %s (+%d -%d lines).", t.name, added, removed), ""
	if merged {
		note += " The file had changed since you last saw it, in other places; your text was merged with those changes, " +
			"so read it again before you go on."
	}
	if was, is := t.encoding(old), t.encoding(content); was != is && len(old) > 0 {
		note += fmt.Sprintf(" Its encoding was %s and is now %s.", was, is)
	}
	return tool.Change{
		Set:    delta.Set{{Path: t.abs, Pre: t.disk, Post: delta.NewFile(content, t.disk.Mode)}},
		Merged: merged,
		Result: excerpt.Result(t.manner, words+note, brief+note,
			map[string]tool.FileState{t.name: excerpt.State(t.plain, old, content)}, versions),
	}
}

// unread refuses to overwrite a file blindly, once: the refusal shows its state.
func (t target) unread() *refused {
	what := fmt.Sprintf("%d lines, %d bytes", lines.Count(t.plain(t.disk.Data)), len(t.disk.Data))
	head := ""
	if t.binary(t.disk.Data) {
		what = fmt.Sprintf("binary, %s, %d bytes", filekind.Binary(t.disk.Data), len(t.disk.Data))
	} else if len(t.disk.Data) > 0 {
		head = "\nIt begins:\n" + strings.TrimSuffix(excerpt.Numbered(t.plain(t.disk.Data),
			tool.LineRange{Start: 1, End: 7}, t.manner), "\n")
	}
	return &refused{
		err: tool.Refuse(tool.UnreadFile, "%s already exists and you have not read it (%s, version %d, contentHash %s). "+
			"Nothing was written.%s\nRead it with read_file, or change parts of it with edit_file. To replace the whole file "+
			"all the same, repeat this call.",
			t.name, what, t.stamp.Version, t.stamp.ContentHash, head),
		saw: &history.Observation{Path: pathname.Path(t.abs), Image: t.disk},
	}
}
