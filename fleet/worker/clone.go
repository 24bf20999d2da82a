package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"

	"kerf/fleet/git"
)

const (
	cacheDir = "clones"
	taskDir  = "tasks"
)

// commitForm is a whole commit id.
var commitForm = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// clone fetches the task's repository into the worker's cache and returns the cache and the
// commit. Repositories are fetched with the user's own git settings, so that credentials
// are found.
func (w *Worker) clone(ctx context.Context, repository, revision string) (dir, commit string, err error) {
	sum := sha256.Sum256([]byte(repository))
	dir = filepath.Join(w.Root, cacheDir, hex.EncodeToString(sum[:10])+".git")
	lock := flock.New(dir + ".lock")
	if err = lock.Lock(); err != nil {
		return "", "", err
	}
	defer lock.Unlock()
	g := git.Repo{Dir: dir}
	if _, err = os.Stat(filepath.Join(dir, "config")); err != nil {
		if _, err = (git.Repo{}).Run(ctx, nil, "init", "-q", "--bare", "--template=", dir); err != nil {
			return "", "", err
		}
	}
	if commitForm.MatchString(revision) {
		if _, err = g.Run(ctx, nil, "cat-file", "-e", revision+"^{commit}"); err == nil {
			return dir, revision, nil
		}
	}
	if err = w.fetch(ctx, g, repository, revision); err != nil {
		return "", "", err
	}
	for _, name := range names(revision) {
		if commit, err = g.Line(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}"); err == nil {
			return dir, commit, nil
		}
	}
	return "", "", hopeless("%s has no revision %q", repository, revision)
}

// names are what a revision may stand for in the cache, the first that is there.
func names(revision string) []string {
	if revision == "" {
		return []string{"refs/fleet/HEAD"}
	}
	return []string{"refs/heads/" + revision, "refs/tags/" + revision, revision}
}

func (w *Worker) fetch(ctx context.Context, g git.Repo, repository, revision string) error {
	refs := []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	if revision == "" {
		refs = append(refs, "+HEAD:refs/fleet/HEAD")
	}
	cmd := g.Command(ctx, append([]string{"fetch", "-q", "--prune", "--no-write-fetch-head", "--", repository}, refs...)...)
	kept := cmd.Env[:0]
	for _, v := range cmd.Env {
		if !strings.HasPrefix(v, "GIT_CONFIG_") {
			kept = append(kept, v)
		}
	}
	cmd.Env = kept
	if _, err := git.Output(cmd, nil); err != nil {
		// A repository that is not there, or not to be read, is not so elsewhere either, but the
		// network may be back for the next worker.
		if !errors.As(err, new(*exec.ExitError)) {
			return err
		}
		switch said := err.Error(); {
		case strings.Contains(said, "not appear to be a git repository"):
			return hopeless("%v", err)
		case strings.Contains(said, "find remote ref HEAD"):
			return hopeless("%s has no commit on a branch of its own; give --rev", repository)
		}
		return err
	}
	return nil
}
