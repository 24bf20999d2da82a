package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	statement "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// scratch gets the releases that several tests look at.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kerf-release-test-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// first is what `make release-snapshot` makes of the last commit, in a clone.
var first = sync.OnceValues(func() (*release, error) { return snapshot("first") })

// snapshot runs `make release-snapshot` in a new clone of the last commit. Env is over this
// process's environment.
func snapshot(name string, env ...string) (*release, error) {
	root := filepath.Join(scratch, name, "source")
	if out, err := exec.Command("git", "clone", "-q", "..", root).CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(string(out)))
	}
	cmd := exec.Command("sh", "-c", `umask "$MASK" && exec make release-snapshot`)
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), "MASK=022"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(string(out)))
	}
	r := &release{root: root, out: filepath.Join(root, "dist"), url: "https://example.invalid/kerf", targets: targets}
	found, err := filepath.Glob(filepath.Join(r.out, "kerf_*_linux_amd64.tar.gz"))
	if err != nil || len(found) != 1 {
		return nil, errors.Join(err, errors.New("not one archive of linux_amd64"))
	}
	r.version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "kerf_"), "_linux_amd64.tar.gz")
	return r, nil
}

func made(t *testing.T) *release {
	t.Helper()
	r, err := first()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// names are the files of a release.
func names(t *testing.T, r *release) []string {
	t.Helper()
	list, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestTwoRunsMakeTheSameBytes for all systems. The second source lies elsewhere, and the
// second run has another time zone, language and mask. With KERF_LONG it compiles
// everything anew as well.
func TestTwoRunsMakeTheSameBytes(t *testing.T) {
	a := made(t)
	env := []string{"TZ=Pacific/Chatham", "LC_ALL=tr_TR.UTF-8", "MASK=077"}
	if os.Getenv("KERF_LONG") != "" {
		env = append(env, "GOCACHE="+filepath.Join(scratch, "cache"))
	}
	b, err := snapshot("second-elsewhere", env...)
	if err != nil {
		t.Fatal(err)
	}
	list := names(t, a)
	if want := len(targets)*2 + 2*3 + 3; len(list) != want || !slices.Equal(list, names(t, b)) {
		t.Errorf("%d files, not %d: %v and %v", len(list), want, list, names(t, b))
	}
	var total int
	for _, name := range list {
		x, err := os.ReadFile(filepath.Join(a.out, name))
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(filepath.Join(b.out, name)); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs (%v)", name, err)
		}
		total += len(x)
	}
	t.Logf("%d files, %d bytes, compiled anew: %v", len(list), total, os.Getenv("KERF_LONG") != "")
}

// TestPackages installs each kind of package in an empty root, runs the program there,
// and removes it again.
func TestPackages(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can install packages in a root of its own")
	}
	r := made(t)
	kinds := []struct {
		tool, file string
		before     func(root string) error
		install    []string
		remove     []string
	}{
		{"dpkg", "kerf_" + r.version + "_amd64.deb", emptyDebian, []string{"--force-not-root", "-i"}, []string{"--purge", "kerf"}},
		{"rpm", "kerf-" + r.version + "-1.x86_64.rpm", nil, []string{"--nosignature", "-i"}, []string{"-e", "kerf"}},
		{"apk", "kerf_" + r.version + "_x86_64.apk", emptyAlpine, []string{"--no-network", "--allow-untrusted", "add"},
			[]string{"--no-network", "del", "kerf"}},
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
			tool(t, k.tool, root, append(k.install, filepath.Join(r.out, k.file))...)
			for _, name := range installedFiles {
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Error(err)
				}
			}
			out, err := exec.Command("chroot", root, "/usr/bin/kerf", "version").CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "kerf "+r.version+" (") {
				t.Errorf("%v: %s", err, out)
			}
			tool(t, k.tool, root, k.remove...)
			if left := kerfs(root); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// installedFiles are some of what each package brings.
var installedFiles = []string{"usr/bin/kerf", "usr/share/man/man1/kerf.1", "usr/share/doc/kerf/LICENSE",
	"usr/share/bash-completion/completions/kerf", "usr/share/zsh/site-functions/_kerf",
	"usr/share/fish/vendor_completions.d/kerf.fish", "usr/share/kerf/completions/kerf.ps1"}

// kerfs are the files and directories below root that are named for Kerf.
func kerfs(root string) []string {
	var found []string
	filepath.WalkDir(filepath.Join(root, "usr"), func(p string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(p), "kerf") {
			found = append(found, p)
		}
		return nil
	})
	return found
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

// emptyAlpine makes what apk wants of a root.
func emptyAlpine(root string) error {
	out, err := exec.Command("apk", "--root="+root, "--initdb", "--no-network", "--arch", "x86_64", "add").CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// TestTexts looks at what is said of the files, with the readers of those who made the formats.
func TestTexts(t *testing.T) {
	r := made(t)
	for _, tt := range targets {
		bill(t, filepath.Join(r.out, "kerf_"+r.version+"_"+tt.String()+".cdx.json"))
	}
	from := new(statement.Statement)
	readProto(t, filepath.Join(r.out, "provenance.json"), from)
	if err := from.Validate(); err != nil {
		t.Error(err)
	}
	// All files are told of, but for the three that are made afterwards.
	if want := len(names(t, r)) - 3; len(from.Subject) != want {
		t.Errorf("provenance of %d files, not %d", len(from.Subject), want)
	}
	b, err := from.Predicate.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	predicate := new(provenance.Provenance)
	if err := protojson.Unmarshal(b, predicate); err != nil {
		t.Fatal(err)
	}
	if err := predicate.Validate(); err != nil {
		t.Error(err)
	}
	head, err := exec.Command("git", "-C", r.root, "rev-parse", "HEAD").Output() // the clone's: the last commit when it began
	if got := predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]; err != nil || got != strings.TrimSpace(string(head)) {
		t.Errorf("made of commit %q, not %q (%v)", got, head, err)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = r.out
	if out, err := check.CombinedOutput(); err != nil || bytes.Count(out, []byte(": OK\n")) != len(names(t, r))-1 {
		t.Errorf("%v: %s", err, out)
	}
}

// bill reads a bill of materials strictly and compares it with what Go says of the program.
func bill(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	strict := json.NewDecoder(bytes.NewReader(b))
	strict.DisallowUnknownFields()
	var bom cyclonedx.BOM
	if err := strict.Decode(&bom); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if bom.SpecVersion != cyclonedx.SpecVersion1_6 || bom.Components == nil || bom.Dependencies == nil {
		t.Fatalf("%s: %+v", path, bom)
	}
	refs := map[string]bool{}
	for _, c := range *bom.Components {
		if c.Name == "" || c.Version == "" || c.PackageURL == "" || refs[c.BOMRef] {
			t.Errorf("%s: %+v", path, c)
		}
		refs[c.BOMRef] = true
	}
	if !slices.ContainsFunc(*bom.Components, func(c cyclonedx.Component) bool { return c.Name == "github.com/spf13/cobra" }) ||
		len(refs) < 10 {
		t.Errorf("%s: %v", path, refs)
	}
	for _, d := range *bom.Dependencies {
		for _, on := range *d.Dependencies {
			if !refs[on] {
				t.Errorf("%s: depends on %s, which it does not list", path, on)
			}
		}
	}
}

func readProto(t *testing.T, path string, to *statement.Statement) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = protojson.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
