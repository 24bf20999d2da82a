// Package reads knows how programs are used when they only read.
//
// It is a list of what is allowed: programs, and for each the options that neither write,
// nor run a program, nor open a socket. An option that is not listed is not known.
package reads

import (
	"path"
	"slices"
	"strings"
)

// Only reports whether a command, given as its literal words, is known to only read, and
// to read no known secret. A name with a directory is not known.
func Only(argv []string) bool {
	if len(argv) == 0 || path.Base(argv[0]) != argv[0] || slices.ContainsFunc(argv[1:], Secret) {
		return false
	}
	name, args := argv[0], argv[1:]
	if versioned(name, args) {
		return true
	}
	if f, ok := formOf(forms, name); ok {
		return f.admits(args)
	}
	if check, ok := checks[name]; ok {
		return check(args)
	}
	return false
}

// Listed reports whether a program is on the list at all.
func Listed(name string) bool {
	_, form := formOf(forms, name)
	_, check := checks[name]
	return form || check
}

// Builtin reports whether the shell itself does what a program of this name does, so
// that no file is started.
func Builtin(name string) bool {
	switch name {
	case "cd", "echo", "true", "false", "pwd", "test", "[", "printf", "type", "command", ":":
		return true
	}
	return false
}

// versioned reports whether a program is only asked for its version. Programs that take
// another version of themselves, settings or code from the directory are not among them:
// cargo and rustc (rust-toolchain.toml), yarn (.yarnrc.yml), pytest (conftest.py), dotnet
// (global.json) and their like.
func versioned(name string, args []string) bool {
	if len(args) != 1 {
		return false
	}
	switch args[0] {
	case "--version":
		return slices.Contains([]string{"node", "python", "python3", "ruby", "gcc", "g++", "clang", "cc",
			"make", "cmake", "ninja", "docker", "git", "deno", "bun", "php", "perl", "bash", "jq", "rg", "uv", "ruff", "sqlite3",
			"psql", "curl", "tar"}, name)
	case "-v":
		return slices.Contains([]string{"node", "php", "ruby"}, name)
	}
	return false
}

// form is a grammar of options. Letters may be joined with each other and with a value.
type form struct {
	free     bool   // no option of the program writes, runs or connects
	flags    string // letters without a value
	valued   string // letters with one, joined or in the next word
	optional string // letters whose value, if any, is joined
	long     string // names; a = after one says that it takes a value, a ? that it may
	digits   bool   // -20 and its like
	operands int    // how many there may be; 0 is any, -1 none
	ordered  bool   // options come first; what follows an operand may be taken for one
	bare     bool   // no operand may begin with @, which names a file of options
}

// admits reports whether arguments are within the grammar.
func (f form) admits(args []string) bool {
	if f.free {
		return true
	}
	operands, ended := 0, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		if ended || len(a) < 2 || a[0] != '-' {
			operands++
			if f.bare && strings.HasPrefix(a, "@") || f.operands != 0 && operands > max(f.operands, 0) {
				return false
			}
			continue
		}
		if f.ordered && operands > 0 {
			return false
		}
		if a == "--" {
			ended = true
			continue
		}
		// A value that looks like an option may be one for the program.
		used, ok := f.option(a, i+1 < len(args) && (len(args[i+1]) < 2 || args[i+1][0] != '-'))
		if !ok {
			return false
		}
		i += used
	}
	return true
}

// option reports whether a word of options is known, and how many words more it takes;
// next says that one can follow as its value.
func (f form) option(a string, next bool) (used int, ok bool) {
	if strings.HasPrefix(a, "--") {
		name, _, joined := strings.Cut(a[2:], "=")
		switch {
		case has(f.long, name+"="):
			if joined {
				return 0, true
			}
			return 1, next
		case has(f.long, name+"?"):
			return 0, true
		}
		return 0, !joined && has(f.long, name)
	}
	if f.digits && strings.Trim(a[1:], "0123456789") == "" {
		return 0, true
	}
	for j := 1; j < len(a); j++ {
		c := a[j : j+1]
		switch {
		case strings.Contains(f.flags, c):
		case strings.Contains(f.optional, c):
			return 0, true
		case strings.Contains(f.valued, c) && j+1 < len(a):
			return 0, true
		case strings.Contains(f.valued, c):
			return 1, next
		default:
			return 0, false
		}
	}
	return 0, true
}

func has(list, word string) bool {
	for list != "" {
		var first string
		first, list, _ = strings.Cut(list, " ")
		if first == word {
			return true
		}
	}
	return false
}

// words admits only these.
func words(allowed ...string) func([]string) bool {
	return func(args []string) bool {
		return !slices.ContainsFunc(args, func(a string) bool { return !slices.Contains(allowed, a) })
	}
}

