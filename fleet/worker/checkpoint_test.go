//go:build unix

package worker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kerf/fleet/blob"
)

// What a command puts into its repository leads a checkpoint nowhere else: not to the keys
// beside it, and not into a wait.
func TestCheckpointsFollowNoLink(t *testing.T) {
	ctx := context.Background()
	store, err := blob.New(blob.Dir{Path: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{Options: Options{Root: t.TempDir(), Store: store}}
	f := w.files("t")
	for path, text := range map[string]string{"home/auth.json": "KEY", "tree/.git/HEAD": "ref\n", "tree/.git/deep/x": "",
		"home/sessions/s/rollout.jsonl": strings.Repeat("line\n", 1<<20), "home/sessions/s/rollout.lock": "", "tree/.git/config": "c"} {
		path = filepath.Join(f.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inner := filepath.Join(f.tree, ".git")
	_ = os.Symlink("../../home/auth.json", filepath.Join(inner, "link"))
	_ = os.Symlink("../../home", filepath.Join(inner, "dir"))
	_ = syscall.Mkfifo(filepath.Join(inner, "pipe"), 0o600)
	if err := os.Truncate(filepath.Join(f.dir, "home/sessions/s/rollout.lock"), 0); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(inner, "big"))
	if err != nil {
		t.Fatal(err)
	}
	_ = big.Truncate(keptLimit + 1)
	big.Close()
	got := map[string]keptFile{}
	for _, part := range []string{"home/sessions", "home/workspaces", "tree/.git"} {
		if err := w.keep(ctx, f, part, nil, got); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{"tree/.git/HEAD": true, "tree/.git/deep/x": true, "home/sessions/s/rollout.jsonl": true}
	for name, k := range got {
		data, err := w.getParts(ctx, k.Parts)
		if !want[name] || err != nil || strings.Contains(string(data), "KEY") {
			t.Errorf("kept %s: %.20q %v", name, data, err)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s was not kept", name)
	}
	// A file that is swapped for a link between the look and the read.
	root, err := os.OpenRoot(inner)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"link", "pipe", "dir/auth.json"} {
		if data, err := readFile(root, name); data != nil {
			t.Errorf("%s was read: %q %v", name, data, err)
		}
	}
}
