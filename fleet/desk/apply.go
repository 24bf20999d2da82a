package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kerf/fleet/bundle"
	"kerf/fleet/git"
)

// Applying says where results go.
type Applying struct {
	Dir string // inside the repository
	// Branch is one to which each task is committed; empty changes the checkout itself.
	Branch string
	Kerf   string // the program
	DryRun bool
}

// Applied is the report.
type Applied struct {
	Tasks []string `json:"tasks"` // in the order in which they were merged
	// Files are what kerf apply says of each file, for the tasks that were merged.
	Files  json.RawMessage `json:"files,omitempty"`
	Commit string          `json:"commit,omitempty"` // the new end of the branch
	Diff   string          `json:"diff,omitempty"`   // of a dry run
}

// ConflictError says that a task does not fit. Nothing was changed.
type ConflictError struct {
	Task, Report string
}

func (e *ConflictError) Error() string {
	return "task " + e.Task + " does not fit; nothing was changed: " + e.Report
}

// Apply merges the results of tasks in their order: all of them or none.
func (d Desk) Apply(ctx context.Context, a Applying, bundles []bundle.Bundle) (Applied, error) {
	var done Applied
	scratch, err := os.MkdirTemp("", "kerf-fleet-")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(scratch)
	m := &merging{Applying: a, desk: d, scratch: scratch, tree: filepath.Join(scratch, "tree")}
	if err = m.begin(ctx); err != nil {
		return done, err
	}
	for _, b := range bundles {
		if err = m.merge(ctx, b); err != nil {
			return done, err
		}
		done.Tasks = append(done.Tasks, b.Task)
	}
	if a.Branch != "" {
		done.Commit, err = m.land(ctx)
		return done, err
	}
	patch, err := m.look.Run(ctx, nil, "diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--src-prefix=a/",
		"--dst-prefix=b/", m.first, m.now)
	if err != nil || len(patch) == 0 {
		return done, err
	}
	if a.DryRun {
		done.Diff = string(patch)
		return done, nil
	}
	out, err := m.kerf(ctx, m.root, nil, patch, "apply", "--json", "-")
	if err != nil {
		return done, fmt.Errorf("the files changed meanwhile; nothing was changed: %w", err)
	}
	done.Files = out
	return done, nil
}

// merging merges results in a copy of the files.
type merging struct {
	Applying
	desk          Desk
	scratch, tree string
	root          string   // of the user's repository
	user, look    git.Repo // the user's, and the copy's
	tip           string   // of the branch
	first, now    string   // the trees at the beginning and after what was merged
}

