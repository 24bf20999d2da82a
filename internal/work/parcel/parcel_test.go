package parcel

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hostile makes a tree with links of all kinds, in a repository of git.
func hostile(t *testing.T) (dir string, commit string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right on Windows")
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"key": "SECRET", "p/plugin.json": "{}", "p/bin/run.sh": "#!/bin/sh\n",
		"p/skills/a/SKILL.md": "a", "p/.gitattributes": "* filter=evil\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "p/bin/run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"p/out": "../key", "p/abs": filepath.Join(dir, "key"), "p/in": "plugin.json",
		"p/skills/b": "a", "p/self": ".", "p/loop": "loop", "p/deep": "skills/b/SKILL.md", "p/up": "skills/../../key"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "."}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b",
		"-c", "commit.gpgSign=false", "commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return dir, strings.TrimSpace(string(out))
}

func texts(files []File) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		name := f.Name
		if f.Exec {
			name += "*"
		}
		all[name] = string(f.Data)
	}
	return all
}

// Links lead to nothing outside of the parcel, and a directory and a commit read alike.
func TestLinksDoNotLeadOut(t *testing.T) {
	dir, commit := hostile(t)
	plain, err := Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fetched, err := Fetch(t.Context(), Git{URL: "file://" + filepath.ToSlash(dir), Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer fetched.Close()
	if fetched.Commit != commit {
		t.Errorf("fetched commit %s, want %s", fetched.Commit, commit)
	}
	var first map[string]string
	for i, tree := range []*Tree{plain, fetched} {
		files, left, err := tree.Files("p")
		if err != nil {
			t.Fatal(err)
		}
		got := texts(files)
		for name, text := range got {
			if strings.Contains(text, "SECRET") {
				t.Errorf("%s holds what is outside", name)
			}
		}
		for name, want := range map[string]string{"plugin.json": "{}", "in": "{}", "bin/run.sh*": "#!/bin/sh\n",
			"skills/b/SKILL.md": "a", "self/plugin.json": "{}", ".gitattributes": "* filter=evil\n"} {
			if got[name] != want {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
		told := strings.Join(left, "\n")
		for _, name := range []string{"out", "abs", "loop", "up"} {
			if _, ok := got[name]; ok || !strings.Contains(told, name+" (") {
				t.Errorf("%s was taken, or nothing is said: %q", name, left)
			}
		}
		if i == 0 {
			first = got
		} else if d := cmp.Diff(first, got); d != "" {
			t.Errorf("the commit differs from the directory (-dir +commit):\n%s", d)
		}
	}
	if _, err := Fetch(t.Context(), Git{URL: "file://" + dir, Commit: strings.Repeat("0", 40), Env: os.Environ()}); err == nil {
		t.Error("a commit that is not there was fetched")
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{"https://a.test/x.git": true, "ssh://git@a.test/x": true, "git@a.test:x/y.git": true,
		"file:///tmp/x": true, "http://127.0.0.1:8/x": true, "http://a.test/x": false, "ext::sh -c id": false,
		"ext::sh%20-c": false, "-uhttps://a.test": false, "https://": false, "ssh://-oProxyCommand=id/x": false,
		"ssh://-oProxyCommand@a.test/x": false, "-x@a.test:y": false, "a@-x:y": false, "fd::17": false,
		"git://a.test/x": false, "ssh://%2DoProxyCommand=id@a.test/x": false, "ssh://a.test:-oX/x": false,
		"https://a.test/x --upload-pack=id": false, "-oProxyCommand=id": false, "--upload-pack=id": false,
		"ssh://a.test/x\x00": false, "transport::x": false, "file://host/x": false, "https://a.test/x\ny": false, "": false, "../x": false} {
		if err := Address(address); (err == nil) != ok {
			t.Errorf("Address(%q) = %v", address, err)
		}
	}
}

// TestAFetchIsBounded: of a repository that is too large nothing is kept, and git is gone.
func TestAFetchIsBounded(t *testing.T) {
	dir, _ := hostile(t)
	noise := make([]byte, 3<<20)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	if err := os.WriteFile(filepath.Join(dir, "noise"), noise, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false",
		"commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	url := "file://" + filepath.ToSlash(dir)
	_, err := Fetch(t.Context(), Git{URL: url, Env: os.Environ(), Most: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "is larger than 1 MiB") {
		t.Errorf("too large: %v", err)
	}
	_, err = Fetch(t.Context(), Git{URL: url, Env: os.Environ(), Limit: time.Nanosecond})
	if err == nil || !strings.Contains(err.Error(), "took longer than 1ns") {
		t.Errorf("too slow: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	tree, err := Fetch(t.Context(), Git{URL: url, Env: os.Environ()}) // control
	if err != nil {
		t.Fatal(err)
	}
	tree.Close()
}

// TestRedirectionsOfForeignAddresses: an address that somebody else wrote leads to itself only, and
// none leads to other transports.
func TestRedirectionsOfForeignAddresses(t *testing.T) {
	reached := 0
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached++ }))
	defer to.Close()
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to.URL+r.URL.String(), http.StatusFound)
	}))
	defer from.Close()
	if _, err := Fetch(t.Context(), Git{URL: from.URL + "/x", Env: os.Environ(), Foreign: true}); err == nil || reached > 0 {
		t.Errorf("foreign: %v, %d requests elsewhere", err, reached)
	}
	if _, err := Fetch(t.Context(), Git{URL: from.URL + "/x", Env: os.Environ()}); err == nil || reached == 0 { // control
		t.Errorf("the user's own: %v, %d requests elsewhere", err, reached)
	}
}

func TestHosts(t *testing.T) {
	for address, want := range map[string]string{"https://A.test/x": "https://a.test", "https://a.test:8/x": "https://a.test:8",
		"ssh://git@a.test/x": "ssh://a.test", "git@a.test:x/y": "ssh://a.test", "file:///x": "", "http://127.0.0.1:8/x": "http://127.0.0.1:8"} {
		if got := Host(address); got != want {
			t.Errorf("Host(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestNamesStayBelow(t *testing.T) {
	tree := newTree(nil)
	tree.add("a/b", entry{})
	for _, name := range []string{"..", "../a", "/a", "a/../..", `a\..\..`} {
		if tree.Has(name) {
			t.Errorf("%s is there", name)
		}
		if _, err := tree.Read(name); err == nil {
			t.Errorf("%s was read", name)
		}
		if _, _, err := tree.Files(name); err == nil {
			t.Errorf("%s was listed", name)
		}
	}
}
