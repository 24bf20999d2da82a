package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/config/document"
)

func TestSetKeepsTheRest(t *testing.T) {
	tests := []struct {
		name, doc, key string
		value          any
		want           string
	}{
		{"empty", "", "model", "x", "model = \"x\"\n"},
		{"replace", "a = 1 # one\nmodel   =  'old'   # why\n# end\n", "model", "new", "a = 1 # one\nmodel   =  \"new\"   # why\n# end\n"},
		{"array", "k = [ # c\n  1, # d\n  2 ] # e\nz = 1\n", "k", []int{3}, "k = [3] # e\nz = 1\n"},
		{"top before tables", "# head\n\n# of t\n[t]\na = 1\n", "model", "x", "# head\n\nmodel = \"x\"\n\n# of t\n[t]\na = 1\n"},
		{"top after top", "a = 1\n[t]\nb = 2\n", "c", 3, "a = 1\nc = 3\n[t]\nb = 2\n"},
		{"in table", "[t]\n  a = 1 # x\n\n[u]\n", "t.b", true, "[t]\n  a = 1 # x\n  b = true\n\n[u]\n"},
		{"bare header", "[t]\n# only this\n", "t.b", true, "[t]\nb = true\n# only this\n"},
		{"new table", "a = 1", "t.u.b", 1.5, "a = 1\n\n[t.u]\nb = 1.5\n"},
		{"dotted", "t.a = 1\nz = 1\n", "t.b", 2, "t.a = 1\nt.b = 2\nz = 1\n"},
		{"deep dotted", "t.u.a = 1\n", "t.b", 2, "t.u.a = 1\nt.b = 2\n"},
		{"inline", "t = { a = 1 } # x\n", "t.b.c", "2", "t = { a = 1, b = { c = \"2\" } } # x\n"},
		{"crlf", "a = 1\r\n[t]\r\nb = 1\r\n", "t.c", 2, "a = 1\r\n[t]\r\nb = 1\r\nc = 2\r\n"},
		{"bom", "\xef\xbb\xbfa = 1\n", "a", 2, "\xef\xbb\xbfa = 2\n"},
		{"no newline", "[t]\na = 1", "t.b", 2, "[t]\na = 1\nb = 2\n"},
		{"quoted", "[projects.\"/a b\"]\ntrust_level = 'untrusted'\n", `projects."/a b".trust_level`, "trusted", "[projects.\"/a b\"]\ntrust_level = \"trusted\"\n"},
		{"table", "# c\n[m.x]\na = 1\n[m.x.env]\nE = '1'\n[m.y]\nb = 1\n", "m.x", map[string]any{"command": "p", "args": []string{"-v"}},
			"# c\n[m.y]\nb = 1\n\n[m.x]\nargs = [\"-v\"]\ncommand = \"p\"\n"},
		{"hostile text", "", "a", "\x1b[2J\n\"\\\u202e", "a = \"\\u001B[2J\\n\\\"\\\\\\u202E\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "sub", "config.toml")
			if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tt.doc), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Set(file, tt.key, tt.value)
			got, _ := os.ReadFile(file)
			if tt.name == "table" {
				tt.want = strings.TrimPrefix(tt.want, "# c\n") // the comment belonged to what is gone
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" || err != nil {
				t.Errorf("%v\n%s", err, d)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	tests := []struct{ doc, key, want string }{
		{"a = \n", "b", "config.toml:1: "},
		{"[[t]]\na = 1\n", "t.b", "t is not a table"},
		{"[t]\na = 1\n", "t", "it is a table"},
		{"a = 1\n", "a.b", "a is not a table"},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte(tt.doc), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Set(file, tt.key, 1)
		got, _ := os.ReadFile(file)
		if err == nil || !strings.Contains(err.Error(), tt.want) || string(got) != tt.doc {
			t.Errorf("%q %s: got %v, want %s; file %q", tt.doc, tt.key, err, tt.want, got)
		}
	}
}

func TestUnset(t *testing.T) {
	doc := "# top\na = 1 # one\n\n# about x\n[m.x] # header\nc = 'p'\n\n[m.x.env]\nA = 'b'\n\n[m.y]\nc = 'q'\nin = { k " +
		"= 1, l = 2 }\n"
	tests := []struct{ key, want string }{
		{"a", strings.Replace(doc, "a = 1 # one\n", "", 1)},
		{"m.x", "# top\na = 1 # one\n\n\n\n[m.y]\nc = 'q'\nin = { k = 1, l = 2 }\n"},
		{"m.y.in.k", strings.Replace(doc, "{ k = 1, l = 2 }", "{ l = 2 }", 1)},
		{"nothing.here", doc},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Unset(file, tt.key)
		got, _ := os.ReadFile(file)
		if d := cmp.Diff(tt.want, string(got)); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.key, err, d)
		}
	}
}

