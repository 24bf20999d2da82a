package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// forUsers takes those tests out of the skipped ones that were skipped because root ran them:
// the kernel lets root do what they expect to be refused.
func (r *reader) forUsers(rules []rule) (tests []skip) {
	r.skips = slices.DeleteFunc(r.skips, func(s skip) bool {
		root := slices.ContainsFunc(rules, func(k rule) bool {
			return slices.Contains(k.grounds, "root") && k.reason.MatchString(s.reason)
		})
		if root {
			tests = append(tests, s)
		}
		return root
	})
	return tests
}

// asUser runs these tests again, each package's together, as a user without rights, with the
// program setpriv of Linux. One that is skipped again has failed.
func asUser(w io.Writer, tests []skip) error {
	dir, err := os.MkdirTemp("", "kerf-as-user-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "home"), 0o700),
		os.Chown(filepath.Join(dir, "home"), nobody, nobody)); err != nil {
		return err
	}
	byPackage := map[string][]string{}
	var order []string
	for _, t := range tests {
		if byPackage[t.pkg] == nil {
			order = append(order, t.pkg)
		}
		byPackage[t.pkg] = append(byPackage[t.pkg], t.test)
	}
	var failed error
	for _, pkg := range order {
		failed = errors.Join(failed, packageAsUser(w, dir, pkg, byPackage[pkg]))
	}
	return failed
}

// nobody is the number of the user and group that own nothing.
const nobody = 65534

func packageAsUser(w io.Writer, dir, pkg string, tests []string) error {
	program := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	if out, err := exec.Command("go", "test", "-c", "-o", program, pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	// The source may lie where an ordinary user cannot look: the test gets what it may read.
	place := filepath.Join(dir, pkg)
	source, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	data := filepath.Join(strings.TrimSpace(string(source)), "testdata")
	if _, err := os.Stat(data); err == nil {
		if err := os.CopyFS(filepath.Join(place, "testdata"), os.DirFS(data)); err != nil {
			return err
		}
	}
	var failed error
	for _, test := range tests {
		cmd := exec.Command("setpriv", "--reuid", fmt.Sprint(nobody), "--regid", fmt.Sprint(nobody), "--clear-groups",
			program, "-test.v", "-test.timeout=10m", "-test.run="+exactly(test))
		home := filepath.Join(dir, "home")
		cmd.Dir, cmd.Env = place, append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=")
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err == nil && (!strings.Contains(text, "--- PASS: "+test+" ") || strings.Contains(text, "--- SKIP")) {
			err = errors.New("it did not run to its end")
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s.%s, as an ordinary user: %w\n%s", pkg, test, err, text))
			continue
		}
		fmt.Fprintf(w, "ok  \t%s.%s, as an ordinary user\n", pkg, test)
	}
	return failed
}

// exactly is the pattern that go test takes for one test or subtest.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
