// Command kerf is a local coding agent that always knows what changed, who
// changed it, and how to take it back.
//
// Exit codes: 0 done; 1 the task or turn failed; 2 usage or configuration; 125
// a sandbox could not be set up; 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kerf/internal/config"
	"kerf/internal/host"
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program, so that tests can be it.
func run(argv []string, stdin *os.File, stdout, stderr io.Writer) int {
	p := &program{argv0: argv[0], stdin: stdin, stdout: stdout, stderr: stderr, env: os.Environ()}
	root := p.root()
	root.SetArgs(argv[1:])
	if filepath.Base(argv[0]) == "apply_patch" {
		root.SetArgs(append([]string{"apply-patch"}, argv[1:]...))
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	return p.exit(err)
}

// program is what all commands share: streams, environment and global flags.
type program struct {
	argv0          string
	stdin          *os.File
	stdout, stderr io.Writer
	env            []string

	dir       string
	overrides []string
	profile   string
	oss       bool
	record    string
}

// codeError ends the program with a code and, when err is set, a message.
type codeError struct {
	code int
	err  error
	hint string
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// misuse is an error of usage or configuration.
func misuse(format string, args ...any) error {
	return &codeError{code: 2, err: fmt.Errorf(format, args...)}
}

// silent ends the program with a code when all is said.
func silent(code int) error {
	if code == 0 {
		return nil
	}
	return &codeError{code: code}
}

// exit prints err, if there is something to say, and returns the exit code. It
// is the one place that speaks to the user about errors.
func (p *program) exit(err error) int {
	if err == nil {
		return 0
	}
	var coded *codeError
	if errors.As(err, &coded) {
		if coded.err != nil {
			fmt.Fprintf(p.stderr, "kerf: %v\n", coded.err)
		}
		if coded.hint != "" {
			fmt.Fprintf(p.stderr, "hint: %s\n", coded.hint)
		}
		return coded.code
	}
	fmt.Fprintf(p.stderr, "kerf: %v\n", err)
	var bad *config.Error
	var code interface{ ExitCode() int }
	switch {
	case errors.As(err, &bad):
		return 2
	case errors.As(err, &code):
		return code.ExitCode()
	}
	return 1
}

const about = `Kerf is a local coding agent. It always knows exactly what changed, who changed it,
and how to take it back.

  kerf                                 the terminal UI
  kerf exec "fix the failing test"     one request, headless
  kerf diff                            what the last turn changed
  kerf apply --dry-run                 what the last session would change here
  kerf demo                            see it work, without network or key`

func (p *program) root() *cobra.Command {
	root := &cobra.Command{Use: "kerf", Short: "A local coding agent that knows exactly what it changed", Long: about,
		Version: host.Version, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	root.SetVersionTemplate("kerf {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &codeError{code: 2, err: err, hint: "see " + cmd.CommandPath() + " --help"}
	})
	f := root.PersistentFlags()
	f.StringVarP(&p.dir, "cd", "C", "", "run as if started in this `directory`")
	f.StringArrayVarP(&p.overrides, "config", "c", nil, "override a setting, `key.path=value` in TOML; may be repeated")
	f.StringVarP(&p.profile, "profile", "p", "", "use a `profile` of the configuration")
	f.BoolVar(&p.oss, "oss", false, "use a model of this machine: Ollama, LM Studio or llama.cpp")
	f.StringVar(&p.record, "record", "", "write the session into this `file` as a scenario")
	root.AddCommand(p.modelsCommand(), p.loginCommand(), p.logoutCommand(), p.scriptCommand())
	root.AddCommand(p.execCommand(), p.sessionsCommand(), p.diffCommand(), p.applyCommand(), p.applyPatchCommand(),
		p.toolCommand(), p.demoCommand(), p.configCommand(), p.verifyCommand(), p.recoverCommand(), p.sandboxCommand(), p.doctorCommand(), p.mcpServerCommand(), p.acpCommand(), p.schemaCommand())
	root.AddCommand(p.undoCommand(), p.redoCommand(), p.logCommand(), p.blameCommand(), p.gcCommand(), p.replayCommand(), p.usageCommand())
	p.addTUI(root)
	root.AddCommand(p.reviewCommand(), p.initCommand())
	root.AddCommand(p.mcpCommand(), p.explainCommand(), p.debugCommand(), p.rulesCommand(), p.trustCommand())
	return root
}

// host loads the configuration and returns the host over it.
func (p *program) host(flags map[string]any) (*host.Host, error) {
	cwd, err := p.cwd()
	if err != nil {
		return nil, err
	}
	home, err := config.HomeDir(p.getenv)
	if err != nil {
		return nil, misuse("%v", err)
	}
	cfg, warnings, err := config.Load(config.Options{Home: home, Cwd: cwd, Profile: p.profile, Overrides: p.overrides,
		Flags: flags, Env: p.getenv})
	if err != nil {
		return nil, err
	}
	h := &host.Host{Config: cfg, Env: p.env}
	if h.Trusted() {
		if h.Config, warnings, err = config.Load(config.Options{Home: home, Cwd: cwd, Profile: p.profile, Overrides: p.overrides,
			Flags: flags, Env: p.getenv, Trusted: true}); err != nil {
			return nil, err
		}
	}
	h.Local, h.Record = p.oss, p.record
	for _, w := range warnings {
		h.Warnings = append(h.Warnings, w.String())
	}
	return h, nil
}

// cwd is the working directory, canonical, so that one directory has one name.
func (p *program) cwd() (string, error) {
	dir := p.dir
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", misuse("-C %s: there is no such directory", dir)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", misuse("-C %s: not a directory", dir)
	}
	return real, nil
}

func (p *program) getenv(name string) string {
	for i := len(p.env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(p.env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// self is how the user calls this program again.
func (p *program) self() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/kerf"
	}
	return p.argv0
}
