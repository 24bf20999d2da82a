package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"kerf/fleet/desk"
)

// openRequest pushes a branch and opens a request with the program of its host.
func openRequest(c *cobra.Command, a desk.Applying, done desk.Applied) error {
	program, words := "gh", []string{"pr", "create", "--head", a.Branch, "--title", title(done), "--body", body(done)}
	if _, err := exec.LookPath(program); err != nil {
		program, words = "glab", []string{"mr", "create", "--source-branch", a.Branch, "--title", title(done),
			"--description", body(done), "--yes"}
		if _, err = exec.LookPath(program); err != nil {
			return errors.New("the branch is there, but neither gh nor glab is installed: push it and open the request yourself")
		}
	}
	for _, args := range [][]string{{"git", "push", "origin", "refs/heads/" + a.Branch}, append([]string{program}, words...)} {
		cmd := exec.CommandContext(c.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = a.Dir, c.ErrOrStderr(), c.ErrOrStderr()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w; the branch %s is there", args[0], err, a.Branch)
		}
	}
	return nil
}

func title(done desk.Applied) string {
	if len(done.Tasks) == 1 {
		return "Kerf task " + done.Tasks[0]
	}
	return fmt.Sprintf("%d Kerf tasks", len(done.Tasks))
}

func body(done desk.Applied) string { return "Tasks: " + strings.Join(done.Tasks, ", ") + "\n" }
