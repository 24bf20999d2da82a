package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/placeholders"
)

// TestTheSessionLearnsThatACommandRan: the disk may be another one by then, so the plan of the file
// tools is worked out anew.
func TestTheSessionLearnsThatACommandRan(t *testing.T) {
	s := newSite(t)
	s.policy.Session = boundary.NewSession(boundary.Disk{}, s.policy.Mode, func(string) boundary.Policy { return s.policy })
	s.policy.Session.Plan()
	plan := s.policy.Session.Plan()
	if s.policy.Session.Plan() != plan {
		t.Fatal("the plan does not stay while nothing happens")
	}
	s.policy.Mode = boundary.FullAccess
	if _, code := s.inside("true"); code != 0 {
		t.Fatal(code)
	}
	if s.policy.Session.Plan() == plan {
		t.Error("the plan is that of before the command")
	}
}

// TestPlaceholdersNeedAPrivateDirectory of locks: in one that others can write to, or in none,
// nobody could tell who needs them. None is made then.
func TestPlaceholdersNeedAPrivateDirectory(t *testing.T) {
	base := t.TempDir()
	work, locks := filepath.Join(base, "work"), filepath.Join(base, "locks")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Mkdir(locks, 0o700), os.WriteFile(filepath.Join(base, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	masks := []boundary.Mask{{Kind: boundary.MaskDir, Path: filepath.Join(work, ".vscode")}}
	open := filepath.Join(base, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, filepath.Join(base, "file"), filepath.Join(base, "file", "below")} {
		if _, err := placeholders.Raise(boundary.Plan{Masks: masks, LockDir: dir}); err == nil {
			t.Errorf("%s was taken", dir)
		}
		if _, err := os.Lstat(masks[0].Path); err == nil {
			t.Errorf("%s: a placeholder was made", dir)
		}
	}
	lower, err := placeholders.Raise(boundary.Plan{Masks: masks, LockDir: locks})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(masks[0].Path); err != nil {
		t.Errorf("control: %v", err)
	}
	lower()
	if _, err := os.Lstat(masks[0].Path); err == nil {
		t.Error("the placeholder stays")
	}
}

// TestANameThatIsGoneBeforeItIsGuarded is a reason to look at the disk again, and none to run.
func TestANameThatIsGoneBeforeItIsGuarded(t *testing.T) {
	work := t.TempDir()
	p := boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: work, Mounts: []boundary.Mount{
		{Kind: boundary.MountWrite, Path: work}, {Kind: boundary.MountRead, Path: filepath.Join(work, ".git")}}}
	if g, err := newGuard(p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("guard %v, error %v", g, err)
	}
	if err := os.Mkdir(filepath.Join(work, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(p)
	if err != nil || g == nil {
		t.Fatalf("guard %v, error %v", g, err)
	}
	if lost := g.broken(); lost != "" {
		t.Errorf("%s is said to be gone", lost)
	}
	g.end()
}