// safeSed admits sed scripts that print, substitute and delete, and no option
// that writes: -n, -E, -r and -e only.
func safeSed(args []string) bool {
	scripts := 0
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains([]string{"-n", "-E", "-r", "-nE", "-En", "-nr", "-rn"}, a):
		case a == "-e" || a == "-ne":
			i++
			if i >= len(args) || !sedScript(args[i]) {
				return false
			}
			scripts++
		case strings.HasPrefix(a, "-"):
			return false
		case scripts == 0:
			if !sedScript(a) {
				return false
			}
			scripts++
		}
	}
	return scripts > 0
}

// sedScript matches N[,M]p, N[,M]d, /re/p, /re/d, $p, =, and s/re/text/[gpI0-9].
func sedScript(s string) bool {
	if strings.ContainsRune(s, '\n') {
		return false
	}
	for range 2 { // at most two addresses
		rest, ok := sedAddress(s)
		if !ok {
			break
		}
		s = strings.TrimPrefix(rest, ",")
		if s == rest {
			break
		}
	}
	switch s = strings.TrimPrefix(s, "!"); s {
	case "p", "d", "=", "l":
		return true
	}
	if len(s) < 2 || s[0] != 's' || strings.IndexByte("/|,#@", s[1]) < 0 {
		return false
	}
	rest, ok := sedUpTo(s[2:], s[1])
	if ok {
		rest, ok = sedUpTo(rest, s[1])
	}
	return ok && strings.Trim(rest, "gpI0123456789") == ""
}

// sedUpTo skips text up to and with an unescaped delimiter.
func sedUpTo(s string, delimiter byte) (string, bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[': // a delimiter within brackets is no end for some, and one for others
			return "", false
		case delimiter:
			return s[i+1:], true
		}
	}
	return "", false
}

func sedAddress(s string) (string, bool) {
	switch {
	case strings.HasPrefix(s, "$"):
		return s[1:], true
	case strings.HasPrefix(s, "/"):
		return sedUpTo(s[1:], '/')
	}
	rest := strings.TrimLeft(s, "0123456789")
	return rest, rest != s
}

// safeAwk admits awk programs that neither write, nor run, nor read anything but
// their input.
func safeAwk(args []string) bool {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		switch a := args[i]; {
		case a == "-F" || a == "-v":
			i++
		case strings.HasPrefix(a, "-F"):
		default:
			return false
		}
	}
	if i >= len(args) {
		return false
	}
	program := args[i]
	for _, word := range []string{"system", "getline", "|", ">", "@", "ENVIRON", "close", "fflush", "\\"} {
		if strings.Contains(program, word) {
			return false
		}
	}
	return true
}

// Secret reports whether an argument names a place where secrets are kept, or
// devices and files of processes that tell or do more than to be read.
func Secret(arg string) bool {
	a := strings.ToLower(arg)
	if i := strings.IndexByte(a, '='); i >= 0 && strings.HasPrefix(a, "-") {
		a = a[i+1:]
	}
	if strings.HasPrefix(a, "/proc/") && !strings.HasPrefix(a, "/proc/cpuinfo") &&
		!strings.HasPrefix(a, "/proc/meminfo") && !strings.HasPrefix(a, "/proc/version") ||
		strings.HasPrefix(a, "/dev/") && a != "/dev/null" && a != "/dev/stdin" {
		return true
	}
	parts := strings.FieldsFunc(a, func(r rune) bool { return r == '/' || r == '\\' || r == ':' })
	for i, part := range parts {
		if secretPlace(part) || len(parts) > 1 && secretWord(part) || i > 0 && parts[i-1] == "gh" && part == "hosts.yml" {
			return true
		}
	}
	return false
}

// secretPlace knows the names under which programs keep secrets.
func secretPlace(name string) bool {
	switch name {
	case ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".npmrc",
		".pypirc", ".docker", ".kerf", ".codex",
		".env", ".env.local", ".env.production", ".envrc", "auth.json", "credentials.json", ".bash_history", ".zsh_history",
		"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".password-store", "login.keychain-db", "cookies.sqlite",
		".mozilla", ".terraform.d", ".vault-token", "secrets.yml", "secrets.yaml", "secrets.json", "master.key",
		".htpasswd", ".my.cnf":
		return true
	}
	return strings.HasSuffix(name, ".pem") || strings.HasSuffix(name, ".p12") || strings.HasSuffix(name, ".pfx") ||
		strings.HasSuffix(name, ".kdbx") ||
		strings.HasPrefix(name, ".env.") && name != ".env.example" && name != ".env.sample" && name != ".env.template" ||
		strings.HasPrefix(name, "id_rsa") && !strings.HasSuffix(name, ".pub")
}

// secretWord knows names that mean a secret only within a path.
func secretWord(name string) bool {
	switch name {
	case "shadow", "gshadow", "sudoers", "credentials", "keychains", "keyrings", "cookies", "login data",
		"gcloud", "environ":
		return true
	}
	return false
}
