package tools

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/excerpt"
	"kerf/internal/agent/tools/filekind"
	"kerf/internal/pathname"
	"kerf/internal/text/charset"
	"kerf/internal/text/lines"
)

//go:embed read_file.md
var readFileWords string

// Bounds of one read.
const (
	readLines = 2000
	readBytes = 36_000 // stays below what history keeps of one output
	readWidth = 2000   // bytes of a line
	readImage = 10 << 20
	// gutterWidth is what a line's number and the sign after it take.
	gutterWidth = 8
)

type readArgs struct {
	FilePath string `json:"file_path" also:"path,file,filename,absolute_path,target_file" brief:"plain" doc:"The file to read. Relative paths start at the working directory."`
	Offset   *int   `json:"offset,omitempty" min:"1" doc:"The first line to show, counted from 1 (default 1)."`
	Limit    *int   `json:"limit,omitempty" min:"1" doc:"How many lines to show (default 2000)."`
	Encoded

	asCode bool // answer as read_code does
}

func readFile() entry {
	return define.Tool[readArgs]{
		Name: "read_file", Text: readFileWords, Parallel: true, Plan: prepareRead,
		Aliases: []define.Alias[readArgs]{
			define.Same[readArgs]("read"),
			define.As("Read", func(a struct {
				FilePath string `json:"file_path" also:"path,file,filename,absolute_path,target_file"`
				Offset   *int   `json:"offset,omitempty" min:"0"`
				Limit    *int   `json:"limit,omitempty" min:"1"`
			}) (readArgs, error) {
				return readArgs{FilePath: a.FilePath, Offset: a.Offset, Limit: a.Limit}, nil
			}),
			define.As("read_code", func(a struct {
				FilePath string `json:"filePath"`
			}) (readArgs, error) {
				return readArgs{FilePath: a.FilePath, asCode: true}, nil
			}),
		},
	}.Entry()
}

func prepareRead(ctx context.Context, env tool.Env, c tool.Call, a readArgs) (tool.Action, error) {
	if strings.HasPrefix(a.FilePath, outputPrefix) && !a.asCode {
		return answerOutput(env, a, c.Manner)
	}
	field := "file_path"
	if a.asCode {
		field = "filePath"
	}
	t, err := look(env, field, a.FilePath, a.Encoding)
	if err != nil {
		return nil, err
	}
	t.manner = c.Manner
	if t.disk == nil {
		return nil, t.missing(ctx, env)
	}
	answer := tool.Answer{Observed: []history.Observation{{Path: pathname.Path(t.abs), Image: t.disk}}}
	answer.Result = tool.Result{Success: true, VersionInfo: &t.stamp, Short: c.Manner.Short}
	data := t.disk.Data
	if filekind.Image(data) != "" && !a.asCode {
		return t.image()
	}
	if t.declared {
		if _, err := charset.Decode(data, t.charset); err != nil {
			return nil, tool.Refuse(tool.EncodingError,
				"%s: %v; name its real encoding, or leave encoding out to see the bytes that are text", t.name, err)
		}
	}
	if t.binary(data) {
		return nil, tool.Refuse(tool.BinaryFile,
			"%s is binary (%s, %d bytes) and is not shown. Use a command that understands it", t.name,
			filekind.Binary(data), len(data))
	}
	text := t.plain(data)
	if a.asCode {
		return answerCode(answer, t, text)
	}
	shown, last, err := page(t, text, a)
	if err != nil {
		return nil, err
	}
	if last > 0 {
		answer.Observed[0].First, answer.Observed[0].Last, answer.Observed[0].Lines = firstLine(a), last, lines.Count(text)
	}
	answer.Result.Output = strings.TrimSuffix(shown+t.versionLine(), "\n")
	return answer, nil
}

// image shows t, which is an image, to the model.
func (t target) image() (tool.Action, error) {
	data := t.disk.Data
	kind := filekind.Image(data)
	if len(data) > readImage {
		return nil, tool.Refuse(tool.TooLarge,
			"%s is an image of %d bytes; at most %d are shown. Make a smaller copy and read that", t.name, len(data), readImage)
	}
	return tool.Answer{
		Result: tool.Result{Success: true, VersionInfo: &t.stamp,
			Images: []string{"data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)},
			Output: strings.TrimSuffix(fmt.Sprintf("%s (%s, %d bytes)\n%s", t.name, kind, len(data), t.versionLine()), "\n")},
		Observed: []history.Observation{{Path: pathname.Path(t.abs), Image: t.disk}},
	}, nil
}

func firstLine(a readArgs) int {
	if a.Offset == nil {
		return 1
	}
	return max(1, *a.Offset)
}

// page shows the lines that were asked for, as many as fit, and how to read on.
// Last is the last line that is shown whole, 0 for none.
func page(t target, text []byte, a readArgs) (shown string, last int, err error) {
	all := lines.Split(text)
	first, limit := firstLine(a), readLines
	if a.Limit != nil {
		limit = *a.Limit
	}
	if len(all) == 0 {
		return "(the file is empty)\n", 0, nil
	}
	if first > len(all) {
		return "", 0, tool.Refuse(tool.InvalidArguments, "field offset: %s has %d lines, and line %d is past its end", t.name,
			len(all), first)
	}
	var b strings.Builder
	next, whole := first, true
	for ; next <= len(all) && next-first < limit; next++ {
		line := excerpt.Shorten(excerpt.Chomp(all[next-1]), readWidth)
		if next > first && b.Len()+len(line)+gutterWidth > readBytes {
			break
		}
		t.manner.Number(&b, next, line)
		if whole = whole && len(all[next-1]) <= readWidth; whole {
			last = next
		}
	}
	if next <= len(all) {
		fmt.Fprintf(&b, "(lines %d-%d of %d; read on with offset %d)\n", first, next-1, len(all), next)
	}
	return b.String(), last, nil
}

// versionLine is the last line of a read. Callers who do not work with versions are told
// only what is unusual about the file.
func (t target) versionLine() string {
	s := t.stamp
	if !t.manner.Short || t.manner.Versions {
		info, err := json.Marshal(s)
		if err != nil {
			panic(err) // plain strings and numbers always have a JSON form
		}
		return "versionInfo: " + string(info)
	}
	var words []string
	if s.LineEnding != lines.LF {
		words = append(words, s.LineEnding+" line ends")
	}
	if s.Encoding != lines.UTF8 {
		words = append(words, s.Encoding)
	}
	if len(words) == 0 {
		return ""
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// answerCode gives the whole text as data instead of numbered lines.
func answerCode(answer tool.Answer, t target, text []byte) (tool.Action, error) {
	metadata := map[string]any{"lines": lines.Count(text), "path": t.name, "language": nil}
	if l := filekind.Language(t.name); l != "" {
		metadata["language"] = l
	}
	content := strings.ToValidUTF8(string(text), "\uFFFD")
	whole, err := json.Marshal(map[string]any{"content": content, "metadata": metadata, "versionInfo": t.stamp})
	if err != nil {
		return nil, err
	}
	answer.Result.Output = string(whole)
	answer.Result.Fields = map[string]any{"content": content, "metadata": metadata}
	return answer, nil
}
