package layers

import (
	"fmt"
	"slices"
	"strings"
)

// source is one Go file as the rules see it.
type source struct {
	path    string // from the root of the repository, with slashes
	imports []string
}

// leaves are small packages that import nothing of Kerf and that all rooms but protocol and sdk may import.
var leaves = []string{"atomicfile", "pathname", "text/order", "text/pattern", "text/spelling", "text/visible"}

// arrows says which rooms a room may import, itself and the leaves apart. A room not named here
// must not exist.
var arrows = map[string][]string{
	"atomicfile": {},
	"pathname":   {},
	"protocol":   {},
	"text":       {},
	"model":      {"text"},
	"config":     {},
	"work":       {"text"},
	"agent":      {"protocol", "text", "model", "work"},
	"sessions":   {"protocol", "text", "model", "agent/goal", "agent/history", "agent/outline", "agent/rollout", "agent/proposal", "agent/tools", "work"},
	"engine":     {"protocol", "text", "work", "agent"},
	"front":      {"protocol", "text/diff"},
	"auth":       {},
	"doctor":     {"protocol", "work"},
	"host":       {"auth", "doctor", "config", "protocol", "model", "work", "agent", "engine", "sessions", "text"},
	"cmd/kerf": {"host", "sessions", "config", "protocol", "front", "agent/policy", "work/apply", "work/changes", "work/workspace",
		"work/tries", "work/worktrees", "work/repo/commit", "text/diff", "doc"},
	"doc":    {},
	"sdk":    {},
	"layers": {},
	"trust":  {},
}

// pure are the packages that must not touch the machine.
var pure = []string{"protocol", "text", "agent/tool", "agent/tools", "agent/history", "agent/policy",
	"agent/goal", "agent/hooks", "agent/prompt", "agent/proposal", "agent/view", "agent/turn", "agent/review",
	"front/tui/approval", "front/tui/changes", "front/tui/composer", "front/tui/conversation", "front/tui/diffview",
	"front/tui/humanize", "front/tui/keymap", "front/tui/markdown", "front/tui/panels", "front/tui/status",
	"front/tui/style", "front/tui/syntax"}

// machine are the imports that touch it.
var machine = []string{"os", "net", "syscall", "os/exec", "golang.org/x/sys", "golang.org/x/term",
	"github.com/creack/pty", "github.com/gofrs/flock",
	"github.com/charlievieth/fastwalk", "mvdan.cc/sh/v3/interp", "plugin", "runtime/debug", "log", "log/slog", "io/ioutil"}

const (
	module  = "kerf/"
	testkit = "testkit"
)

// check returns what breaks the rules, a sentence each.
func check(files []source) []string {
	var faults []string
	for _, f := range files {
		test := strings.HasSuffix(f.path, "_test.go")
		pkg := packageOf(f.path)
		room := roomOf(pkg)
		if room == "" {
			faults = append(faults, fmt.Sprintf("%s: the room %s is not in the plan", f.path, pkg))
			continue
		}
		for _, imp := range f.imports {
			if fault := judge(pkg, room, imp, test); fault != "" {
				faults = append(faults, fmt.Sprintf("%s: imports %s: %s", f.path, imp, fault))
			}
		}
	}
	return faults
}

// judge says what is wrong with an import, or nothing.
func judge(pkg, room, imp string, test bool) string {
	if !strings.HasPrefix(imp, module) {
		switch {
		case test || room == testkit:
			return ""
		case isPure(pkg) && within(imp, machine) && imp != "net/url": // which only parses
			return pkg + " is pure"
		case (room == "protocol" || room == "sdk") && strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
			return room + " uses the standard library only"
		}
		return ""
	}
	to := strings.TrimPrefix(strings.TrimPrefix(imp, module), "internal/")
	target := roomOf(to)
	switch {
	case room == testkit:
		return ""
	case target == testkit:
		if test {
			return ""
		}
		return "the test kit is for tests"
	case target == "":
		return "the room is not in the plan"
	case target == "layers":
		return "nothing imports the rules"
	case target == "work" && room == "agent" && !inside(pkg, "agent/executor"):
		return "inside agent only executor imports work"
	case target == room:
		if isPure(pkg) && !isPure(to) {
			return pkg + " is pure, " + to + " is not"
		}
		return ""
	case within(to, leaves) && room != "protocol" && room != "sdk" && !within(pkg, leaves):
		if isPure(pkg) && to == "atomicfile" {
			return pkg + " is pure, " + to + " is not"
		}
		return ""
	case !within(to, arrows[room]):
		return room + " does not point there"
	}
	return ""
}

// packageOf names the package of a file as the plan does.
func packageOf(path string) string {
	dir := ""
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir = path[:i]
	}
	if inner, ok := strings.CutPrefix(dir, "internal/"); ok {
		return inner
	}
	if strings.HasPrefix(dir, "cmd/") || dir == "sdk" || dir == "doc" {
		return dir
	}
	return "./" + dir // no room at all
}

// roomOf returns the room a package lies in, or nothing.
func roomOf(pkg string) string {
	first, rest, _ := strings.Cut(pkg, "/")
	if first == "cmd" {
		command, _, _ := strings.Cut(rest, "/")
		first += "/" + command
	}
	if _, planned := arrows[first]; planned || first == testkit {
		return first
	}
	return ""
}

func isPure(pkg string) bool { return within(pkg, pure) }

// within reports whether a package is one of the given or lies in one.
func within(pkg string, all []string) bool {
	return slices.ContainsFunc(all, func(p string) bool { return inside(pkg, p) })
}

func inside(pkg, parent string) bool { return pkg == parent || strings.HasPrefix(pkg, parent+"/") }
