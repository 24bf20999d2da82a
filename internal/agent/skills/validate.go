package skills

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/pattern"
)

// Remark is what is wrong with a skill. Those that are not Grave keep it from nothing here.
type Remark struct {
	Grave bool
	Text  string
}

// standard are the fields that the Agent Skills standard knows.
var standard = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

// standardName is a name as the standard has it.
var standardName = pattern.Lazy(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// The bounds of the standard, and of what is read at once.
const (
	maxDescription   = 1024
	maxCompatibility = 500
	maxBodyLines     = 500
)

// linked is a file that the text of a skill names in a Markdown link.
var linked = pattern.Lazy(`\]\(([^)\s#:]+)\)`)

// Validate holds the folder of a skill against the Agent Skills standard.
func Validate(dir string) (remarks []Remark) {
	grave := func(format string, args ...any) {
		remarks = append(remarks, Remark{true, fmt.Sprintf(format, args...)})
	}
	minor := func(format string, args ...any) {
		remarks = append(remarks, Remark{false, fmt.Sprintf(format, args...)})
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		grave("%s is no directory that can be read", dir)
		return remarks
	}
	defer root.Close()
	info, err := root.Stat("SKILL.md")
	text, ok := readText(root, "SKILL.md")
	if err != nil || !ok {
		grave("there is no file SKILL.md in it")
		return remarks
	}
	if info.Size() > maxSkillBytes {
		grave("SKILL.md has %d bytes; %d are read", info.Size(), maxSkillBytes)
	}
	fields, body := frontMatter(text)
	if fields == nil {
		grave("SKILL.md does not begin with fields between two lines of three dashes")
		return remarks
	}
	name, words := fields["name"], fields["description"]
	switch {
	case name == "":
		grave("name is missing")
	case len(name) > maxSkillName:
		grave("name has %d characters; at most %d are allowed", len(name), maxSkillName)
	case !standardName().MatchString(name):
		grave("name %q: use small letters, digits and single hyphens between them", clipped(name, maxSkillName))
	case name != filepath.Base(dir):
		grave("name is %q, and its folder %q", name, filepath.Base(dir))
	}
	switch {
	case words == "":
		grave("description is missing; by it a model knows when to use the skill")
	case len(words) > maxDescription:
		grave("description has %d bytes; at most %d are allowed", len(words), maxDescription)
	}
	if n := len(fields["compatibility"]); n > maxCompatibility {
		grave("compatibility has %d bytes; at most %d are allowed", n, maxCompatibility)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(standard, field) {
			minor("field %q is not of the standard and has no effect here", clipped(field, maxSkillName))
		}
	}
	if fields["allowed-tools"] != "" {
		minor("allowed-tools has no effect here: tools are asked about as usual")
	}
	if n := strings.Count(body, "\n") + 1; n > maxBodyLines {
		minor("SKILL.md has %d lines; put what is not always needed into files of its own", n)
	}
	for _, m := range linked().FindAllStringSubmatch(body, -1) {
		if strings.HasPrefix(m[1], "/") {
			continue
		}
		if _, err := root.Stat(filepath.FromSlash(strings.TrimPrefix(m[1], "./"))); err != nil {
			minor("it names the file %s, which is not there", clipped(m[1], maxSkillName))
		}
	}
	return remarks
}

// The bounds of a skill that is copied.
const (
	maxFolderFiles = 1000
	maxFolderBytes = 32 << 20
)

// Copy copies the folder of a skill into a directory, under its own name, and returns
// where to. There must be none of this name. Links and what is no file are an error.
func Copy(from, into string) (string, error) {
	for _, r := range Validate(from) {
		if r.Grave {
			return "", fmt.Errorf("%s is no skill: %s", from, r.Text)
		}
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return "", err
	}
	defer source.Close()
	to := filepath.Join(into, filepath.Base(from))
	if _, err := os.Lstat(to); err == nil {
		return "", fmt.Errorf("%s is there already; remove it first", to)
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(into, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	if err := copied(source, aside); err != nil {
		return "", fmt.Errorf("copy %s: %w", from, err)
	}
	return to, os.Rename(aside, to)
}

// copied copies all files of a directory, but for hidden directories such as that of git.
func copied(source *os.Root, to string) error {
	files, size := 0, int64(0)
	return fs.WalkDir(source.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		switch {
		case e.IsDir() && path != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no file", path)
		}
		files++
		if size += info.Size(); files > maxFolderFiles || size > maxFolderBytes {
			return fmt.Errorf("it has more than %d files or %d bytes", maxFolderFiles, maxFolderBytes)
		}
		data, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600|info.Mode().Perm()&0o100)
	})
}
