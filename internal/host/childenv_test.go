package host

import (
	"slices"
	"testing"

	"kerf/internal/config"
	"kerf/internal/text/redact"
)

// TestASecretThatIsLearntLeavesTheEnvironment: the environment of commands is kept, and made
// anew when Kerf gets to know a secret, such as a key that somebody signs in with.
func TestASecretThatIsLearntLeavesTheEnvironment(t *testing.T) {
	const value = "a-word-that-looks-like-any-other"
	c := configured{Config: &config.Config{}, env: []string{"PLAIN=x", "WORD=" + value}, secrets: &redact.Secrets{}}
	env := c.childEnv("s")
	for _, tty := range []bool{false, true} {
		list := env(tty)
		if !slices.Contains(list, "PLAIN=x") || !slices.Contains(list, "WORD="+value) {
			t.Fatalf("terminal %v: %v", tty, list)
		}
		list[0] = "CHANGED=" // by the caller
		if slices.Contains(env(tty), "CHANGED=") {
			t.Error("a caller changes what others get")
		}
	}
	if with, without := env(true), env(false); slices.Equal(with, without) {
		t.Error("commands on a terminal get the environment of others")
	}
	c.secrets.Add(value)
	for _, tty := range []bool{false, true} {
		if list := env(tty); slices.Contains(list, "WORD="+value) || !slices.Contains(list, "PLAIN=x") {
			t.Errorf("terminal %v, afterwards: %v", tty, list)
		}
	}
}
