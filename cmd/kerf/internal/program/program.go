// Package program is what all commands of kerf share: streams, environment, global
// flags, and how the program ends.
package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kerf/internal/config"
	"kerf/internal/host"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
)

// Program is one run of kerf.
type Program struct {
	Name           string // as the user called it
	Stdin          *os.File
	Stdout, Stderr io.Writer
	Env            []string
	Layers         []tries.Layer // the overlays that this process runs over

	// The global flags. Dir is the directory to work in, empty for the process's.
	Dir       string
	Overrides []string
	Profile   string
	OSS       bool
	Record    string
	// Unrecorded is a flag of the commands that open sessions.
	Unrecorded bool

	quoting *shown.Quoting // once it is known
}

// AddFlags gives a command the global flags.
func (p *Program) AddFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVarP(&p.Dir, "cd", "C", "", "run as if started in this `directory`")
	f.StringArrayVarP(&p.Overrides, "config", "c", nil, "override a setting, `key.path=value` in TOML; may be repeated")
	f.StringVarP(&p.Profile, "profile", "p", "", "use a `profile` of the configuration")
	f.BoolVar(&p.OSS, "oss", false, "use a model of this machine: Ollama, LM Studio or llama.cpp")
	f.StringVar(&p.Record, "record", "", "write the session into this `file` as a scenario")
}

// AddUnrecorded gives a command that opens sessions the flag --unrecorded.
func (p *Program) AddUnrecorded(f interface {
	BoolVar(p *bool, name string, value bool, usage string)
}) {
	f.BoolVar(&p.Unrecorded, "unrecorded", false, "go on although nothing can be recorded, because Kerf's home is full "+
		"or read-only;\nthen nothing can be taken back afterwards")
}

// In is the same program in another directory.
func (p *Program) In(dir string) *Program {
	there := *p
	there.Dir, there.quoting = dir, nil
	return &there
}

// Host loads the configuration and returns the host over it.
func (p *Program) Host(flags map[string]any) (*host.Host, error) {
	cwd, err := p.Cwd()
	if err != nil {
		return nil, err
	}
	home, err := config.HomeDir(p.Getenv)
	if err != nil {
		return nil, Misuse("%v", err)
	}
	cfg, warnings, err := config.Load(config.Options{Home: home, Cwd: cwd, Profile: p.Profile, Overrides: p.Overrides,
		Flags: flags, Env: p.Getenv})
	if err != nil {
		return nil, err
	}
	if err := Writable("--record", p.Record); err != nil {
		return nil, err
	}
	h := &host.Host{Config: cfg, Env: p.Env, Layers: p.Layers}
	if h.Trusted() {
		if h.Config, warnings, err = config.Load(config.Options{Home: home, Cwd: cwd, Profile: p.Profile,
			Overrides: p.Overrides,
			Flags:     flags, Env: p.Getenv, Trusted: true}); err != nil {
			return nil, err
		}
	}
	h.Notice = func(text string) { fmt.Fprintf(p.Stderr, "kerf: %s\n", visible.Plain(text)) }
	h.Local, h.Record, h.Unrecorded = p.OSS, p.Record, p.Unrecorded
	for _, w := range warnings {
		h.Warnings = append(h.Warnings, w.String())
	}
	return h, nil
}

// Trustable fails where the configuration would not load if the project of c were trusted.
func (p *Program) Trustable(c *config.Config) error {
	_, _, err := config.Load(config.Options{Home: c.Home, Cwd: c.Cwd, Profile: p.Profile, Overrides: p.Overrides,
		Env: p.Getenv, Trusted: true})
	return err
}

// Again are the flags that have another Kerf read the configuration that this one reads.
func (p *Program) Again() []string {
	var args []string
	if p.Dir != "" {
		args = append(args, "--cd", p.Dir)
	}
	if p.Profile != "" {
		args = append(args, "--profile", p.Profile)
	}
	for _, c := range p.Overrides {
		args = append(args, "--config", c)
	}
	return args
}

// Unconfigured is a host that no configuration file had a say in.
func (p *Program) Unconfigured() (*host.Host, error) {
	home, err := config.HomeDir(p.Getenv)
	if err != nil {
		return nil, err
	}
	cwd, err := p.Cwd()
	if err != nil {
		return nil, err
	}
	return &host.Host{Config: &config.Config{Home: home, Cwd: cwd, Root: cwd}, Env: p.Env}, nil
}

// Tolerant is Host for the commands that show what was done, and take it back. Where the
// configuration cannot be read, it says so and returns a host that no configuration had a
// say in.
func (p *Program) Tolerant() (*host.Host, error) {
	h, err := p.Host(nil)
	var bad *config.Error
	if !errors.As(err, &bad) {
		return h, err
	}
	fmt.Fprintf(p.Stderr, "kerf: the configuration is left out: %v\n", visible.Plain(err.Error()))
	return p.Unconfigured()
}

// Profiles are the names of the user's profiles.
func (p *Program) Profiles() []string {
	home, err := config.HomeDir(p.Getenv)
	if err != nil {
		return nil
	}
	return config.Profiles(home)
}

// Cwd is the working directory, canonical, so that one directory has one name.
func (p *Program) Cwd() (string, error) {
	dir := p.Dir
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", Misuse("-C %s: there is no such directory", dir)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", Misuse("-C %s: not a directory", dir)
	}
	return real, nil
}

// Deliver writes a result to standard output, or to a new file of the user's own.
func (p *Program) Deliver(path string, b []byte) error {
	if path == "" || path == "-" {
		_, err := p.Stdout.Write(b)
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return Misuse("--output: %v", err)
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// Getenv reads from the environment of the program.
func (p *Program) Getenv(name string) string {
	value, _ := p.lookup(name)
	return value
}

// Self is how the user calls this program again.
func (p *Program) Self() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/kerf"
	}
	return p.Name
}

// OnTerminal reports whether the user sees the output and can answer.
func (p *Program) OnTerminal() bool { return IsTerminal(p.Stdin) && IsTerminal(p.Stdout) }

// Colored reports whether the output may have colours.
func (p *Program) Colored() bool {
	return IsTerminal(p.Stdout) && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether a stream is a terminal, or a pager on one.
func IsTerminal(f any) bool {
	if o, ok := f.(*Output); ok {
		f = o.to
	}
	if _, paged := f.(*pipe); paged {
		return true
	}
	file, ok := f.(*os.File)
	return ok && file != nil && term.IsTerminal(int(file.Fd()))
}
