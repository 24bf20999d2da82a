package start

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/exec"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/sessions/scenario"
)

// demoFiles are the module that crashes and the scenario that mends it. Go files
// carry the ending .txt, so that they are no part of this program.
//
//go:embed demo
var demoFiles embed.FS

const demoLong = `Makes a temporary git repository with a small Go module that crashes on a division by
zero, and lets a scripted model fix it: search, patch, test (fails), patch again, test
(passes), report. The model is a script; the tools, files, test runs and the session are
real. It needs Go and git, but no network and no key.`

const demoPrompt = "mathx crashes when it divides by zero. Fix it, add tests and run them."

func demoCommand(p *program.Program) *cobra.Command {
	var asJSON, asTUI bool
	var api string
	cmd := &cobra.Command{Use: "demo", Short: "See Kerf work on a real bug, with a scripted model", Long: demoLong,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asTUI {
				return demoTUI(cmd.Context(), p)
			}
			return runDemo(cmd.Context(), p, asJSON, api)
		}}
	cmd.Flags().StringVar(&api, "api", "", "serve the script on this machine in a wire `protocol` (responses, chat, "+
		"anthropic or gemini), and ask it over HTTP")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON lines on stdout")
	cmd.Flags().BoolVar(&asTUI, "tui", false, "play it in the terminal UI")
	cmd.MarkFlagsMutuallyExclusive("json", "tui")
	return cmd
}

func runDemo(ctx context.Context, p *program.Program, asJSON bool, api string) error {
	for _, tool := range []string{"git", "go"} {
		if _, err := osexec.LookPath(tool); err != nil {
			return program.Misuse("the demo needs %s, and it is not on PATH", tool)
		}
	}
	switch api {
	case "", "responses", "chat", "anthropic", "gemini":
	default:
		return program.Misuse("--api %q: use responses, chat, anthropic or gemini", api)
	}
	dir, err := demoRepository()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	p.Dir = dir
	if err := prepareCache(ctx, p, dir); err != nil {
		return err
	}
	h, stop, err := demoServer(p, api)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(p.Stderr, "This is a demonstration: the model is SCRIPTED (a recorded scenario, no network, no key).\n"+
		"Its tools, the files in %s, the test runs and the session are real.\n\n", dir)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	o := execOptions{p: p, color: "auto"}
	code := exec.Run(ctx, exec.Options{Sessions: h, Version: host.Version, Named: p.Named,
		Open: protocol.OpenOptions{Headless: true, Source: "demo",
			Settings: protocol.Settings{Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyNever}},
		Prompt: []protocol.Input{{Text: demoPrompt}}, JSON: asJSON, Stdout: p.Stdout, Stderr: p.Stderr,
		Color: o.colored(program.IsTerminal(p.Stderr)), Interrupts: signals})
	if code != 0 {
		return program.Exit(code)
	}
	demoNext(ctx, p, h, dir)
	return nil
}

// prepareCache compiles what the tests of the demo need into the user's own build cache,
// which commands in the sandbox can only read: one test run there must not compile the
// standard library. A cache below the temporary directory is one that they would not see.
func prepareCache(ctx context.Context, p *program.Program, dir string) error {
	build := osexec.CommandContext(ctx, "go", "test", "-run", "^$", "./...")
	build.Dir, build.Env = dir, p.Env
	working := p.Working("compiling what the tests of the demo need")
	out, err := build.CombinedOutput()
	working.Stop()
	if err != nil {
		return fmt.Errorf("demo: go test: %w: %s", err, out)
	}
	where := osexec.CommandContext(ctx, "go", "env", "GOCACHE")
	where.Dir, where.Env = dir, p.Env
	out, err = where.Output()
	if err == nil && pathname.Under(os.TempDir(), strings.TrimSpace(string(out))) {
		p.Overrides = append(p.Overrides, "sandbox_workspace_write.shared_tmp=true")
	}
	return nil
}

// demoServer is a host whose model plays the scenario: inside the program, or as
// a server that speaks a wire protocol.
func demoServer(p *program.Program, api string) (*host.Host, func(), error) {
	f, err := demoFiles.Open("demo/scenario.json")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	flags := map[string]any{"model_provider": "script", "model": "scripted-demo"}
	if api == "" {
		h, err := p.Host(flags)
		if err != nil {
			return nil, nil, err
		}
		h.Client, err = host.Scripted(f)
		return h, func() {}, err
	}
	url, stop, err := scenario.Serve(f)
	if err != nil {
		return nil, nil, err
	}
	flags["model_provider"] = "demo"
	p.Overrides = append(p.Overrides, fmt.Sprintf(
		"model_providers.demo={name=\"scripted %s server\", base_url=%q, wire_api=%q}", api, url, api))
	h, err := p.Host(flags)
	if err != nil {
		stop()
		return nil, nil, err
	}
	fmt.Fprintf(p.Stderr, "The script is served at %s and asked over HTTP (%s).\n", url, api)
	return h, stop, nil
}

// demoNext says where things are and what to try.
func demoNext(ctx context.Context, p *program.Program, h *host.Host, dir string) {
	list, err := h.Sessions().List(ctx, protocol.Filter{Cwd: h.Config.Cwd, Limit: 1})
	if err != nil || len(list) == 0 {
		return
	}
	id, self := list[0].ID, p.Self()
	fmt.Fprintf(p.Stderr, "\nThe repository is %s. Try next:\n"+
		"  %s diff -C %s\n      what the turn changed, byte for byte\n"+
		"  %s sessions show %s\n      everything that was recorded\n"+
		"  %s undo -C %s\n      take it back; kerf redo brings it again\n",
		dir, self, dir, self, id[:13], self, dir)
}

// demoRepository writes the module into a new git repository and commits it.
func demoRepository() (string, error) {
	dir, err := os.MkdirTemp("", "kerf-demo-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	files, err := fs.Sub(demoFiles, "demo/module")
	if err != nil {
		return "", err
	}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, strings.TrimSuffix(name, ".txt"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, b, 0o644)
	})
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m",
			"mathx: first version"}} {
		cmd := osexec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return dir, nil
}
