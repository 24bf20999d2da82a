package skills

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"kerf/internal/protocol"
	"kerf/internal/text/order"
	"kerf/internal/text/pattern"
)

// Bounds of what is read of commands.
const (
	maxCommands     = 500 // of a place
	maxCommandDepth = 4   // of directories in one
)

// Commands are the places of commands below a home or a project; none for "".
func Commands(root string) (places []Place) {
	for _, dir := range []string{".claude/commands", ".codex/prompts", ".gemini/commands"} {
		if root != "" {
			places = append(places, Place{Root: root, Dir: dir})
		}
	}
	return places
}

// Prompts reads the commands in the files NAME.md and NAME.toml of places, sorted by name. A
// file in a directory has its name before its own: dir:name. The first of a name counts.
// Nothing that a command names is run or read.
func Prompts(places ...Place) []protocol.Prompt {
	list, _ := FindPrompts(places...)
	return list
}

// Unused is a file that is no command here, and why.
type Unused struct{ File, Why string }

// FindPrompts is Prompts, with the files .md and .toml that are not used.
func FindPrompts(places ...Place) (list []protocol.Prompt, unused []Unused) {
	for _, p := range places {
		found, left := commandsIn(p)
		unused = append(unused, left...)
		for _, c := range found {
			if slices.ContainsFunc(list, func(o protocol.Prompt) bool { return o.Name == c.Name }) {
				unused = append(unused, Unused{"/" + c.Name + " of " + p.Dir, "there is another one of this name"})
			} else {
				list = append(list, c)
			}
		}
	}
	order.By(list, func(a, b protocol.Prompt) int { return strings.Compare(a.Name, b.Name) })
	return list, unused
}

func commandsIn(p Place) (list []protocol.Prompt, left []Unused) {
	root, err := p.open()
	if err != nil {
		return nil, nil
	}
	defer root.Close()
	leave := func(file, why string) error {
		if len(left) < maxCommands {
			left = append(left, Unused{filepath.Join(p.Root, filepath.FromSlash(p.Dir), filepath.FromSlash(file)), why})
		}
		return nil
	}
	_ = fs.WalkDir(root.FS(), ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case len(list) == maxCommands:
			return fs.SkipAll
		case e.IsDir() && (strings.Count(file, "/") >= maxCommandDepth || p.Only != "" && file != "."):
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		ext := path.Ext(file)
		if ext != ".md" && ext != ".toml" || p.Only != "" && p.Only != file {
			return nil
		}
		name := commandName(file)
		if name == "" {
			return leave(file, "its name has other characters than letters, digits, - and _, or is longer than 64")
		}
		if p.Prefix != "" {
			name = p.Prefix + ":" + name
		}
		text, ok := readText(root, file)
		switch {
		case !ok:
			return leave(file, "it is no file that may be read")
		case len(text) >= maxSkillBytes:
			return leave(file, "it is too large")
		case strings.ContainsRune(text, 0):
			return leave(file, "it is no text")
		}
		c, ok := commandOf(name, ext, text)
		if !ok {
			return leave(file, "it has no text for a request, or is not TOML")
		}
		list = append(list, c)
		return nil
	})
	return list, left
}

// commandName is the name of the command in a file, or nothing.
func commandName(file string) string {
	parts := strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/")
	for _, part := range parts {
		if !validSkill(part) {
			return ""
		}
	}
	return strings.Join(parts, ":")
}

// acts is what other agents would run, or read, and put into a command's text.
var acts = pattern.Lazy("(?m)!`[^`\n]+`|!\\{[^}\n]+\\}|@\\{[^}\n]+\\}|^[ \\t]*@[\\w./-]+\\.\\w+[ \\t]*$")

// unrun tells the model what was not done.
const unrun = "\n\n(Commands in !`…` or !{…} above were not run, and files after @ were not put in. Run and read " +
	"them yourself where you need them.)"

// commandOf is the command that a file holds. A first line that is a heading, or the front
// matter, describes it.
func commandOf(name, ext, text string) (protocol.Prompt, bool) {
	var about, body string
	if ext == ".toml" {
		var doc struct{ Description, Prompt string }
		if toml.Unmarshal([]byte(text), &doc) != nil {
			return protocol.Prompt{}, false
		}
		about, body = doc.Description, strings.TrimSpace(doc.Prompt)
		body = strings.ReplaceAll(body, "{{args}}", "$ARGUMENTS")
	} else {
		var fields map[string]string
		fields, body = frontMatter(text)
		about = strings.TrimSpace(fields["description"] + " " + hint(fields["argument-hint"]))
	}
	if body == "" {
		return protocol.Prompt{}, false
	}
	first, _, _ := strings.Cut(body, "\n")
	c := protocol.Prompt{Name: name, Body: body, Description: clipped(cmp.Or(about, strings.TrimLeft(first, "# ")), 120)}
	if acts().MatchString(body) {
		c.Body += unrun
	}
	return c, true
}

// hint is what the user is told of the words behind a command.
func hint(words string) string {
	if words == "" {
		return ""
	}
	return "[" + strings.Trim(words, "[]") + "]"
}
