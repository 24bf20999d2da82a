// Command release makes what is released of Kerf: archives for all systems, packages for
// Linux, a Homebrew formula, checksums, a bill of materials and a statement of provenance.
// Two runs on the same commit make the same bytes.
//
//	go run . -out ../dist
//
// It is a module of its own, so that Kerf's has none of its dependencies.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is a system that is built for.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"}}

func (t target) String() string { return t.os + "_" + t.arch }

// release is one run.
type release struct {
	root, out string
	url       string // where the archives will lie
	targets   []target

	version string
	commit  string    // empty outside git
	date    time.Time // of the commit: the time of all files
	extras  string    // a directory with man pages and completions
}

func main() {
	r := release{targets: targets}
	only := flag.String("only", "", "build only this `system`, such as linux_amd64")
	flag.StringVar(&r.root, "root", "..", "Kerf's source `directory`")
	flag.StringVar(&r.out, "out", filepath.Join("..", "dist"), "the `directory` that gets the files; it must be empty or not there")
	flag.StringVar(&r.url, "url", "https://example.invalid/kerf", "where the archives will be published, for the formula")
	flag.Parse()
	if *only != "" {
		r.targets = nil
		for _, t := range targets {
			if t.String() == *only {
				r.targets = []target{t}
			}
		}
	}
	if err := r.run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run() error {
	if len(r.targets) == 0 {
		return fmt.Errorf("-only: the systems are %v", targets)
	}
	if list, err := os.ReadDir(r.out); err == nil && len(list) > 0 {
		return fmt.Errorf("%s is not empty", r.out)
	}
	scratch, err := os.MkdirTemp("", "kerf-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := errors.Join(r.learn(scratch), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	var made []string
	for _, t := range r.targets {
		fmt.Fprintf(os.Stderr, "building %s\n", t)
		files, err := r.target(t, filepath.Join(scratch, t.String()))
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, files...)
	}
	more, err := r.describe(made)
	if err != nil {
		return err
	}
	for _, name := range append(made, more...) {
		st, err := os.Stat(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Printf("%10d  %s\n", st.Size(), name)
	}
	return nil
}

// learn finds out what is released, and makes what goes into all archives.
func (r *release) learn(scratch string) error {
	out, err := r.git("log", "-1", "--format=%H %ct")
	if commit, stamp, ok := strings.Cut(out, " "); err == nil && ok {
		r.commit = commit
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return err
		}
		r.date = time.Unix(seconds, 0).UTC()
	} else if s := os.Getenv("SOURCE_DATE_EPOCH"); s != "" {
		seconds, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		r.date = time.Unix(seconds, 0).UTC()
	} else {
		return errors.New("neither git nor SOURCE_DATE_EPOCH tells the time of the source")
	}
	here := filepath.Join(scratch, "kerf")
	if err := r.build(here); err != nil {
		return err
	}
	said, err := exec.Command(here, "version", "--json").Output()
	if err != nil {
		return err
	}
	var about struct {
		Version, Commit string
		Modified        bool
	}
	if err := json.Unmarshal(said, &about); err != nil {
		return fmt.Errorf("kerf version --json: %w", err)
	}
	if about.Commit != r.commit {
		return fmt.Errorf("the program says that it was built from commit %q, the source is %q", about.Commit, r.commit)
	}
	if about.Modified {
		return errors.New("the source has changes that are in no commit, so nobody could make the same files again: commit them first")
	}
	r.version = about.Version
	r.extras = filepath.Join(scratch, "extras")
	man := filepath.Join(r.extras, "man", "man1")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	if err := r.self(here, nil, "man", "--dir", man); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.extras, "completions"), 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "kerf.bash", "zsh": "_kerf", "fish": "kerf.fish", "powershell": "kerf.ps1"} {
		f, err := os.Create(filepath.Join(r.extras, "completions", name))
		if err != nil {
			return err
		}
		if err := errors.Join(r.self(here, f, "completion", shell), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// self runs the program that was built, with nothing of this user's.
func (r *release) self(program string, out *os.File, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + filepath.Dir(program), "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd.Run()
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// build builds the program as `make build` does, with env over this process's. It carries the
// commit, whatever this machine's settings of Go say.
func (r *release) build(path string, env ...string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	stamp := "-buildvcs=true"
	if r.commit == "" {
		stamp = "-buildvcs=false"
	}
	cmd := exec.Command("go", "build", stamp, "-trimpath", "-ldflags", "-s -w", "-o", abs, "./cmd/kerf")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"), env...)
	return cmd.Run()
}
