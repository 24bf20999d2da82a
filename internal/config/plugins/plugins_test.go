package plugins

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The words of the specification about plugin.json: what is fatal, and what is not.
func TestManifestsOfTheSpecification(t *testing.T) {
	const schema = `"$schema": "` + pluginSchema + `"`
	for said, want := range map[string]string{
		schema + `, "name": "a"`: "",
		schema + `, "name": "acme.tools", "keywords": ["x"], "license": "?"`: "",
		schema + `, "name": "a", "extensions": 7, "unknown": {}`:             "",
		schema + `, "name": "a", "author": {"name": "x", "email": "y"}`:      "",
		schema:                                                              "name",
		schema + `, "name": ""`:                                             "name",
		schema + `, "name": "My-Plugin"`:                                    "name",
		schema + `, "name": "-start"`:                                       "name",
		schema + `, "name": "has--double"`:                                  "name",
		schema + `, "name": "too.many..dots"`:                               "name",
		schema + `, "name": "a_b"`:                                          "name",
		schema + `, "name": "` + strings.Repeat("a", 65) + `"`:              "name",
		schema + `, "name": 1`:                                              "name",
		schema + `, "name": "a", "version": 1`:                              "version",
		schema + `, "name": "a", "keywords": "x"`:                           "keywords",
		schema + `, "name": "a", "author": "x"`:                             "author",
		schema + `, "name": "a", "author": {"phone": "x"}`:                  "author",
		`"$schema": "` + schemas + `2.0.0/plugin.schema.json", "name": "a"`: "1.0.0 only",
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"plugin.json": "{" + said + "}"})
		_, err := Read(dir, filepath.Join(dir, "data"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("{%s}: %v, want %q", said, err, want)
		}
	}
}

// The words of the specification about mcp.json: a server that is wrong is left out alone.
func TestServersOfTheSpecification(t *testing.T) {
	for said, want := range map[string]string{
		`{"type": "stdio", "command": "npx", "args": ["a"], "env": {"A": "b"}, "cwd": "${PLUGIN_DATA}/x"}`: "",
		`{"type": "stdio", "command": "./bin/x", "cwd": "./data"}`:                                         "",
		`{"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}"}`:                                       "",
		`{"type": "streamable-http", "url": "https://a.test/mcp", "headers": {"X-Y": "z"}}`:                "",
		`{"type": "sse", "url": "http://127.0.0.1:8/x"}`:                                                   "",
		`{"command": "x"}`:                                                          "type",
		`{"type": "http", "url": "https://a.test"}`:                                 "type",
		`{"type": "stdio"}`:                                                         "command",
		`{"type": "stdio", "command": "a/b"}`:                                       "command",
		`{"type": "stdio", "command": "../x"}`:                                      "command",
		`{"type": "stdio", "command": "./../x"}`:                                    "command",
		`{"type": "stdio", "command": "/bin/sh"}`:                                   "command",
		`{"type": "stdio", "command": "x", "args": "y"}`:                            "args",
		`{"type": "stdio", "command": "x", "env": {"A": 1}}`:                        "env",
		`{"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "/"}}`:            "env",
		`{"type": "stdio", "command": "x", "cwd": "data"}`:                          "cwd",
		`{"type": "stdio", "command": "x", "cwd": "./../y"}`:                        "cwd",
		`{"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}/../y"}`:           "cwd",
		`{"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}x"}`:               "cwd",
		`{"type": "stdio", "command": "x", "url": "https://a.test"}`:                "url",
		`{"type": "sse", "url": "http://a.test/x"}`:                                 "url",
		`{"type": "sse", "url": "https://u@a.test/x"}`:                              "url",
		`{"type": "sse", "url": "https://a.test/x#y"}`:                              "url",
		`{"type": "sse", "url": "x"}`:                                               "url",
		`{"type": "sse", "url": "https://a.test", "headers": {"A": "x", "a": "y"}}`: "headers",
		`{"type": "sse", "url": "https://a.test", "headers": {"A b": "x"}}`:         "headers",
		`7`: "expected a table",
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"plugin.json": `{"$schema": "` + pluginSchema + `", "name": "a"}`,
			"mcp.json":  `{"$schema": "` + mcpSchema + `", "mcpServers": {"s": ` + said + `, "good": {"type": "stdio", "command": "x"}}}`,
			".mcp.json": `{"mcpServers": {"other": {"command": "not of the specification"}}}`})
		p, err := Read(dir, filepath.Join(dir, "data"))
		if err != nil || len(p.Servers) != 2 {
			t.Errorf("%s: %v, %d servers", said, err, len(p.Servers))
			continue
		}
		for _, s := range p.Servers {
			if s.Name == "good" && s.Why != "" {
				t.Errorf("%s: the other server is not used: %s", said, s.Why)
			}
			if s.Name == "s" && ((s.Why == "") != (want == "") || !strings.Contains(s.Why, want)) {
				t.Errorf("%s: %q, want %q", said, s.Why, want)
			}
		}
	}
}

// Nothing is replaced but the two words of the specification, once, and not in the command.
func TestPlaceholdersOfTheSpecification(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"plugin.json": `{"$schema": "` + pluginSchema + `", "name": "a"}`,
		"mcp.json": `{"$schema": "` + mcpSchema + `", "mcpServers": {"s": {"type": "stdio", "command": "x${PLUGIN_ROOT}",
			"args": ["${PLUGIN_ROOT}/a", "${HOME}", "$PLUGIN_ROOT"], "env": {"A": "${PLUGIN_DATA}${OTHER:-x}"}}}}`})
	p, err := Read(dir, "/data")
	if err != nil || len(p.Servers) != 1 || p.Servers[0].Why != "" {
		t.Fatalf("%v, %+v", err, p.Servers)
	}
	g, reads, why := p.Servers[0].Expanded(func(string) string { return "READ" })
	want := []string{dir + "/a", "${HOME}", "$PLUGIN_ROOT"}
	if d := cmp.Diff(want, g.Args); d != "" || why != "" || len(reads) > 0 || g.Command != "x${PLUGIN_ROOT}" || g.Cwd != dir ||
		g.Env["A"] != "/data${OTHER:-x}" || g.Env["PLUGIN_ROOT"] != dir || g.Env["PLUGIN_DATA"] != "/data" {
		t.Errorf("%+v, reads %q, why %q\n%s", g, reads, why, d)
	}
}

// Any change of the content is another hash: bytes, names, and whether a file can be run.
func TestHashTellsContentsApart(t *testing.T) {
	seen := map[string]string{}
	for name, files := range map[string]map[string]string{
		"none": {}, "a": {"a": "x"}, "b": {"b": "x"}, "other": {"a": "y"}, "two": {"a": "x", "b": ""},
		"below": {"a/b": "x"}, "line": {"a\nb": "x"},
	} {
		dir := t.TempDir()
		write(t, dir, files)
		hash, err := Hash(dir)
		if err != nil {
			t.Fatal(err)
		}
		if was, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, was)
		}
		seen[hash] = name
		sum := NewSum()
		var names []string
		for file := range files {
			names = append(names, file)
		}
		slices.Sort(names)
		for _, file := range names {
			sum.Add(file, false, []byte(files[file]))
		}
		if sum.Hash() != hash {
			t.Errorf("%s: the hash of the files is not that of the directory", name)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "x"})
	if err := os.Chmod(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	hash, err := Hash(dir)
	if info, _ := os.Stat(filepath.Join(dir, "a")); info.Mode()&0o100 != 0 && (err != nil || seen[hash] != "") {
		t.Errorf("a file that can be run has the hash of %q, %v", seen[hash], err)
	}
}
