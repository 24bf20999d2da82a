package settings

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
)

// debugCommand groups what shows Kerf's insides.
func debugCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "debug", Short: "Show what Kerf would decide or send", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	cmd.AddCommand(safetyCommand(p), debugPromptCommand(p), debugProviderCommand(p))
	return cmd
}

// maxSafetyLine bounds one line of `kerf debug command-safety`, in bytes.
const maxSafetyLine = 16 << 20

// safetyCommand prints what would be decided about commands.
func safetyCommand(p *program.Program) *cobra.Command {
	var batch bool
	cmd := &cobra.Command{Use: "command-safety [--batch]",
		Short: "Show whether a command would run without a question: auto, ask or deny",
		Long: `Reads a command as a JSON array of its words from standard input and prints one word:
auto (it is known to only read), ask, or deny (a rule forbids it). It judges as a session
that begins in the working directory would, with your rules, your PATH and the approval
policy untrusted.

With --batch it reads one array per line and prints one word per line. For a line that is
not a command it prints "ask", and the reason on stderr.`,
		Example: `  echo '["git", "status"]' | kerf debug command-safety`,
		Args:    program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			explain, err := host.Safety(h)
			if err != nil {
				return err
			}
			judge := func(argv []string) (string, error) {
				e, err := explain(argv)
				return e.Verdict.String(), err
			}
			if batch {
				return safetyBatch(p, judge)
			}
			var argv []string
			d := json.NewDecoder(io.LimitReader(p.Stdin, maxSafetyLine))
			if err := d.Decode(&argv); err != nil {
				return program.Misuse("standard input: expected a JSON array of strings: %v", err)
			}
			verdict, err := judge(argv)
			if err != nil {
				return program.Misuse("standard input: %v", err)
			}
			fmt.Fprintln(p.Stdout, verdict)
			return nil
		}}
	cmd.Flags().BoolVar(&batch, "batch", false, "read one JSON array per line, print one word per line")
	return cmd
}

func safetyBatch(p *program.Program, judge func([]string) (string, error)) error {
	in := bufio.NewScanner(p.Stdin)
	in.Buffer(make([]byte, 64<<10), maxSafetyLine)
	out := bufio.NewWriter(p.Stdout)
	for n := 1; in.Scan(); n++ {
		var argv []string
		verdict := "ask"
		err := json.Unmarshal(in.Bytes(), &argv)
		if err == nil {
			verdict, err = judge(argv)
		}
		if err != nil {
			fmt.Fprintf(p.Stderr, "kerf: line %d: expected a JSON array of strings: %v\n", n, err)
			verdict = "ask"
		}
		fmt.Fprintln(out, verdict)
	}
	err := in.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("standard input: a line has more than %d bytes", maxSafetyLine)
	}
	return errors.Join(err, out.Flush())
}
