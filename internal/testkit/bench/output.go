//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"kerf/internal/model/script"
	"kerf/internal/testkit/modeltest"
)

// output runs a command that prints 10 MB, round after round, beside one that prints nothing.
func (b *bencher) output() error {
	const rounds = 20
	line := "2026-11-23T03:31:33Z INFO request handled path=/api/v1/items/12345 status=200 took=12ms\n"
	large := bytes.Repeat([]byte(line), 10<<20/len(line))
	fmt.Printf("\ncommand that prints, ms per round   %9s  %9s  peak MB\n", "median", "user+sys")
	for _, way := range []struct{ name, sandbox, command string }{
		{"nothing, no sandbox", "danger-full-access", ":"}, {"10 MB, no sandbox", "danger-full-access", "cat large.log"},
		{"nothing, sandbox", "workspace-write", ":"}, {"10 MB, sandbox", "workspace-write", "cat large.log"},
	} {
		var answers []script.Round
		for range rounds {
			answers = append(answers, script.Round{Items: []script.Item{modeltest.Call("exec_command",
				map[string]any{"cmd": way.command})}})
		}
		answers = append(answers, script.Round{Items: []script.Item{{Message: "done"}}})
		dir, err := b.repository()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "large.log"), large, 0o644); err != nil {
			return err
		}
		r, err := b.once(answers, dir, b.kerfArgs(way.sandbox))
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
		fmt.Printf("%-34s %9.1f  %9.1f  %7.1f\n", way.name, ms(median(r.gaps)), ms(r.cpu)/rounds, float64(r.peak)/1e6)
	}
	return nil
}
