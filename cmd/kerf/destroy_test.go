package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"kerf/internal/work/changes"
)

// destroyers are commands that lose work in a dirty tree. Gap names what the scan
// cannot keep, by its caps; it is listed by undo.
func destroyers() []string {
	return []string{
		"git reset --hard -q",
		"git clean -fdxq",
		"git reset --hard -q && git clean -fdxq",
		"git checkout -q -- .",
		"git restore .",
		"git stash -q",
		"git stash -q -u && git stash drop -q",
		"rm -rf src",
		"rm -rf ./* .env",
		"sed -i 's/work/lost/' src/a.go notes.txt",
		"mv notes.txt src/a.go",
		"cp notes.txt src/a.go",
		": > src/a.go; truncate -s 0 notes.txt",
		"find . -name '*.txt' -delete",
		"chmod 400 notes.txt; chmod 755 src/a.go",
		"rm -rf empty private; ln -sf nowhere link",
		"mkdir -p new/deep && mv src new/deep/ && rmdir empty",
	}
}

// TestDestructiveCommands runs each in a dirty git tree through the sandbox, as a
// call of the model, and then kerf undo: every byte, mode, link and directory within
// the caps is back, and what is beyond them is listed. With -v it prints the table.
func TestDestructiveCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a POSIX shell")
	}
	for _, need := range []string{"git", "bash", "sed", "find", "truncate"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("no %s on this machine", need)
		}
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "command\tlost or changed in tree\tundo brought back\tlisted as not kept")
	for _, cmd := range destroyers() {
		t.Run(cmd, func(t *testing.T) {
			lost, back, listed := destroy(t, cmd)
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", cmd, lost, back, listed)
		})
	}
	_ = w.Flush()
	t.Logf("\n%s", table.String())
}

// bigFile is over the cap of one file.
const bigFile = "big.bin"

func destroy(t *testing.T, cmd string) (lost, back int, listed string) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(base, "repo")
	t.Setenv("HOME", base)
	t.Setenv("KERF_HOME", filepath.Join(base, "kerf"))
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("TMPDIR", base)
	dirtyTree(t, repo)
	before := everything(t, repo)

	args, err := json.Marshal(map[string]string{"cmd": cmd})
	if err != nil {
		t.Fatal(err)
	}
	out, code := kerf(t, repo, "tool", "exec_command", string(args))
	if strings.Contains(out, "sandbox cannot be set up") {
		t.Skip("no sandbox on this machine")
	}
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	broken := differences(before, everything(t, repo))
	if len(broken) == 0 {
		t.Fatalf("the command did nothing: %s", out)
	}
	out, code = kerf(t, repo, "undo", "--json")
	if code != 0 {
		t.Fatalf("undo: exit %d: %s", code, out)
	}
	var report changes.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err, out)
	}
	missing := map[string]bool{}
	for _, f := range report.Files {
		if f.Outcome == "missing" {
			missing[f.Path] = true
		}
	}
	left := differences(before, everything(t, repo))
	for _, path := range left {
		if !missing[filepath.Join(repo, path)] {
			t.Errorf("%s is not as it was, and not listed", path)
		}
		if path != bigFile {
			t.Errorf("%s is within the caps, and not as it was", path)
		}
	}
	var names []string
	for path := range missing {
		names = append(names, filepath.Base(path))
	}
	slices.Sort(names)
	return len(broken), len(broken) - len(left), strings.Join(names, " ")
}

// dirtyTree makes a repository with changes that are in no commit: staged, not
// staged, untracked, ignored, with modes, links and directories.
func dirtyTree(t *testing.T, repo string) {
	t.Helper()
	put := func(name, text string, mode fs.FileMode) {
		path := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		c := exec.Command("git", args...)
		c.Dir = repo
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	put("src/a.go", "package a\n", 0o644)
	put("src/run.sh", "#!/bin/sh\n", 0o755)
	put("notes.txt", "notes\n", 0o644)
	put("clean.txt", "as committed\n", 0o644)
	put(".gitignore", "*.log\n.env\n", 0o644)
	git("init", "-q", "-b", "main")
	git("config", "user.name", "T")
	git("config", "user.email", "t@localhost")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	put("src/a.go", "package a\n\n// work in progress\n", 0o644)
	put("notes.txt", "notes\nwork\r\nwithout an end", 0o600)
	put("staged.txt", "staged work\n", 0o644)
	git("add", "staged.txt")
	put("untracked/x.txt", "untracked work\n", 0o640)
	put("debug.log", "ignored work\n", 0o644)
	put(".env", "TOKEN=ignored\n", 0o600)
	put("blob.dat", "\x00\xff\x01 binary work", 0o644)
	put(bigFile, strings.Repeat("too large to keep\n", 400_000), 0o644)
	put("private/key", "key\n", 0o600)
	if err := os.Symlink("notes.txt", filepath.Join(repo, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(repo, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(repo, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// everything describes each path of a tree, except for git's own.
func everything(t *testing.T, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == ".git" {
			return fs.SkipDir
		}
		st, err := d.Info()
		if err != nil || rel == "." {
			return err
		}
		switch {
		case d.IsDir():
			got[rel] = st.Mode().String()
		case st.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			got[rel] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(p)
			got[rel] = st.Mode().String() + " " + string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func differences(want, got map[string]string) []string {
	all := maps.Clone(want)
	maps.Copy(all, got)
	var paths []string
	for p := range all {
		w, had := want[p]
		g, has := got[p]
		if had != has || w != g {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// kerf runs the program in a directory and returns its standard output.
func kerf(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, errs bytes.Buffer
	code := run(append([]string{"kerf", "-C", dir}, args...), null, &out, &errs)
	if code != 0 {
		return out.String() + errs.String(), code
	}
	return out.String(), code
}
