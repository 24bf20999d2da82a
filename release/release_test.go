package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// made makes a release of this machine's Linux in a directory of its own.
func made(t *testing.T, root string) *release {
	t.Helper()
	r := &release{root: root, out: t.TempDir(), url: "https://example.invalid/kerf",
		targets: []target{{"linux", "amd64"}}}
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTwoRunsMakeTheSameBytes, also when the second source lies elsewhere.
func TestTwoRunsMakeTheSameBytes(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	copied := func() string {
		dir := filepath.Join(t.TempDir(), "source")
		if out, err := exec.Command("git", "clone", "-q", root, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return dir
	}
	a, b := made(t, copied()), made(t, copied())
	list, err := os.ReadDir(a.out)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 7 {
		t.Errorf("%d files: %v", len(list), list)
	}
	for _, e := range list {
		x, err := os.ReadFile(filepath.Join(a.out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(filepath.Join(b.out, e.Name())); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs (%v)", e.Name(), err)
		}
	}
}

// TestPackages installs each kind of package in an empty root, runs the program there,
// and removes it again.
func TestPackages(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can install packages in a root of its own")
	}
	r := made(t, "..")
	kinds := []struct {
		tool, file string
		before     func(root string) error
		install    []string
		remove     []string
	}{
		{"dpkg", "kerf_" + r.version + "_amd64.deb", emptyDebian, []string{"--force-not-root", "-i"}, []string{"--purge", "kerf"}},
		{"rpm", "kerf-" + r.version + "-1.x86_64.rpm", nil, []string{"--nosignature", "-i"}, []string{"-e", "kerf"}},
	}
	for _, k := range kinds {
		t.Run(k.tool, func(t *testing.T) {
			if _, err := exec.LookPath(k.tool); err != nil {
				t.Skip(k.tool + " is not installed")
			}
			root := t.TempDir()
			if k.before != nil {
				if err := k.before(root); err != nil {
					t.Fatal(err)
				}
			}
			file, err := filepath.Abs(filepath.Join(r.out, k.file))
			if err != nil {
				t.Fatal(err)
			}
			tool(t, k.tool, root, append(k.install, file)...)
			for _, name := range []string{"usr/bin/kerf", "usr/share/man/man1/kerf.1", "usr/share/doc/kerf/LICENSE",
				"usr/share/bash-completion/completions/kerf"} {
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Error(err)
				}
			}
			out, err := exec.Command("chroot", root, "/usr/bin/kerf", "version").CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "kerf "+r.version) {
				t.Errorf("%v: %s", err, out)
			}
			tool(t, k.tool, root, k.remove...)
			if left, _ := filepath.Glob(filepath.Join(root, "usr/*/*kerf*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func tool(t *testing.T, name, root string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, append([]string{"--root=" + root}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// emptyDebian makes what dpkg wants of a root.
func emptyDebian(root string) error {
	if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644)
}

// TestTexts looks at what is said of the files.
func TestTexts(t *testing.T) {
	r := made(t, "..")
	var bill struct {
		Components []struct{ Name, Version string } `json:"components"`
	}
	read(t, filepath.Join(r.out, "kerf_"+r.version+"_linux_amd64.cdx.json"), &bill)
	found := 0
	for _, c := range bill.Components {
		if c.Name == "github.com/spf13/cobra" || c.Name == "stdlib" {
			found++
		}
	}
	if found != 2 || len(bill.Components) < 10 {
		t.Errorf("%v", bill.Components)
	}
	var from struct {
		Subject []struct{ Digest struct{ SHA256 string } } `json:"subject"`
	}
	read(t, filepath.Join(r.out, "provenance.json"), &from)
	if len(from.Subject) != 5 || len(from.Subject[0].Digest.SHA256) != 64 {
		t.Errorf("%v", from)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = r.out
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	sums := map[string]string{}
	for _, tt := range targets {
		sums["kerf_"+r.version+"_"+tt.String()+".tar.gz"] = "sum-of-" + tt.String()
	}
	if err := r.formula(sums); err != nil {
		t.Fatal(err)
	}
	rb, err := os.ReadFile(filepath.Join(r.out, "kerf.rb"))
	for _, tt := range targets[:4] {
		if err != nil || !strings.Contains(string(rb), `sha256 "sum-of-`+tt.String()+`"`) {
			t.Errorf("%s is not in the formula (%v)", tt, err)
		}
	}
}

func read(t *testing.T, path string, to any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
