// Package sdk runs Kerf from Go programs.
//
// A [Client] knows where the program is. A [Thread] runs one turn after the
// other without asking anybody, each in a process of its own (kerf exec), and
// tells what happens as events. A [Dialogue] is one process that stays (kerf acp)
// and asks the caller before it acts.
//
// Everything else is as for the command: configuration, keys, sandbox and the
// record of sessions. The package uses the standard library only.
package sdk

import (
	"os"
	"os/exec"
	"strings"
	"time"
)

// Client starts Kerf. The zero value starts the kerf of PATH with the
// environment of this process. It may be used by several goroutines.
type Client struct {
	// Program is the path of kerf; empty means the one on PATH.
	Program string
	// Env is the whole environment of the program; nil means that of this process.
	Env []string
	// Config are settings that win over the files: "key.path=value", values in TOML.
	Config []string
	// APIKey and BaseURL are for the built-in OpenAI provider. The key goes through
	// the environment and is in no argument.
	APIKey, BaseURL string
}

// grace is how long a program that was told to end may take before it is killed;
// Kerf's own bound is 10 s.
const grace = 12 * time.Second

// command is the program with its settings and args.
func (c *Client) command(args ...string) *exec.Cmd {
	program := c.Program
	if program == "" {
		program = "kerf"
	}
	var all []string
	for _, setting := range c.Config {
		all = append(all, "--config", setting)
	}
	if c.BaseURL != "" {
		all = append(all, "--config", "openai_base_url="+tomlString(c.BaseURL))
	}
	cmd := exec.Command(program, append(all, args...)...)
	if cmd.Env = c.Env; cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if c.APIKey != "" {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "CODEX_API_KEY="+c.APIKey)
	}
	return cmd
}

// tomlString quotes s for a setting.
func tomlString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// tailLimit bounds what is kept of a program's error stream, in bytes.
const tailLimit = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - tailLimit; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "")) }
