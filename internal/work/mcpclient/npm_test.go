package mcpclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The official servers as judges, every tool called once. KERF_NPM names the
// directory they are installed in.
func TestOfficialServers(t *testing.T) {
	modules := filepath.Join(os.Getenv("KERF_NPM"), "node_modules")
	if os.Getenv("KERF_NPM") == "" {
		t.Skip("KERF_NPM names no directory with node_modules")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for _, s := range []Server{
		{Name: "everything", Command: "node", Args: []string{filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js")}, Env: env},
		{Name: "filesystem", Command: "node", Args: []string{filepath.Join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}, Env: env},
	} {
		t.Run(s.Name, func(t *testing.T) {
			if _, err := os.Stat(s.Args[0]); err != nil {
				t.Skip(err)
			}
			s.ToolTimeout = 30 * time.Second
			m := started(t, Options{Servers: []Server{s}, Roots: []string{dir}})
			m.Settle(t.Context())
			if len(m.Tools()) == 0 {
				t.Fatalf("the server is %+v", m.Status())
			}
			for _, tool := range m.Tools() {
				r, err := m.Call(t.Context(), tool.Qualified, arguments(t, tool, dir))
				switch {
				case err != nil:
					t.Errorf("%s: %v", tool.Name, err)
				default:
					t.Logf("%-28s failed %-5t %q", tool.Name, r.Failed, clip(r.Text))
				}
			}
		})
	}
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), 60)]
}

// arguments makes up a value for every argument a tool demands.
func arguments(t *testing.T, tool Tool, dir string) json.RawMessage {
	t.Helper()
	var schema struct {
		Required   []string
		Properties map[string]struct {
			Type string
			Enum []any
		}
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for _, name := range schema.Required {
		p := schema.Properties[name]
		switch {
		case len(p.Enum) > 0:
			args[name] = p.Enum[0]
		case p.Type == "string" && strings.Contains(strings.ToLower(name), "path"), name == "source":
			args[name] = filepath.Join(dir, "a.txt")
		case name == "destination":
			args[name] = filepath.Join(dir, "b.txt")
		case p.Type == "string":
			args[name] = "a.txt"
		case p.Type == "number", p.Type == "integer":
			args[name] = 1
		case p.Type == "boolean":
			args[name] = true
		case p.Type == "array" && name == "paths":
			args[name] = []string{filepath.Join(dir, "a.txt")}
		case p.Type == "array":
			args[name] = []any{}
		default:
			args[name] = map[string]any{}
		}
	}
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
