// Package importing carries what people keep at home for other agents over into Kerf's own
// home. It plans first, and writes what it planned when it is told to. Of the other
// agents' files it changes nothing, and secrets stay where they are.
package importing

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config"
	"kerf/internal/config/document"
	"kerf/internal/config/edit"
	"kerf/internal/config/peers"
	"kerf/internal/text/redact"
)

// Options say from where and to where.
type Options struct {
	Home string // of the user
	Kerf string // KERF_HOME
	Env  func(string) string
	// Session makes a session of one that an agent recorded in a file; ErrNothing says that
	// there is none in it, or that it is there. Imported reports whether that was done before.
	Session  func(path string) error
	Imported func(path string) bool
}

// ErrNothing says that a file holds nothing new.
var ErrNothing = errors.New("there is nothing in it to carry over")

// State is what happens with something.
type State string

// The states.
const (
	Write State = "write" // it is to be written, or was
	Used  State = "used"  // Kerf reads it where it is
	Kept  State = "kept"  // Kerf has one, which stays
	None  State = "none"  // Kerf has no equal, or it is not carried over
)

// Step is one thing that was found.
type Step struct {
	Agent string
	State State
	What  string
	From  string // the file, or the directory
	Note  string

	write func() error
}

// Do carries the step out.
func (s Step) Do() error {
	if s.write == nil {
		return nil
	}
	if err := s.write(); err != nil {
		return fmt.Errorf("import %s of %s: %w", s.What, s.Agent, err)
	}
	return nil
}

// agents read the home of each agent.
var agents = map[string]func(*plan){"codex": codex, "claude": claude, "gemini": gemini, "cursor": cursor,
	"copilot": copilot, "opencode": opencode}

// Agents are the names of the agents. What comes first counts where two have the same.
func Agents() []string { return []string{"codex", "claude", "gemini", "cursor", "copilot", "opencode"} }

// Plan finds what there is of the named agents, and says what would become of it.
func Plan(o Options, names ...string) ([]Step, error) {
	p := &plan{o: o, file: filepath.Join(o.Kerf, "config.toml")}
	var err error
	if p.doc, err = os.ReadFile(p.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.tree, err = document.Parse(p.file, p.doc); err != nil {
		return nil, err
	}
	for _, name := range names {
		p.agent = name
		agents[name](p)
	}
	return p.steps, nil
}

// plan is a plan that is being made.
type plan struct {
	o     Options
	agent string
	steps []Step
	file  string
	doc   []byte // config.toml as it will be
	tree  *document.Value
	taken []string // files that steps before will write
	ruled []string // rules that steps before will write

	hooked gathered
}

func (p *plan) add(s State, from, what, note string, write func() error) {
	p.steps = append(p.steps, Step{p.agent, s, what, from, note, write})
}

// home is a directory of the agent: that of a variable, or one below the user's home.
func (p *plan) home(variable, dir string) string {
	if set := p.o.Env(variable); variable != "" && filepath.IsAbs(set) {
		return set
	}
	return filepath.Join(p.o.Home, filepath.FromSlash(dir))
}

// The bounds of a file that is read, and of one that is copied.
const (
	maxRead = 64 << 20
	maxCopy = 1 << 20
)

// read reads a file of the user's, who may have linked it.
func read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is no file")
	case info.Size() > most:
		return nil, errors.New("is too large")
	}
	return os.ReadFile(path)
}

// table is the table in a file; nil if there is none, and a step if it cannot be read.
func (p *plan) table(path string) map[string]any {
	data, err := read(path, maxRead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var doc map[string]any
	if err == nil {
		doc, err = peers.Table(path, data)
	}
	if err != nil {
		p.add(None, path, filepath.Base(path), document.Cause(err), nil)
		return nil
	}
	return doc
}

// setting puts a value into config.toml, unless there is one or it does not load.
func (p *plan) setting(from, note string, value any, path ...string) {
	key := document.Key(path...)
	if p.tree.Get(path...) != nil {
		p.add(Kept, from, key, "there is one already", nil)
		return
	}
	doc, err := edit.Apply(p.doc, edit.Setting{Path: path, Value: value})
	if err == nil {
		err = loads(doc)
	}
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), ": ")
		p.add(None, from, key, strings.TrimPrefix(why, key+": "), nil)
		return
	}
	p.doc = doc
	if tree, err := document.Parse(p.file, doc); err == nil {
		p.tree = tree
	}
	p.add(Write, from, key+valued(value), note, func() error { return edit.Set(p.file, key, value) })
}

// valued is a value that fits beside its key, as config.toml has it.
func valued(value any) string {
	switch v := value.(type) {
	case string:
		if len(v) <= 100 && !redact.SecretValue(v) {
			return " = " + document.Quote(v)
		}
	case bool, int64:
		return fmt.Sprintf(" = %v", v)
	}
	return ""
}

// loads reports whether a configuration is one that Kerf can use.
func loads(doc []byte) error {
	dir, err := os.MkdirTemp("", "kerf-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), doc, 0o600); err != nil {
		return err
	}
	_, _, err = config.Load(config.Options{Home: dir, Cwd: dir, System: filepath.Join(dir, "none"),
		Env: func(string) string { return "" }})
	return err
}

// copied copies a text to a file of Kerf's home, unless there is one.
func (p *plan) copied(from, to string) {
	data, err := read(from, maxCopy)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p.add(None, from, filepath.Base(from), document.Cause(err), nil)
	case len(bytes.TrimSpace(data)) > 0:
		p.written(from, filepath.Base(from)+" as "+to, to, data)
	}
}

// written writes a file of Kerf's home, unless there is one.
func (p *plan) written(from, what, to string, data []byte) {
	if p.exists(to) || slices.Contains(p.taken, to) {
		p.add(Kept, from, what, "there is one already", nil)
		return
	}
	p.taken = append(p.taken, to)
	p.add(Write, from, what, "", func() error { return p.create(to, data) })
}

// exists reports whether Kerf's home has a file.
func (p *plan) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(p.o.Kerf, name))
	return err == nil
}

// create makes a file of Kerf's home, which was not there.
func (p *plan) create(name string, data []byte) error {
	if err := os.MkdirAll(p.o.Kerf, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(p.o.Kerf, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// counted adds a step about the files that match a pattern, if there are any. A pattern without a
// slash is one of names, in directories below, too.
func (p *plan) counted(s State, what, note, dir, name string) {
	found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(name))) // the patterns are well formed
	if !strings.Contains(name, "/") {
		found = named(dir, name)
	}
	if len(found) > 0 {
		p.add(s, dir, fmt.Sprintf("%s (%d)", what, len(found)), note, nil)
	}
}

// maxLooked bounds the entries of a directory that are looked at.
const maxLooked = 20_000

// named are the files below a directory whose names match a pattern.
func named(dir, pattern string) (found []string) {
	looked := 0
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if looked++; err != nil || looked > maxLooked {
			return fs.SkipDir
		}
		if ok, _ := filepath.Match(pattern, e.Name()); ok && !e.IsDir() {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// there adds a step about a file that is not carried over, if it is there.
func (p *plan) there(path, what, note string) {
	if _, err := os.Stat(path); err == nil {
		p.add(None, path, what, note, nil)
	}
}
