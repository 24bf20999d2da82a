package patch_test

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
)

// entry is one path of a case's tree.
type entry struct {
	P, Text, B64, Z, Link, SHA256 string
	Dir, Exec, Fifo               bool
}

func (e entry) data(t *testing.T) []byte {
	t.Helper()
	return decode(t, e.Text, e.B64, e.Z)
}

func decode(t *testing.T, text, b64, z string) []byte {
	t.Helper()
	if b64 == "" && z == "" {
		return []byte(text)
	}
	b, err := base64.StdEncoding.DecodeString(b64 + z)
	if err != nil {
		t.Fatal(err)
	}
	if z != "" {
		r, err := zlib.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// tree is a workspace in memory: files and links by path.
type tree map[string]*delta.Image

func treeOf(t *testing.T, entries []entry) (tree, map[string]bool) {
	t.Helper()
	tr, dirs := tree{}, map[string]bool{}
	for _, e := range entries {
		switch {
		case e.Dir:
			dirs[path.Clean(e.P)] = true
		case e.Link != "":
			tr[e.P] = delta.NewSymlink(e.Link)
		case e.Exec:
			tr[e.P] = delta.NewFile(e.data(t), 0o755)
		default:
			tr[e.P] = delta.NewFile(e.data(t), 0o644)
		}
		for d := path.Dir(e.P); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	return tr, dirs
}

// reader reads the tree as a workspace does: nothing outside, no directories.
func (tr tree) reader(dirs map[string]bool) patch.Read {
	return func(name string) (*delta.Image, error) {
		clean := path.Clean(name)
		if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, errors.New("outside the workspace")
		}
		if dirs[clean] {
			return nil, errors.New("is a directory")
		}
		return tr[clean], nil
	}
}

// commit applies a set to a copy of the tree, checking every Pre.
func (tr tree) commit(t testing.TB, set delta.Set) tree {
	t.Helper()
	out := tree{}
	for p, i := range tr {
		out[p] = i
	}
	seen := map[string]bool{}
	for _, c := range set {
		p := path.Clean(c.Path)
		if seen[p] {
			t.Errorf("%s is changed twice", p)
		}
		seen[p] = true
		if !c.Pre.Same(tr[p]) {
			t.Errorf("%s: Pre is not the current state", p)
		}
		delete(out, p)
		if c.Post != nil {
			out[p] = c.Post
		}
	}
	return out
}

// shown is a tree for comparing and printing.
func (tr tree) shown(modes bool) map[string]string {
	out := map[string]string{}
	for p, i := range tr {
		switch {
		case i.Kind == delta.Symlink:
			out[p] = "link " + string(i.Data)
		case modes && i.Mode&0o100 != 0:
			out[p] = "exec " + i.Sum.String() + " " + string(i.Data)
		default:
			out[p] = i.Sum.String() + " " + string(i.Data)
		}
	}
	return out
}

func readCases[T any](t *testing.T, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 8<<20)
	for sc.Scan() {
		var c T
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := sc.Err(); err != nil || len(cases) == 0 {
		t.Fatal(err, len(cases))
	}
	return cases
}

type envelopeCase struct {
	ID, Category, Note string
	Patch              string
	PatchB64           string `json:"patch_b64"`
	PatchZ             string `json:"patch_z"`
	Input, Expected    []entry
	ExitCode           int `json:"exit_code"`
	Score              *bool
	Alternatives       []struct {
		ExitCode  any `json:"exit_code"`
		Expected  []entry
		Unchanged bool
	}
}

// TestApplyPatchCases runs every case of the envelope. What a command line does
// with its arguments is not judged here, only what the patch means.
func TestApplyPatchCases(t *testing.T) {
	for _, c := range readCases[envelopeCase](t, "apply_patch.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			tr, dirs := treeOf(t, c.Input)
			text := decode(t, c.Patch, c.PatchB64, c.PatchZ)
			text = bytes.ReplaceAll(text, []byte("{{OUT}}"), []byte("/outside"))
			got, err := tr.plan(t, text, dirs, patch.PlanOptions{})
			if c.Category == "unsafe" {
				if err == nil {
					t.Fatalf("applied outside the workspace: %v", got)
				}
				return
			}
			type outcome struct {
				OK   bool
				Tree map[string]string
			}
			var want []outcome
			if c.Score == nil || *c.Score {
				want = append(want, outcome{c.ExitCode == 0, wanted(t, c.Expected)})
			}
			for _, a := range c.Alternatives {
				code, _ := a.ExitCode.(float64)
				ok := a.ExitCode != "nonzero" && code == 0
				if a.Unchanged {
					a.Expected = c.Input
				}
				want = append(want, outcome{ok, wanted(t, a.Expected)})
			}
			have := outcome{err == nil, hashed(got)}
			for _, w := range want {
				if cmp.Equal(w, have) {
					return
				}
			}
			t.Errorf("%s %s\n%s\n%v\nerror: %v\n%s", c.Category, c.Note, text, got.shown(false), err, cmp.Diff(want[0], have))
		})
	}
}

