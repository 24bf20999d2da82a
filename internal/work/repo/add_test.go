//go:build unix

package repo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSnapshotsAreWhatGitAdds: a snapshot has, of everything that git knows, what git add would
// have put into the index.
func TestSnapshotsAreWhatGitAdds(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			ctx, root := context.Background(), t.TempDir()
			gitRun(t, root, "init", "-q", "-b", "main", "--object-format="+format)
			gitRun(t, root, "config", "core.autocrlf", "false")
			for _, name := range []string{"same", "changed", "removed", "mode", "file-to-link", "file-to-dir", "dir-to-file/x",
				"dir-to-link/x", "link"} {
				set(t, filepath.Join(root, name), name+"\n")
			}
			set(t, root+"/.gitignore", "*.log\n")
			gitRun(t, root, "init", "-q", "--object-format="+format, root+"/module")
			gitRun(t, root+"/module", "commit", "-q", "--allow-empty", "-m", "m")
			gitRun(t, root, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
			gitRun(t, root, "commit", "-q", "-m", "first")
			gitRun(t, root+"/module", "commit", "-q", "--allow-empty", "-m", "more")
			do := func(errs ...error) {
				for _, err := range errs {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			at := func(name string) string { return filepath.Join(root, name) }
			set(t, at("changed"), "other\r\n\x00\n")
			do(os.Remove(at("removed")), os.Chmod(at("mode"), 0o755), os.Remove(at("file-to-link")), os.Symlink("same", at("file-to-link")),
				os.Remove(at("file-to-dir")), os.RemoveAll(at("dir-to-file")), os.RemoveAll(at("dir-to-link")),
				os.Symlink("/etc", at("dir-to-link")), os.Remove(at("link")), os.Symlink("nowhere", at("link")))
			set(t, at("file-to-dir/below"), "x\n")
			set(t, at("dir-to-file"), "x\n")
			set(t, at("new/empty"), "")
			set(t, at("new/odd \"name\"\té"), "odd\n")
			set(t, at("new/ignored.log"), "ignored\n")
			set(t, at("large"), strings.Repeat("0123456789abcdef\n", 1<<16))
			do(exec.Command("mkfifo", at("fifo")).Run())
			commit, err := Snapshot(ctx, root, nil)
			do(err)
			got := gitRun(t, root, "ls-tree", "-r", "-z", commit)
			// The commit of a submodule stays the one that was committed: its files are not the tree's.
			gitRun(t, root, "add", "-A", "--", ".", ":(exclude)module")
			gitRun(t, root, "commit", "-q", "-m", "second")
			if want := gitRun(t, root, "ls-tree", "-r", "-z", "HEAD"); got != want {
				t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(got, "\x00", "\n"), strings.ReplaceAll(want, "\x00", "\n"))
			}
		})
	}
}

// TestSnapshotsFollowNoLink: a directory that becomes a link out of the tree after git listed its
// files, as a command that runs meanwhile can make it, is not followed.
func TestSnapshotsFollowNoLink(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	for name, exchanged := range map[string]bool{"exchanged": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			ctx, root, out := context.Background(), t.TempDir(), t.TempDir()
			gitRun(t, root, "init", "-q", "-b", "main")
			set(t, root+"/kept", "kept\n")
			gitRun(t, root, "add", "-A")
			gitRun(t, root, "commit", "-q", "-m", "first")
			set(t, root+"/d/one", "inner\n")
			set(t, root+"/e", "last\n")
			set(t, out+"/one", "HUSH\n")
			hidden := func(path string) string {
				if exchanged && strings.HasSuffix(path, "/d/one") { // git has listed it, and Kerf looks
					if err := os.Rename(root+"/d", root+"/was"); err != nil {
						t.Error(err)
					}
					if err := os.Symlink(out, root+"/d"); err != nil {
						t.Error(err)
					}
				}
				return ""
			}
			if _, err := Snapshot(ctx, root, hidden); err != nil {
				t.Fatal(err)
			}
			all := ""
			for line := range strings.Lines(gitRun(t, root, "cat-file", "--batch-check", "--batch-all-objects")) {
				all += gitRun(t, root, "cat-file", "-p", strings.Fields(line)[0])
			}
			if strings.Contains(all, "HUSH") || !strings.Contains(all, "last") || strings.Contains(all, "inner") == exchanged {
				t.Errorf("git has %q", all)
			}
		})
	}
}
