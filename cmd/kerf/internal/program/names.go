package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"kerf/internal/text/diff/shown"
	"kerf/internal/work/repo/commit"
)

// Quoting is how the user's git writes names with letters beyond ASCII: core.quotePath of the
// directory that the program works in. It is asked once.
func (p *Program) Quoting() shown.Quoting {
	if p.quoting == nil {
		value, ok := p.gitConfig("--type=bool", "--get", "core.quotePath")
		q := shown.Quoting(ok && value == "false")
		p.quoting = &q
	}
	return *p.quoting
}

// gitConfig is what the user's git has configured, and whether it has. A git that lies in the
// working tree is not asked.
func (p *Program) gitConfig(args ...string) (string, bool) {
	dir := p.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", false
		}
	}
	file, err := commit.Program(dir)
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // a pipe among git's files would never end
	defer cancel()
	git := exec.CommandContext(ctx, file, append([]string{"config", "--includes"}, args...)...)
	git.Dir, git.Env = dir, p.Env
	out, err := git.Output()
	return strings.TrimSpace(string(out)), err == nil
}

// Named is a path as all results for people write it.
func (p *Program) Named(path string) string {
	if shown.Name(path, shown.Octal) == path {
		return path // git need not be asked
	}
	return shown.Name(path, p.Quoting())
}

// ShowDiff prints a diff, for people on a terminal in colours; stat prints a count for each file
// instead, and names their names.
func (p *Program) ShowDiff(text string, stat, names bool) error {
	switch {
	case stat:
		text = shown.Stats(text, 80, p.Colored(), p.Quoting())
	case names:
		text = shown.Names(text, p.Quoting())
	case IsTerminal(p.Stdout):
		text = shown.Terminal(text, p.Colored())
	}
	_, err := fmt.Fprint(p.Stdout, text)
	return err
}

// Quoted is a word as a shell takes it.
func Quoted(word string) string {
	if !strings.ContainsAny(word, " \t'\"\\$&;|<>()*?[#~`!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
