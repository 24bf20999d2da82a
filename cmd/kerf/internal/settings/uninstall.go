package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/habits"
	"kerf/cmd/kerf/internal/habits/timetable"
	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config"
	"kerf/internal/text/visible"
)

const uninstallAbout = `Lists what Kerf keeps on this machine: the program, and Kerf's home with settings, keys,
sessions and the contents that undo needs. It removes nothing by itself.

With --purge it removes what Kerf made in its home, after asking. Files there that Kerf does
not know stay. Without the contents nothing can be taken back any more. It stops when a
session runs.

Keys in the system's keyring are removed by kerf logout, and requests at set times by
kerf schedule remove; it lists them.

The program itself is removed as it was installed: by the package manager, by brew, or with
rm. What kerf trust allowed in a project lies in Kerf's home; in projects Kerf leaves nothing
but what you put there.`

// kept are what Kerf makes in its home, and what each is.
var kept = map[string]string{
	"config.toml": "your settings", "auth.json": "keys", "auth.json.lock": "a lock", "sessions": "recorded sessions",
	"workspaces": "what undo needs", "worktrees": "work trees: those you named, and those of sub-agents",
	"tries": "tries, and their numbers", "plugins": "plugins and their data", "locks": "locks",
	"run": "the socket of kerf serve", "history.jsonl": "your prompts", "models.json": "facts of models",
	"programs": "an empty directory", "prompts": "your commands", "skills": "your skills", "rules": "your rules",
	"themes": "your themes", "hooks.json": "your hooks", "AGENTS.md": "your instructions",
}

// Kept says what a file or directory of Kerf's home is, by its name. It reports false for
// what Kerf did not make.
func Kept(name string) (about string, ok bool) {
	if profile, ok := strings.CutSuffix(name, ".config.toml"); ok && profile != "" {
		return "settings of a profile", true
	}
	about, ok = kept[name]
	return about, ok
}

func uninstallCommand(p *program.Program) *cobra.Command {
	var purge, yes bool
	cmd := &cobra.Command{Use: "uninstall", Short: "List what Kerf keeps on this machine, and remove it",
		Long: uninstallAbout, Args: program.AtMost(0), RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := config.HomeDir(p.Getenv)
			if err != nil {
				return program.Misuse("%v", err)
			}
			scheduled, err := habits.Scheduled(cmd.Context(), p)
			if err != nil {
				fmt.Fprintf(p.Stderr, "requests at set times cannot be listed: %v\n", err)
			}
			return uninstall(p, home, scheduled, purge, yes)
		}}
	cmd.Flags().BoolVar(&purge, "purge", false, "remove what Kerf made in its home")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --purge: do not ask")
	return cmd
}

func uninstall(p *program.Program, home string, scheduled []timetable.Entry, purge, yes bool) error {
	if yes && !purge {
		return program.Misuse("--yes goes with --purge")
	}
	if exe, err := os.Executable(); err == nil {
		fmt.Fprintf(p.Stdout, "program  %s\n", visible.Line(exe))
	}
	for _, e := range scheduled {
		fmt.Fprintf(p.Stdout, "request  %s (%s) stays; kerf schedule remove %s takes it away\n", visible.Line(e.Name),
			visible.Line(e.When), visible.Line(e.Name))
	}
	list, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(p.Stdout, "home     %s (not there)\n", visible.Line(home))
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "home     %s\n", visible.Line(home))
	var known, others []string
	for _, e := range list {
		about, ok := Kept(e.Name())
		if !ok {
			about = "not known to Kerf, stays"
			others = append(others, e.Name())
		} else {
			known = append(known, e.Name())
		}
		size := print.Bytes(sizeOf(filepath.Join(home, e.Name())))
		fmt.Fprintf(p.Stdout, "  %-14s %10s  %s\n", visible.Line(e.Name()), size, about)
	}
	switch {
	case !purge:
		fmt.Fprintln(p.Stdout, "kerf uninstall --purge removes what Kerf made there")
		return nil
	case len(known) == 0:
		return nil
	}
	if running := sessionsUnderWay(home); running != "" {
		return &program.Error{Code: 1, Err: fmt.Errorf("%s is in use, so nothing was removed", running),
			Hint: "leave the sessions that run, and stop kerf serve"}
	}
	if !yes {
		if !program.IsTerminal(p.Stdin) {
			return program.Misuse("nobody can be asked here; add --yes to remove all this for good")
		}
		if !p.Agrees(p.Stdout, "Remove all this for good? Then nothing can be taken back any more.") {
			fmt.Fprintln(p.Stdout, "nothing was removed")
			return program.Exit(1)
		}
	}
	return remove(p, home, known, others)
}

// remove removes what Kerf made, without following links, and then the home if it is empty.
func remove(p *program.Program, home string, known, others []string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	var failed []error
	for _, name := range known {
		if err := root.RemoveAll(name); err != nil {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("not everything could be removed: %w", err)
	}
	if len(others) > 0 {
		fmt.Fprintf(p.Stdout, "removed; %d files that Kerf does not know stay in %s\n", len(others), visible.Line(home))
		return nil
	}
	if err := os.Remove(home); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, "removed")
	return nil
}

// sizeOf is what the files at path take, in bytes.
func sizeOf(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not counted
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// sessionsUnderWay names a session that somebody has open, or the server, and nothing when
// nobody works with this home.
func sessionsUnderWay(home string) string {
	for _, pattern := range []string{"locks/*", "sessions/*/*.lock", "run/*.lock"} {
		paths, _ := filepath.Glob(filepath.Join(home, filepath.FromSlash(pattern))) // the pattern is a good one
		for _, path := range paths {
			if locked(path) {
				return path
			}
		}
	}
	return ""
}

func locked(path string) bool {
	l := flock.New(path)
	free, err := l.TryLock()
	if free {
		_ = l.Unlock()
	}
	return err == nil && !free
}
