package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"kerf/internal/config/schema"
)

func TestShowMasksSecrets(t *testing.T) {
	w := newWorld(t)
	file := w.write("config.toml", `model = "m"
[model_providers.p]
base_url = "https://me:hunter2@host/v1?api_key=hunter2&v=1"
experimental_bearer_token = "hunter2"
http_headers = { X-Team = "hunter2" }
query_params = { api-key = "hunter2", api-version = "1" }
[mcp_servers.s]
command = "x"
args = ["--token", "hunter2", "sk-abcdefghijklmnopqrstuvwx", "plain"]
env = { A = "hunter2" }
[shell_environment_policy.set]
MY_TOKEN = "hunter2"
LANG = "C"
[otel]
headers = { authorization = "hunter2" }
`)
	var b strings.Builder
	if err := w.must(nil).Show(&b, true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hunter2") || strings.Contains(b.String(), "sk-abc") {
		t.Errorf("a secret is shown:\n%s", b.String())
	}
	for _, line := range []string{
		`model = "m"  # ` + file + ":1\n",
		`model_providers.p.query_params.api-version = "1"`,
		`mcp_servers.s.args = ["--token", "********", "********", "plain"]`,
		`shell_environment_policy.set.LANG = "C"`,
		`approval_policy = "on-request"  # default`,
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %s in\n%s", line, b.String())
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "doc", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for _, key := range schema.Keys(reflect.TypeFor[Config]()) {
		name := strings.ReplaceAll(key, "*", "NAME")
		if !strings.Contains(doc, "| `"+name+"` |") {
			t.Errorf("doc/config.md has no row for %s", name)
		}
	}
}
