// Command without runs a command as on a machine that lacks something that tests use.
//
//	go run ./internal/testkit/without userns landlock bwrap -- go test ./internal/work/sandbox
//
// "userns" refuses every new namespace and "landlock" every set of Landlock's rules, as kernels
// do that have none of it (Linux only); any other word is a program that PATH does not lead to.
// The exit code is the command's; 2 where nothing was run.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	at := slices.Index(os.Args, "--")
	if at < 0 || at == len(os.Args)-1 {
		fmt.Fprintln(os.Stderr, "usage: without THING... -- COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	code, err := run(os.Args[1:at], os.Args[at+1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "without:", err)
	}
	os.Exit(code)
}

func run(things, argv []string) (code int, err error) {
	var programs []string
	var refused calls
	for _, thing := range things {
		switch thing {
		case "userns":
			refused.namespaces = true
		case "landlock":
			refused.landlock = true
		default:
			programs = append(programs, thing)
		}
	}
	if len(programs) > 0 {
		// Not below the temporary directory, which commands in a sandbox may write: programs there do not count.
		dir, err := os.MkdirTemp("/var/tmp", "without-")
		if err != nil {
			return 2, err
		}
		defer os.RemoveAll(dir)
		if err := hide(dir, programs); err != nil {
			return 2, err
		}
	}
	if err := refused.begin(); err != nil {
		return 2, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return max(1, ended.ExitCode()), nil
	case err != nil:
		return 2, err
	}
	return 0, nil
}

// hide makes PATH a list of directories of links below dir, which lead to all that PATH led to but programs.
func hide(dir string, programs []string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	path := ""
	for i, from := range filepath.SplitList(os.Getenv("PATH")) {
		to := filepath.Join(dir, fmt.Sprint(i))
		entries, _ := os.ReadDir(from) // what cannot be read leads to nothing
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		for _, e := range entries {
			if slices.Contains(programs, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
		path += string(filepath.ListSeparator) + to
	}
	return os.Setenv("PATH", path[min(1, len(path)):])
}

// calls are the system calls that are refused.
type calls struct{ namespaces, landlock bool }
