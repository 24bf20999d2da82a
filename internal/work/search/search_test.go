package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/work/proc"
)

// plant makes files from "path" or "path=content"; "path/" is a directory and
// "path->target" a link.
func plant(t testing.TB, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		name, target, link := strings.Cut(name, "->")
		file := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(file)
		if strings.HasSuffix(name, "/") {
			parent = file
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, file)
		case parent != file:
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a.txt", "b/c.txt", "b/d/e", ".github/x", ".gitignore=*.log\n/out/\n", "y.log", "out/z", "l->/etc",
		".git/config", "b/.git=gitdir: nowhere")
	for _, c := range []struct {
		depth, limit int
		want         []string
		more         bool
	}{
		{1, 0, []string{".github/", ".gitignore", "a.txt", "b/", "l@"}, false},
		{2, 0, []string{".github/", ".github/x", ".gitignore", "a.txt", "b/", "b/c.txt", "b/d/", "l@"}, false},
		{9, 3, []string{".github/", ".github/x", ".gitignore"}, true},
	} {
		got, more, err := List(t.Context(), dir, c.depth, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" || more != c.more {
			t.Errorf("depth %d limit %d: more %t\n%s", c.depth, c.limit, more, d)
		}
	}
	if _, _, err := List(t.Context(), filepath.Join(dir, "none"), 1, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestRulesFromAbove(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, ".gitignore=*.log\n/sub/secret\n", "sub/a.log", "sub/secret", "sub/b", "sub/deep/.ignore=!a.log\n",
		"sub/deep/a.log")
	s := New(Options{Roots: []string{dir}})
	got, _, err := s.List(t.Context(), filepath.Join(dir, "sub"), 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"b", "deep/", "deep/.ignore", "deep/a.log"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a.go", "b/c.go", "b/d/e.go", "b/x.ts", "b/y.tsx", "l.go->a.go")
	base := filepath.ToSlash(dir) + "/"
	for pattern, want := range map[string][]string{
		"*.go":           {"a.go", "l.go"},
		"**/*.go":        {"a.go", "b/c.go", "b/d/e.go", "l.go"},
		"./b/*.{ts,tsx}": {"b/x.ts", "b/y.tsx"},
		base + "b/**":    {"b/c.go", "b/d/e.go", "b/x.ts", "b/y.tsx"},
		"[ab].go":        {"a.go"},
		"b":              nil,
	} {
		got, _, err := Glob(t.Context(), dir, pattern, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = base + want[i]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", pattern, d)
		}
	}
	for _, bad := range []string{"", "[a", "{a", "/etc/*", "../*", strings.Repeat("{a,b}", 20)} {
		_, _, err := Glob(t.Context(), dir, bad, 0)
		if _, ok := errors.AsType[*PatternError](err); !ok {
			t.Errorf("%q: got %v, want a PatternError", bad, err)
		}
	}
}

// show prints lines like grep does, without the directory.
func show(dir string, lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		mark := "-"
		if l.Match {
			mark = ":"
		}
		fmt.Fprintf(&b, "%s%s%d%s%s\n", strings.TrimPrefix(l.Path, filepath.ToSlash(dir)+"/"), mark, l.Number, mark, l.Text)
	}
	return b.String()
}

