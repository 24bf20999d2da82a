// Package code has the tools that ask a language server about names in code. What it is
// asked through is part of the Env; where there is none, the tools are not offered.
package code

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/text/visible"
)

// Tools returns them in the order in which models see them.
func Tools() []define.Entry {
	return []define.Entry{symbols(), definition(), references(), rename()}
}

// Kind is what is asked.
type Kind string

// The questions.
const (
	Outline    Kind = "outline"    // the names that a file defines
	Find       Kind = "find"       // the names of the project that are like Query
	Definition Kind = "definition" // of what stands at Offset
	References Kind = "references"
	Rename     Kind = "rename" // it to Name
)

// Question is asked about a file, or with Find about all.
type Question struct {
	Kind   Kind
	Path   string // absolute
	Image  *delta.Image
	Offset int
	Query  string
	Name   string
}

// Answer is what a server said. Its words are the server's.
type Answer struct {
	Server  string
	Places  []Place
	Symbols []Symbol
	// Changes are those of a rename: of each file what it was and what it becomes.
	Changes delta.Set
	Edits   int
	// Late says in words what was left out.
	Late string
}

// Place is a line of a file. Text is empty where the file cannot be read here.
type Place struct {
	Path         string
	Line, Column int
	Text         string
}

// Symbol is a name that is defined.
type Symbol struct {
	Name, Kind, Container string
	Place                 Place
	Last                  int // line of its body
	Depth                 int
}

// Servers is an Env behind which there are language servers. Refusals are *tool.Errors.
type Servers interface {
	AskLanguage(ctx context.Context, q Question) (Answer, error)
}

// ask asks, where there is somebody.
func ask(ctx context.Context, env tool.Env, c tool.Call, q Question) (Answer, error) {
	servers, ok := env.(Servers)
	if !ok {
		return Answer{}, tool.Refuse(tool.UnknownTool, "%s: no language server is used here. Use grep", c.Name)
	}
	return servers.AskLanguage(ctx, q)
}

// Named is where a name stands: what tools are told of it.
type Named struct {
	FilePath string `json:"file_path" also:"path,file,filename,absolute_path,target_file" brief:"plain" doc:"A file in which the name stands."`
	Name     string `json:"name" also:"symbol" doc:"The name as it stands there, such as Add or pkg.Add."`
	Line     int    `json:"line,omitempty" min:"1" doc:"The line on which it stands. Without it the first place in the file is meant."`
}

// question finds the place.
func (n Named) question(env tool.Env, c tool.Call, k Kind) (Question, error) {
	path, img, err := read(env, n.FilePath)
	if err != nil {
		return Question{}, err
	}
	offset, refused := find(img.Data, n.Name, n.Line)
	if refused != "" {
		return Question{}, tool.Refuse(tool.NotFound, "%s: %s in %s", c.Name, refused, n.FilePath)
	}
	return Question{Kind: k, Path: path, Image: img, Offset: offset}, nil
}

// read reads a file that must be there.
func read(env tool.Env, name string) (string, *delta.Image, error) {
	path, err := env.Resolve(name)
	if err != nil {
		return "", nil, err
	}
	img, _, err := env.Read(path)
	if err == nil && img == nil {
		err = tool.Refuse(tool.NotFound, "%s does not exist. Find it with glob", name)
	}
	return path, img, err
}

// find is the byte at which a name stands as a whole word: on the line, or else anywhere. Of
// a name with dots the last part is meant. Refused says what is there instead.
func find(data []byte, name string, line int) (offset int, refused string) {
	name = strings.TrimSpace(name)
	if name == "" {
		return 0, "the name is empty"
	}
	last := strings.LastIndexAny(name, ".:") + 1
	var elsewhere []string
	start := 0
	for n := 1; start <= len(data); n++ {
		end := len(data)
		if i := strings.IndexByte(string(data[start:]), '\n'); i >= 0 {
			end = start + i
		}
		if at := word(string(data[start:end]), name); at >= 0 {
			if line == 0 || n == line {
				return start + at + last, ""
			}
			if len(elsewhere) < 10 {
				elsewhere = append(elsewhere, fmt.Sprint(n))
			}
		}
		start = end + 1
	}
	switch {
	case len(elsewhere) > 0:
		return 0, fmt.Sprintf("%s does not stand on line %d; it stands on line %s", clip(name), line,
			strings.Join(elsewhere, ", "))
	case last > 0:
		return find(data, name[last:], line)
	}
	return 0, clip(name) + " does not stand"
}

// word is where a name stands in a line as a whole word, or -1.
func word(line, name string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			return -1
		}
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		after, _ := utf8.DecodeRuneInString(line[at+len(name):])
		first, _ := utf8.DecodeRuneInString(name)
		end, _ := utf8.DecodeLastRuneInString(name)
		if !(part(before) && part(first)) && !(part(after) && part(end)) {
			return at
		}
		from = at + len(name)
	}
}

// part reports whether a rune is part of names.
func part(r rune) bool {
	return r == '_' || r == '$' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func clip(s string) string { return visible.OneLine(s, 80) }

// display is a path as models write it: below the working directory without it.
func display(env tool.Env, path string) string {
	return visible.Line(filepath.ToSlash(pathname.Short(env.Cwd(), path)))
}

// told is an answer that only tells.
func told(b *strings.Builder, a Answer) tool.Action {
	if a.Late != "" {
		fmt.Fprintf(b, "(%s)\n", a.Late)
	}
	return tool.Answer{Result: tool.Result{Success: true, Output: b.String()}}
}

// maxTold bounds how many places or names are told.
const maxTold = 200

// writePlaces tells places, those of a file after each other.
func writePlaces(b *strings.Builder, env tool.Env, list []Place) {
	for i, p := range list {
		if i == maxTold {
			fmt.Fprintf(b, "(%d more)\n", len(list)-i)
			return
		}
		fmt.Fprintf(b, "%s:%d:%d", display(env, p.Path), p.Line, p.Column)
		if p.Text != "" {
			b.WriteString(": " + visible.OneLine(p.Text, 200))
		}
		b.WriteByte('\n')
	}
}
