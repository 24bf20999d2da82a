package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheClientsHaveTheTypesOfTheSchemas compares the types in clients/ with those that
// the program prints. KERF_UPDATE=1 writes them anew.
func TestTheClientsHaveTheTypesOfTheSchemas(t *testing.T) {
	for _, f := range []struct{ schema, language, path string }{
		{"events", "python", "python/src/kerf/events.py"}, {"serve", "python", "python/src/kerf/words.py"},
		{"events", "typescript", "typescript/events.d.ts"}, {"serve", "typescript", "typescript/words.d.ts"},
	} {
		var out, errors bytes.Buffer
		if code := run([]string{"kerf", "schema", f.schema, "--as", f.language}, os.Stdin, &out, &errors); code != 0 {
			t.Fatalf("kerf schema %s --as %s: exit %d: %s", f.schema, f.language, code, errors.String())
		}
		path := filepath.Join("..", "..", "clients", filepath.FromSlash(f.path))
		if os.Getenv("KERF_UPDATE") != "" {
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(b), out.String()); d != "" {
			t.Errorf("clients/%s is not what kerf schema prints; KERF_UPDATE=1 writes it (-there +printed):\n%s", f.path, d)
		}
	}
}

func TestSchemaRefusesTypesThatThereAreNot(t *testing.T) {
	for _, args := range [][]string{{"--as", "python"}, {"config", "--as", "python"}, {"events", "--as", "cobol"}} {
		var out, errors bytes.Buffer
		if code := run(append([]string{"kerf", "schema"}, args...), os.Stdin, &out, &errors); code != 2 || out.Len() > 0 {
			t.Errorf("%q: exit %d, %q, %q", args, code, out.String(), errors.String())
		}
	}
}