func TestGrep(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a.txt=one\ntwo\nthree\nfour\nfive\nsix\n", "b/c.go=func one() {}\r\n\r\nend\r\n", "bin=one\x00",
		"wide=\xff\xfeo\x00n\x00e\x00\n\x00", ".gitignore=no\n", "no=one\n", "l->a.txt", "latin=caf\xe9 one", ".git/x=one")
	for _, c := range []struct {
		name string
		q    Query
		want string
		more bool
	}{
		{"plain", Query{Pattern: "one"}, "a.txt:1:one\nb/c.go:1:func one() {}\nlatin:1:caf\uFFFD one\nwide:1:one\n", false},
		{"case", Query{Pattern: "ONE", IgnoreCase: true, Glob: "*.txt"}, "a.txt:1:one\n", false},
		{"context", Query{Pattern: "t(wo|hree)|six", Context: 1, Glob: "/a.*"}, "a.txt-1-one\na.txt:2:two\na.txt:3:three\na.txt-4-four\na.txt-5-five\na.txt:6:six\n", false},
		{"limit", Query{Pattern: "^.", Limit: 2, Context: 1}, ".gitignore:1:no\na.txt:1:one\n", true},
		{"end of line", Query{Pattern: "}$"}, "b/c.go:1:func one() {}\n", false},
		{"empty line", Query{Pattern: "^$"}, "b/c.go:2:\n", false},
		{"input edges", Query{Pattern: `\Atwo\z`}, "a.txt:2:two\n", false},
		{"not across lines", Query{Pattern: `one\s+two`}, "", false},
		{"glob path", Query{Pattern: "e", Glob: "b/**/*.go"}, "b/c.go:1:func one() {}\nb/c.go:3:end\n", false},
	} {
		c.q.Dir = dir
		got, more, err := Grep(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, show(dir, got)); d != "" || more != c.more {
			t.Errorf("%s: more %t\n%s", c.name, more, d)
		}
	}
	one, _, err := Grep(t.Context(), Query{Pattern: "one", Dir: filepath.Join(dir, "no")})
	if err != nil || show(dir, one) != "no:1:one\n" {
		t.Errorf("single file: %v %v", one, err)
	}
	for _, q := range []Query{{Pattern: "a("}, {Pattern: `(?=x)`}, {Pattern: "a", Glob: "[a"},
		{Pattern: strings.Repeat("a", 5000)}} {
		q.Dir = dir
		_, _, err := Grep(t.Context(), q)
		if _, ok := errors.AsType[*PatternError](err); !ok {
			t.Errorf("%.20q: got %v, want a PatternError", q.Pattern, err)
		}
	}
}

func TestGrepCutsLongLines(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "x="+strings.Repeat("é", 10_000)+"needle"+strings.Repeat("z", 10_000)+"\n"+
		strings.Repeat("needle ", 500))
	got, _, err := Grep(t.Context(), Query{Pattern: "needle", Dir: dir})
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for _, l := range got {
		if n := len([]rune(l.Text)); n > 510 || !strings.Contains(l.Text, "needle") || strings.Contains(l.Text, "\uFFFD") {
			t.Errorf("%d characters: %s", n, l.Text)
		}
	}
}

func TestGrepStops(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "a=x\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Grep(ctx, Query{Pattern: "x", Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// naive is a slow twin of grep for one text.
func naive(re *regexp.Regexp, text string, around, limit int) []Line {
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if text == "" {
		lines = nil
	}
	marks := make([]int, len(lines))
	for i, l := range lines {
		if re.MatchString(l) && limit > 0 {
			limit--
			marks[i] = 2
			for j := max(0, i-around); j <= min(i+around, len(lines)-1); j++ {
				marks[j] = max(marks[j], 1)
			}
		}
	}
	var out []Line
	for i, m := range marks {
		if m > 0 {
			out = append(out, Line{Number: i + 1, Text: strings.ToValidUTF8(lines[i], "\uFFFD"), Match: m == 2})
		}
	}
	return out
}

func TestGrepEqualsNaive(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "ab", "\n", "\r\n", "\n", " ", "\xff", "é",
			"\r"})).Draw(r, "text"), "")
		q := Query{Pattern: rapid.SampledFrom([]string{"a", "ab", "^a", "b$", "^$", "a.*b", `a\s*b`, `\ba`, `\Bb`, "a|b",
			"[^a]", "", `\Ab`, `(?s)a.b`, `\n`, "(?-m)b$", "b\uFFFD", "a+b{1,2}"}).Draw(r, "pattern"),
			IgnoreCase: rapid.Bool().Draw(r, "fold")}
		p, err := compile(q)
		if err != nil {
			r.Fatal(err)
		}
		around := rapid.IntRange(0, 3).Draw(r, "around")
		limit := rapid.IntRange(1, 6).Draw(r, "limit")
		want := naive(p.line, text, around, limit)
		got := p.search(context.Background(), []byte(text), around, limit)
		if d := cmp.Diff(want, got); d != "" {
			r.Fatalf("%q in %q:\n%s", q.Pattern, text, d)
		}
	})
}

