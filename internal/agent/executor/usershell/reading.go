package usershell

import (
	"os"
	"strconv"
	"strings"
)

// reading is the environment of commands that only read: programs that would keep notes
// of what they saw, start helpers, or fetch what they lack do not.
func reading(env []string) []string {
	set := [][2]string{{"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_NO_LAZY_FETCH", "1"}, {"GOTOOLCHAIN", "local"},
		{"PYTHONDONTWRITEBYTECODE", "1"}}
	n := 0
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(v)
		}
	}
	for _, s := range [][2]string{{"core.fsmonitor", "false"}, {"core.hooksPath", os.DevNull}} {
		i := strconv.Itoa(n)
		set = append(set, [2]string{"GIT_CONFIG_KEY_" + i, s[0]}, [2]string{"GIT_CONFIG_VALUE_" + i, s[1]})
		n++
	}
	set = append(set, [2]string{"GIT_CONFIG_COUNT", strconv.Itoa(n)})
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		kept := true
		for _, s := range set {
			kept = kept && s[0] != name
		}
		if kept {
			out = append(out, kv)
		}
	}
	for _, s := range set {
		out = append(out, s[0]+"="+s[1])
	}
	return out
}
