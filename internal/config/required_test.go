package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatIsRequiredCannotBeWidened: values that are enforced stand whatever every other layer
// says, and modes that are not allowed are refused with the place that says so.
func TestWhatIsRequiredCannotBeWidened(t *testing.T) {
	w := newWorld(t)
	required := w.write("requirements.toml", `
allowed_sandbox_modes = ["workspace-write", "read-only"]
allowed_approval_policies = ["untrusted"]
[enforced]
model = "house-model"
shell_environment_policy.inherit = "core"
tools.web_fetch = true
[enforced.web_fetch.domains]
"docs.example.org" = "allow"
`)
	w.write("config.toml", "model = \"mine\"\nshell_environment_policy.inherit = \"all\"\nshell_environment_policy.set.A = \"1\"\n"+
		"[web_fetch.domains]\n\"*\" = \"allow\"\n")
	c, warnings, err := w.load(func(o *Options) {
		o.Overrides = []string{`tools.web_fetch=false`, `web_fetch.domains={"10.0.0.0/8"="allow"}`, `model="other"`}
		o.Flags = map[string]any{"model": "flag"}
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != "house-model" || c.ShellEnvironment.Inherit != "core" || !c.Tools.WebFetch || len(c.WebFetch.Domains) != 1 ||
		c.WebFetch.Domains["docs.example.org"] != "allow" {
		t.Errorf("%q %q %t %v", c.Model, c.ShellEnvironment.Inherit, c.Tools.WebFetch, c.WebFetch.Domains)
	}
	if c.ShellEnvironment.Set["A"] != "1" {
		t.Error("what is not enforced is gone")
	}
	if got := c.Origin("model"); got != required+":5" {
		t.Errorf("the origin is %s", got)
	}
	var told []string
	for _, x := range warnings {
		told = append(told, x.String())
	}
	for _, want := range []string{"model has no effect: " + required + ":5 enforces another value", "shell_environment_policy.inherit has no effect",
		"tools.web_fetch has no effect"} {
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("no warning says %q: %q", want, told)
		}
	}
	if sandbox, approval := c.Modes("", ""); sandbox != "read-only" || approval != "untrusted" {
		t.Errorf("nobody chose: %s, %s", sandbox, approval)
	}
	if got := c.InTry(); got != "workspace-write" {
		t.Errorf("nobody chose, in a try: %s", got)
	}
	for _, x := range [][2]string{{"danger-full-access", "untrusted"}, {"read-only", "never"}, {"workspace-write", "on-request"}} {
		if why := c.Required.Refuse(c.Modes(x[0], x[1])); !strings.Contains(why, "is not allowed on this machine: "+required) {
			t.Errorf("%v: %q", x, why)
		}
	}
	if why := c.Required.Refuse("workspace-write", "untrusted"); why != "" {
		t.Error(why)
	}
}

// TestFaultsOfRequirements stop Kerf: what is required is not guessed.
func TestFaultsOfRequirements(t *testing.T) {
	for text, want := range map[string]string{
		"allowed_sandbox_modes = []":           "expected at least one",
		"allowed_sandbox_modes = [\"none\"]":   "none",
		"allowed_sandbox_mode = [\"x\"]":       "allowed_sandbox_mode",
		"enforced = 1":                         "expected a table",
		"[enforced]\nmodle = \"x\"":            "modle",
		"[enforced]\nsandbox_mode = \"loose\"": "loose",
		"[enforced\n":                          "requirements.toml:1",
	} {
		w := newWorld(t)
		w.write("requirements.toml", text)
		if _, _, err := w.load(nil); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), filepath.Join(w.home, "requirements.toml")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