func needRipgrep(t testing.TB) string {
	rg, err := proc.Program("rg", nil)
	if err != nil {
		t.Skip("no rg")
	}
	return rg
}

func TestEnginesAgree(t *testing.T) {
	rg := needRipgrep(t)
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		d, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		word := rapid.SampledFrom([]string{"needle", "Needle", "nee", "\n", "\r\n", "x", "\x00", "\xff", "--", "é"})
		for i := range rapid.IntRange(0, 8).Draw(r, "files") {
			text := strings.Join(rapid.SliceOf(word).Draw(r, "text"), "")
			plant(t, d, fmt.Sprintf("%s%d=%s", rapid.SampledFrom([]string{"a", "-b", "b/c", ".h/ä"}).Draw(r, "name"), i, text))
		}
		plant(t, d, ".gitignore="+rapid.SampledFrom([]string{"", "b\n", "*1\n"}).Draw(r, "rules"))
		q := Query{Dir: d, Pattern: rapid.SampledFrom([]string{"needle", "needle.*x", "(nee)+", "--x", "é"}).Draw(r,
			"pattern"),
			IgnoreCase: rapid.Bool().Draw(r, "fold"), Context: rapid.IntRange(0, 1).Draw(r, "context"),
			Limit: rapid.IntRange(0, 5).Draw(r, "limit")}
		with, more1, err1 := New(Options{Roots: []string{d}, Ripgrep: rg, RipgrepFrom: 1}).Grep(t.Context(), q)
		without, more2, err2 := New(Options{Roots: []string{d}, Ripgrep: "-"}).Grep(t.Context(), q)
		if d := cmp.Diff(without, with); d != "" || more1.More != more2.More || more1.Larges != more2.Larges || err1 != nil || err2 != nil {
			r.Fatalf("%t %t %v %v (-own +rg)\n%s", more1.More, more2.More, err1, err2, d)
		}
	})
}

// TestRipgrepIsAsked makes sure that the other test did not compare one engine
// with itself.
func TestRipgrepIsAsked(t *testing.T) {
	rg := needRipgrep(t)
	dir := t.TempDir()
	plant(t, dir, "a=needle", "b/c=other", "b/d=a needle")
	got := candidates(t.Context(), rg, Query{Dir: dir}, "needle", map[string][]string{".": {"a"}, "b": {"c", "d"}})
	if d := cmp.Diff(map[string][]string{".": {"a"}, "b": {"d"}}, got); d != "" {
		t.Error(d)
	}
}

func TestNoProgramFromRoots(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "bin/rg=#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "bin/rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	plant(t, outside, "rg->"+filepath.Join(dir, "bin/rg"))
	for _, p := range []string{filepath.Join(dir, "bin"), outside, "."} {
		t.Setenv("PATH", p)
		if rg := ripgrep("", []string{dir})(); rg != "" {
			t.Errorf("PATH=%s: %s would run", p, rg)
		}
	}
}