// Whatever a document looks like, a value that was set is read back, everything
// else stays, and unsetting it leads back to what was there.
func TestSetThenGetIsTheValue(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c d", "é", ""})
	leaf := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return strings.ToValidUTF8(s, "?") }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Map(rapid.Bool(), func(b bool) any { return b }))
	rapid.Check(t, func(t *rapid.T) {
		var doc strings.Builder
		for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
			path := rapid.SliceOfN(name, 1, 3).Draw(t, "path")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&doc, "[%s] # %d\n", document.Key(path...), i)
			case 1:
				fmt.Fprintf(&doc, "# comment %d\n\n", i)
			case 2:
				fmt.Fprintf(&doc, "  %s = { x = [ %d, 2 ], a = 1 } # c\n", document.Key(path...), i)
			default:
				text, _ := document.Render(leaf.Draw(t, "leaf"))
				fmt.Fprintf(&doc, "%s = %s\n", document.Key(path...), text)
			}
		}
		before := []byte(doc.String())
		old, err := decode(before)
		if err != nil {
			t.Skip("no document")
		}
		path := rapid.SliceOfN(name, 1, 3).Draw(t, "key")
		x := leaf.Draw(t, "value")
		after, err := Apply(before, Setting{path, x})
		if err != nil {
			if strings.Contains(err.Error(), "safely") {
				t.Fatalf("%v:\n%s", err, before)
			}
			t.Skip("refused")
		}
		v, err := document.Parse("f", after)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Get(path...); got == nil || got.Leaf != x {
			t.Fatalf("set %v = %v in\n%s\ngave\n%s", path, x, before, after)
		}
		if m, err := document.Parse("f", before); err == nil && m.Get(path...) == nil {
			back, err := Apply(after, Setting{path, nil})
			if err != nil {
				t.Fatalf("%v:\n%s", err, after)
			}
			if now, _ := decode(back); !sameTables(old, now) {
				t.Fatalf("unset leaves\n%s\nof\n%s", back, before)
			}
		}
	})
}

func TestSetWritesThroughLinksAndKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles.toml"), filepath.Join(dir, "config.toml")
	if err := os.WriteFile(target, []byte("a = 1\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Set(link, "a", 2); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(target)
	info, _ := os.Lstat(link)
	mode, _ := os.Stat(target)
	if string(data) != "a = 2\n" || info.Mode()&os.ModeSymlink == 0 || mode.Mode().Perm() != 0o640 {
		t.Errorf("%q, link %v, target %v", data, info.Mode(), mode.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNewFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	file := filepath.Join(t.TempDir(), "home", "config.toml")
	if err := Set(file, "model", "x"); err != nil {
		t.Fatal(err)
	}
	f, _ := os.Stat(file)
	d, _ := os.Stat(filepath.Dir(file))
	if f.Mode().Perm() != 0o600 || d.Mode().Perm() != 0o700 {
		t.Errorf("file %v, directory %v", f.Mode(), d.Mode())
	}
}