// wanted and hashed reduce trees to what both sides of a comparison know.
func wanted(t *testing.T, entries []entry) map[string]string {
	out := map[string]string{}
	for _, e := range entries {
		sum := sha256.Sum256(e.data(t))
		switch {
		case e.Dir:
		case e.Link != "":
			out[e.P] = "link " + e.Link
		case e.SHA256 != "":
			out[e.P] = e.SHA256
		default:
			out[e.P] = hex.EncodeToString(sum[:])
		}
	}
	return out
}

func hashed(tr tree) map[string]string {
	out := map[string]string{}
	for p, i := range tr {
		out[p] = i.Sum.String()
		if i.Kind == delta.Symlink {
			out[p] = "link " + string(i.Data)
		}
	}
	return out
}

// plan parses and plans text and returns the tree after it, or the tree as it
// was and the error.
func (tr tree) plan(t *testing.T, text []byte, dirs map[string]bool, o patch.PlanOptions) (tree, error) {
	t.Helper()
	p, err := patch.Parse(text)
	if err != nil {
		return tr, err
	}
	set, err := p.PlanWith(tr.reader(dirs), o)
	if err != nil {
		var e *patch.Error
		if !errors.As(err, &e) || e.Message == "" || set != nil {
			t.Errorf("an error is a *patch.Error with a message and no set: %#v", err)
		}
		return tr, err
	}
	return tr.commit(t, set), nil
}

type diffCase struct {
	ID, Category, Note string
	Text               string `json:"patch_text"`
	B64                string `json:"patch_b64"`
	Z                  string `json:"patch_z"`
	Base               []entry
	Input              []entry
	Strict             bool
	Apply              diffOutcome
	ThreeWay           diffOutcome `json:"three_way"`
	Alternatives       []diffOutcome
}

type diffOutcome struct {
	OK        bool
	Unchanged bool
	Expected  []entry
}

// TestUnifiedDiffCases runs every case of git and unified diffs, alone and with
// the blobs of the base at hand.
func TestUnifiedDiffCases(t *testing.T) {
	for _, c := range readCases[diffCase](t, "unified_diff.jsonl") {
		for _, mode := range []string{"apply", "3way"} {
			t.Run(c.ID+"/"+mode, func(t *testing.T) {
				tr, dirs := treeOf(t, c.Input)
				text := decode(t, c.Text, c.B64, c.Z)
				text = bytes.ReplaceAll(text, []byte("{{OUT}}"), []byte("/outside"))
				o := patch.PlanOptions{}
				accepted := append([]diffOutcome{c.Apply}, c.Alternatives...)
				if mode == "3way" {
					if c.Strict {
						accepted = append(accepted, diffOutcome{Unchanged: true})
					}
					accepted = append(accepted, c.ThreeWay)
					if !c.Apply.OK && !c.ThreeWay.OK {
						accepted = append(accepted, diffOutcome{Unchanged: true})
					}
					o.ThreeWay = blobs(t, c.Base, c.Input)
				}
				got, err := tr.plan(t, text, dirs, o)
				type outcome struct {
					OK   bool
					Tree map[string]string
				}
				have := outcome{err == nil, got.shown(true)}
				var first outcome
				for i, a := range accepted {
					if mode == "3way" && i == 0 && !c.Apply.OK && c.ThreeWay.OK {
						continue // a clean merge must be found
					}
					if a.Unchanged {
						a.Expected = c.Input
					}
					want, _ := treeOf(t, a.Expected)
					w := outcome{a.OK, want.shown(true)}
					if cmp.Equal(w, have) {
						return
					}
					if first.Tree == nil {
						first = w
					}
				}
				t.Errorf("%s %s\n%s\nerror: %v\n%s", c.Category, c.Note, text, err, cmp.Diff(first, have))
			})
		}
	}
}

// blobs finds contents by the beginning of their git id.
func blobs(t *testing.T, trees ...[]entry) func(string, string) ([]byte, bool) {
	all := map[string][]byte{}
	for _, tr := range trees {
		for _, e := range tr {
			if e.Dir || e.Link != "" {
				continue
			}
			d := e.data(t)
			all[fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(d)), d...)))] = d
		}
	}
	return func(_, id string) ([]byte, bool) {
		for k, d := range all {
			if strings.HasPrefix(k, id) {
				return d, true
			}
		}
		return nil, false
	}
}

// TestScenarios runs the public scenarios when they are beside the repository.
func TestScenarios(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "shared", "conformance", "apply_patch", "scenarios")
	dirs, _ := filepath.Glob(filepath.Join(root, "*", "patch.txt"))
	if len(dirs) == 0 {
		t.Skip("no scenarios here")
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, below := load(t, filepath.Join(dir, "input"))
			want, _ := load(t, filepath.Join(dir, "expected"))
			if strings.Contains(dir, "015_") {
				want = before // all or nothing, where the reference leaves half
			}
			got, err := before.plan(t, text, below, patch.PlanOptions{})
			if d := cmp.Diff(want.shown(false), got.shown(false)); d != "" {
				t.Errorf("error %v\n%s", err, d)
			}
		})
	}
}

func load(t *testing.T, root string) (tree, map[string]bool) {
	t.Helper()
	tr, dirs := tree{}, map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || d.IsDir() {
			dirs[filepath.ToSlash(rel)] = true
			return err
		}
		data, err := os.ReadFile(p)
		tr[filepath.ToSlash(rel)] = delta.NewFile(data, 0o644)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr, dirs
}