// TestRipgrepSeesTheSameFiles lets rg judge which files there are.
func TestRipgrepSeesTheSameFiles(t *testing.T) {
	rg := needRipgrep(t)
	top := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom([]string{"a", "b", "c.x", "d.y", ".h"})
		file := rapid.Map(rapid.SliceOfN(name, 1, 4), func(s []string) string { return strings.Join(s, "/") + "f" })
		rule := rapid.SampledFrom([]string{"a", "b/", "/a", "*.x", "*f", "!bf", "a/b", "**/bf", "a/**", "!*.xf", "# x",
			"[ab]f"})
		rules := rapid.Map(rapid.SliceOfN(rule, 0, 3), func(s []string) string { return strings.Join(s, "\n") })
		for _, f := range rapid.SliceOfN(file, 1, 12).Draw(r, "files") {
			plant(t, dir, f)
		}
		for _, d := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "a/", "b/", "a/b/"}), 0, 3,
			rapid.ID[string]).Draw(r, "ruled") {
			plant(t, dir, d+rapid.SampledFrom([]string{".gitignore", ".ignore"}).Draw(r, "kind")+"="+rules.Draw(r, "rules"))
		}
		cmd := exec.Command(rg, "--no-config", "--files", "--hidden", "--no-require-git", "--no-ignore-global",
			"--no-ignore-parent", "--glob=!.git")
		cmd.Dir = dir
		out, _ := cmd.Output()
		want := strings.Fields(string(out))
		slices.Sort(want)
		got, _, err := Glob(t.Context(), dir, "**", 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], filepath.ToSlash(dir)+"/")
		}
		if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); d != "" {
			r.Fatalf("rg differs (-rg +ours):\n%s", d)
		}
	})
}

func TestHostileTree(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	plant(t, outside, "secret=needle")
	plant(t, dir, "out->"+outside, "file->"+filepath.Join(outside, "secret"), "a\nb=needle",
		".gitignore->"+filepath.Join(outside, "secret"))
	fifo(t, filepath.Join(dir, "pipe"))
	fifo(t, filepath.Join(dir, ".ignore"))
	start := time.Now()
	got, _, err := Grep(t.Context(), Query{Pattern: "needle", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []Line{{Path: filepath.ToSlash(dir) + "/a\nb", Number: 1, Text: "needle", Match: true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}

func FuzzGrep(f *testing.F) {
	f.Add("a", "a\nb\n")
	f.Add("(?i)K", "\u212a")
	f.Fuzz(func(t *testing.T, expr, text string) {
		p, err := compile(Query{Pattern: expr})
		if err != nil || strings.Contains(text, "\x00") || strings.HasPrefix(text, "\xff\xfe") ||
			strings.HasPrefix(text, "\xfe\xff") || strings.HasPrefix(text, "\xef\xbb\xbf") || len(text) > 400 {
			return
		}
		want := naive(p.line, text, 1, 100)
		if d := cmp.Diff(want, p.search(t.Context(), []byte(text), 1, 100)); d != "" {
			t.Errorf("%q in %q:\n%s", expr, text, d)
		}
	})
}

func BenchmarkGrep(b *testing.B) {
	dir := b.TempDir()
	for i := range 3000 {
		plant(b, dir, fmt.Sprintf("d%d/f%d.go=%s", i%60, i, strings.Repeat("some text that is like code\n", 200)))
	}
	plant(b, dir, "d7/hit=needle here")
	for _, c := range []struct {
		name string
		o    Options
	}{{"own", Options{Ripgrep: "-"}}, {"rg", Options{RipgrepFrom: 1}}} {
		s := New(c.o)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if l, _, err := s.Grep(b.Context(), Query{Pattern: "need[l]e h", Dir: dir}); err != nil || len(l) != 1 {
					b.Fatal(l, err)
				}
			}
		})
	}
}

// List is [Searcher.List] without roots.
func List(ctx context.Context, dir string, depth, limit int) ([]string, bool, error) {
	return New(Options{Ripgrep: "-"}).List(ctx, dir, depth, limit)
}

// Glob is [Searcher.Glob] without roots.
func Glob(ctx context.Context, dir, pattern string, limit int) ([]string, bool, error) {
	return New(Options{Ripgrep: "-"}).Glob(ctx, dir, pattern, limit)
}

// Grep is [Searcher.Grep] without roots; it never runs another program.
func Grep(ctx context.Context, q Query) ([]Line, bool, error) {
	lines, missed, err := New(Options{Ripgrep: "-"}).Grep(ctx, q)
	return lines, missed.More || missed.Larges > 0 || missed.Stopped, err
}
