package boundary_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/work/boundary"
)

// TestHidesBelow: where HidesBelow says no, nothing below is hidden, whatever the plan and
// however a name is spelled. Where a nearer root decides it does say no.
func TestHidesBelow(t *testing.T) {
	onUnix(t)
	names := []string{"a", "b", "A", ".env"}
	var all []string // every path of up to three names, below the root and below /tmp
	for _, top := range []string{"/", "/tmp"} {
		last := []string{top}
		for range 3 {
			var next []string
			for _, dir := range last {
				for _, name := range names {
					next = append(next, path.Join(dir, name))
				}
			}
			all = append(all, next...)
			last = next
		}
	}
	dirs := append([]string{"/", "/tmp"}, all...)
	anywhere := rapid.SampledFrom(all)
	rule := rapid.Custom(func(t *rapid.T) boundary.Rule {
		access := rapid.SampledFrom([]boundary.Access{boundary.None, boundary.None, boundary.Read, boundary.Write}).Draw(t, "access")
		at := anywhere.Draw(t, "at")
		if access != boundary.Write {
			at += rapid.SampledFrom([]string{"", "", "", "/**/.env", "/*", "/**"}).Draw(t, "pattern")
		}
		return boundary.Rule{Path: at, Access: access}
	})
	closed, open := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		disk := newPaper(rapid.SliceOfNDistinct(anywhere, 1, 12, rapid.ID[string]).Draw(t, "disk")...)
		for name, kind := range disk { // what a rule or a root names is mostly there
			if kind == "file" && rapid.Bool().Draw(t, "directory "+name) {
				disk[name] = "dir"
			}
		}
		roots := rapid.SliceOfNDistinct(anywhere, 1, 2, rapid.ID[string]).Draw(t, "roots")
		for _, r := range roots {
			for dir := r; dir != "/"; dir = path.Dir(dir) {
				disk[dir] = "dir"
			}
		}
		policy := boundary.Policy{Mode: rapid.SampledFrom([]string{boundary.WorkspaceWrite, boundary.ReadOnly}).Draw(t, "mode"),
			Roots: roots, Cwd: roots[0], SharedTmp: rapid.Bool().Draw(t, "shared tmp"), NoTmp: rapid.Bool().Draw(t, "no tmp"),
			Rules: rapid.SliceOfN(rule, 0, 4).Draw(t, "rules")}
		if rapid.Bool().Draw(t, "denied") {
			policy.DenyRead = []string{anywhere.Draw(t, "deny")}
		}
		plan, _ := boundary.Resolve(policy, disk) // even with an error it answers
		for _, dir := range dirs {
			if plan.HidesBelow(dir) {
				closed++
				continue
			}
			open++
			below := strings.TrimSuffix(dir, "/") + "/"
			for _, p := range append([]string{dir}, all...) {
				if p != dir && !strings.HasPrefix(p, below) {
					continue
				}
				for _, q := range []string{p, p + "/new", p + "/new/.env"} {
					if v := plan.At(q); v.Access == boundary.Hidden {
						t.Fatalf("%s hides nothing below, but %s is hidden: %s", dir, q, v.Why)
					}
				}
			}
		}
	})
	if closed == 0 || open == 0 {
		t.Errorf("%d directories with something hidden below, %d without", closed, open)
	}
	below := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{"/tmp/a"}, Cwd: "/tmp/a", DenyRead: []string{"/tmp/a/b/A"}}
	plan, err := boundary.Resolve(below, newPaper("/tmp/a/b/A/", "/tmp/a/A/"))
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{"/": true, "/tmp": true, "/tmp/b": true, "/tmp/a": true, "/tmp/a/b": true,
		"/tmp/a/B": true, "/tmp/a/b/A": true, "/tmp/a/b/A/a": true, "/tmp/a/A": false, "/tmp/a/new": false, "/b": false} {
		if got := plan.HidesBelow(dir); got != want {
			t.Errorf("%s: %t", dir, got)
		}
	}
}