// begin copies the files of the checkout, or of the branch.
func (m *merging) begin(ctx context.Context) error {
	top := exec.CommandContext(ctx, "git", "-C", m.Dir, "rev-parse", "--show-toplevel", "--git-common-dir")
	out, err := top.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 {
		return fmt.Errorf("%s is in no git repository", m.Dir)
	}
	m.root = lines[0]
	common := lines[1]
	if !filepath.IsAbs(common) {
		common = filepath.Join(m.Dir, common)
	}
	m.user = git.Repo{Dir: common}
	m.look = git.Repo{Dir: filepath.Join(m.scratch, "git"), Work: m.tree, Index: filepath.Join(m.scratch, "index")}
	if _, err = (git.Repo{}).Run(ctx, nil, "init", "-q", "--bare", "--template=", m.look.Dir); err != nil {
		return err
	}
	objects, err := filepath.Abs(filepath.Join(common, "objects"))
	if err != nil {
		return err
	}
	for path, text := range map[string]string{"objects/info/alternates": objects + "\n", "info/attributes": git.Exact} {
		path = filepath.Join(m.look.Dir, path)
		if err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	if err = os.Mkdir(m.tree, 0o700); err != nil {
		return err
	}
	if m.first, err = m.start(ctx); err != nil {
		return err
	}
	m.now = m.first
	_, err = m.look.Run(ctx, nil, "read-tree", "-u", "--reset", m.first)
	return err
}

// start is the tree to begin with.
func (m *merging) start(ctx context.Context) (tree string, err error) {
	if m.Branch != "" {
		if m.tip, err = m.user.Line(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+m.Branch+"^{commit}"); err != nil {
			return "", fmt.Errorf("there is no branch %s; git branch %s makes it", m.Branch, m.Branch)
		}
		return m.user.Line(ctx, "rev-parse", m.tip+"^{tree}")
	}
	checkout := m.look
	checkout.Work = m.root
	if _, err = checkout.Run(ctx, nil, "add", "-A", "."); err != nil {
		return "", err
	}
	return checkout.Line(ctx, "write-tree")
}

// merge merges one result.
func (m *merging) merge(ctx context.Context, b bundle.Bundle) error {
	patch, err := m.desk.Patch(ctx, b)
	if err != nil || len(patch) == 0 {
		return err
	}
	home := filepath.Join(m.scratch, "home")
	out, err := m.kerf(ctx, m.tree, []string{"KERF_HOME=" + home}, patch, "apply", "--3way", "--json", "-")
	if err != nil {
		return &ConflictError{Task: b.Task, Report: report(out, err)}
	}
	if _, err = m.look.Run(ctx, nil, "add", "-A", "."); err != nil {
		return err
	}
	if m.now, err = m.look.Line(ctx, "write-tree"); err != nil || m.Branch == "" {
		return err
	}
	return m.commit(ctx, b)
}

// report is the part of what kerf apply said that a person needs.
func report(out []byte, err error) string {
	text := strings.TrimSpace(string(out))
	if text == "" {
		text = err.Error()
	}
	return text
}

// commit makes a commit of the user's repository, which no branch has yet.
func (m *merging) commit(ctx context.Context, b bundle.Bundle) error {
	objects, err := m.look.Run(ctx, nil, "rev-list", "--objects", m.now, "--not", m.tip)
	if err != nil {
		return err
	}
	pack, err := m.look.Run(ctx, objects, "pack-objects", "-q", "--stdout")
	if err != nil {
		return err
	}
	if _, err = m.user.Run(ctx, pack, "unpack-objects", "-q"); err != nil {
		return err
	}
	title, _, _ := strings.Cut(strings.TrimSpace(b.Prompt), "\n")
	if len(title) > 72 {
		title = strings.ToValidUTF8(title[:72], "")
	}
	message := fmt.Sprintf("%s\n\nKerf-Task: %s\nKerf-Session: %s\nKerf-Bundle: %s\n", title, b.Task, b.Session, b.Hash)
	// The user's own name, so with the user's own settings.
	cmd := exec.CommandContext(ctx, "git", "-C", m.root, "commit-tree", m.now, "-p", m.tip, "-F", "-")
	cmd.Stdin = strings.NewReader(message)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git commit-tree: %w: %s", err, strings.TrimSpace(said.String()))
	}
	m.tip = strings.TrimSpace(string(out))
	return nil
}

// land moves the branch, unless it moved meanwhile or is checked out somewhere.
func (m *merging) land(ctx context.Context) (string, error) {
	ref := "refs/heads/" + m.Branch
	was, err := m.user.Line(ctx, "rev-parse", ref)
	if err != nil || m.DryRun || was == m.tip {
		return m.tip, err
	}
	trees, err := m.user.Run(ctx, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(trees), "\n") {
		if line == "branch "+ref {
			return "", fmt.Errorf("branch %s is checked out; apply to the checkout, without --branch", m.Branch)
		}
	}
	base, err := m.user.Line(ctx, "merge-base", was, m.tip)
	if err == nil && base != was {
		err = fmt.Errorf("branch %s moved meanwhile; nothing was changed", m.Branch)
	}
	if err == nil {
		_, err = m.user.Run(ctx, nil, "update-ref", "-m", "kerf-fleet apply", ref, m.tip, was)
	}
	return m.tip, err
}

// kerf runs kerf in dir and returns what it prints, also with an error.
func (m *merging) kerf(ctx context.Context, dir string, env []string, in []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, m.Kerf, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("kerf %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}
