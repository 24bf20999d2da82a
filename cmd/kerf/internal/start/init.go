package start

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records"
	"kerf/internal/front/exec"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

const initLong = `Asks the model to look at the project and writes its answer to AGENTS.md: what agents
should know before they work here. The model itself changes nothing. Kerf never overwrites
an AGENTS.md that exists. It shows the change, and kerf undo takes it back.`

// initPrompt asks for the text of the file.
const initPrompt = `Look at this project and write its AGENTS.md: what a coding agent has to know before it works here, and would not see at once.

Find out and state, where it is so: what the project is and how its parts fit together; the exact commands to build it, to test it, to run one test, to format and to check it; conventions that the code follows and that tools do not enforce; traps. State only what you saw in the files. Do not repeat what every agent knows. Markdown, at most 60 lines, headed "# AGENTS.md".

Change nothing. Your last message is the text of the file, and nothing else: no greeting, no code fence around it.`

func initCommand(p *program.Program) *cobra.Command {
	o := &execOptions{p: p, color: "auto"}
	dry := false
	cmd := &cobra.Command{Use: "init", Short: "Have the model write a first AGENTS.md", Long: initLong,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.initialise(cmd.Context(), dry) }}
	f := cmd.Flags()
	f.StringVarP(&o.model, "model", "m", "", "the `model` to ask")
	f.BoolVar(&dry, "dry-run", false, "print the text on stdout and write nothing")
	f.DurationVar(&o.timeout, "timeout", 0, "give up after this `time`")
	return cmd
}

func (o *execOptions) initialise(ctx context.Context, dry bool) error {
	if err := o.bound(); err != nil {
		return err
	}
	h, err := o.p.Host(nil)
	if err != nil {
		return err
	}
	path := filepath.Join(h.Config.Cwd, "AGENTS.md")
	if _, err := os.Lstat(path); err == nil && !dry {
		return &program.Error{Code: 1, Err: errors.New(path + " exists; nothing was changed"),
			Hint: "edit it, or see what would be written: kerf init --dry-run"}
	}
	text, err := o.askFor(ctx, h)
	if err != nil || dry {
		if err == nil {
			_, err = io.WriteString(o.p.Stdout, text)
		}
		return err
	}
	args, err := json.Marshal(map[string]string{"file_path": path, "content": text})
	if err != nil {
		return err
	}
	r, err := h.Tool(ctx, "write_file", args, protocol.Settings{Sandbox: protocol.SandboxWorkspace}, nil)
	switch {
	case err != nil:
		return err
	case r.Error != nil:
		return fmt.Errorf("AGENTS.md: %s", r.Error.Message)
	}
	n, err := records.TurnDiff(h, false)
	if err == nil {
		_, err = o.p.Stdout.Write(n.Diff)
	}
	return err
}

// askFor has the model write the text, and shows its work on stderr.
func (o *execOptions) askFor(ctx context.Context, h *host.Host) (string, error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	var out bytes.Buffer
	set := protocol.Settings{Model: o.model, Approval: unasked(h), Sandbox: protocol.SandboxReadOnly}
	code := exec.Run(ctx, exec.Options{Sessions: h, Version: host.Version,
		Open:   protocol.OpenOptions{Settings: set, Headless: true, Source: "init"},
		Prompt: []protocol.Input{{Text: initPrompt}}, Stdout: &out, Stderr: o.p.Stderr,
		Color: o.colored(program.IsTerminal(o.p.Stderr)), RawMessage: true, Interrupts: signals})
	if code != 0 {
		return "", program.Exit(code)
	}
	text := unfenced(out.String())
	if text == "" {
		return "", &program.Error{Code: 1, Err: errors.New("the model said nothing; AGENTS.md was not written")}
	}
	return text + "\n", nil
}

// unfenced is a text without the code fence that some models put around a file.
func unfenced(s string) string {
	s = strings.TrimSpace(s)
	first, rest, ok := strings.Cut(s, "\n")
	if body, closed := strings.CutSuffix(rest, "\n```"); ok && closed && strings.HasPrefix(first, "```") &&
		!strings.Contains(body, "\n```") {
		return strings.TrimSpace(body)
	}
	return s
}
