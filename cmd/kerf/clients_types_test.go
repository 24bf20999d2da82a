package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompilersJudgeTheClients has the TypeScript compiler and pyright, both as strict as they
// can be, judge the types of clients/: the examples of their READMEs, a program of somebody
// else's whose wrong lines have to be refused, and the Python itself. KERF_NPM names the
// directory in which typescript, @types/node and pyright are installed, KERF_NODE a node of
// version 22, if that of PATH is older.
func TestCompilersJudgeTheClients(t *testing.T) {
	packages := os.Getenv("KERF_NPM")
	if packages == "" {
		t.Skip("KERF_NPM names no directory with node_modules")
	}
	packages = filepath.Join(packages, "node_modules")
	clients, err := filepath.Abs("../../clients")
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []struct {
		language, compiler, config string
		args                       []string
		program                    string
	}{
		{"typescript", "typescript/bin/tsc", `{"compilerOptions":{"strict":true,"noEmit":true,"module":"nodenext","target":"es2022",` +
			`"types":["node"],"noUncheckedIndexedAccess":true,"exactOptionalPropertyTypes":true,"noUnusedLocals":true}}`,
			[]string{"-p", "tsconfig.json"}, "types.ts"},
		{"python", "pyright/index.js", `{"typeCheckingMode":"strict","pythonVersion":"3.11","include":["."],` +
			`"reportUnnecessaryTypeIgnoreComment":"error"}`, []string{"-p", "."}, "types_of.py"},
	} {
		t.Run(j.language, func(t *testing.T) {
			compiler := filepath.Join(packages, filepath.FromSlash(j.compiler))
			if _, err := os.Stat(compiler); err != nil {
				t.Skipf("KERF_NPM names no directory with %s: %v", j.compiler, err)
			}
			dir := t.TempDir()
			client := filepath.Join(clients, j.language)
			if j.language == "typescript" {
				write(t, filepath.Join(dir, "tsconfig.json"), j.config)
				write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
				beside(t, dir, client, "node_modules/kerf-client")
				for _, name := range []string{"@types", "undici-types"} { // pyright has no need of them
					beside(t, dir, filepath.Join(packages, name), "node_modules/"+name)
				}
			} else {
				write(t, filepath.Join(dir, "pyrightconfig.json"), j.config)
				beside(t, dir, filepath.Join(client, "src", "kerf"), "kerf")
			}
			program, err := os.ReadFile(filepath.Join("testdata", "clients", j.program))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, j.program), string(program))
			examples := fenced(t, filepath.Join(client, "README.md"))
			for i, text := range examples {
				write(t, filepath.Join(dir, fmt.Sprintf("readme%d%s", i, filepath.Ext(j.program))), text)
			}
			if out, err := compiled(t, dir, compiler, j.args); err != nil || len(examples) != 2 {
				t.Fatalf("%d examples, %v\n%s", len(examples), err, out)
			}
			// What is wrong in an example is seen, so that the verdict above means something.
			write(t, filepath.Join(dir, "readme0"+filepath.Ext(j.program)), strings.ReplaceAll(examples[0], "output_tokens", "tokens"))
			if out, err := compiled(t, dir, compiler, j.args); err == nil || !strings.Contains(out, "readme0") {
				t.Errorf("a seeded fault passes: %v\n%s", err, out)
			}
		})
	}
}

// compiled is what a compiler says of a directory.
func compiled(t *testing.T, dir, compiler string, args []string) (string, error) {
	node := os.Getenv("KERF_NODE")
	if node == "" {
		node = "node"
	}
	if _, err := exec.LookPath(node); err != nil {
		t.Skip("node is not installed")
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{compiler}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// beside copies a directory below another one: compilers that follow links would look for its
// imports elsewhere.
func beside(t *testing.T, dir, from, as string) {
	t.Helper()
	if _, err := os.Stat(from); os.IsNotExist(err) {
		return
	}
	if err := os.CopyFS(filepath.Join(dir, filepath.FromSlash(as)), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// fenced are the examples of a page.
func fenced(t *testing.T, page string) (all []string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(b), "\n```") {
		if i%2 == 1 {
			_, text, _ := strings.Cut(part, "\n")
			all = append(all, text+"\n")
		}
	}
	return all
}
