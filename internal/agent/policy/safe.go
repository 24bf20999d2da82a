package policy

import (
	"path"
	"slices"
	"strings"

	"kerf/internal/text/shell"
)

// KnownSafe reports whether line is a list of plain commands that are known to
// only read, and to read no known secret. The line is parsed as shell; whatever
// is not literal words joined by && || ; and | is not known to be safe.
func KnownSafe(line string) bool { return Parse(line).Safe() }

// Safe reports whether the line is plain and every command in it only reads.
func (p *Parsed) Safe() bool {
	if !p.Plain() {
		return false
	}
	for _, c := range p.Commands {
		if c.Started {
			continue // judged with the command that starts it
		}
		if !c.Safe() {
			return false
		}
	}
	return true
}

// Safe reports whether a command is literal and known to only read.
func (s Simple) Safe() bool {
	argv, ok := s.Argv()
	return ok && safeArgv(argv, 0)
}

// shape reports whether arguments keep a program from doing more than to read.
type shape func(args []string) bool

func safeArgv(argv []string, depth int) bool {
	name, args := argv[0], argv[1:]
	if slices.ContainsFunc(args, sensitive) {
		return false
	}
	if script, ok := shell.Script(argv); ok && depth == 0 {
		inner, plain := Plain(script)
		return plain && !slices.ContainsFunc(inner, func(a []string) bool { return !safeArgv(a, 1) })
	}
	if path.Base(name) != name {
		return false
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v" &&
		slices.Contains([]string{"node", "npm", "tsc", "php", "ruby"}, name)) && versioned(name) {
		return true
	}
	s := safeShape(name)
	return s != nil && s(args)
}

// versioned names programs that are often asked for their version only.
func versioned(name string) bool {
	return slices.Contains([]string{"node", "npm", "pnpm", "yarn", "python", "python3", "pip", "pip3", "cargo", "rustc",
		"ruby", "gem", "gcc", "g++",
		"clang", "cc", "make", "cmake", "ninja", "docker", "git", "tsc", "deno", "bun", "php", "perl", "java", "javac",
		"bash", "jq", "rg", "uv", "gh", "sqlite3", "psql", "ruff", "black", "mypy", "eslint", "prettier", "pytest", "curl",
		"tar", "gofmt", "kotlinc", "swift", "dotnet", "terraform", "kubectl"}, name)
}

// any admits all arguments.
func anyArgs([]string) bool { return true }

// without admits arguments that have none of the options, also abbreviated,
// joined with a value, or among other letters.
func without(options ...string) shape {
	return func(args []string) bool { return !hasOption(args, options) }
}

// only admits these arguments.
func only(allowed ...string) shape {
	return func(args []string) bool {
		return !slices.ContainsFunc(args, func(a string) bool { return !slices.Contains(allowed, a) })
	}
}

// safeShape tells how a program only reads, nil when it is not known to.
func safeShape(name string) shape {
	switch name {
	case "cat", "cd", "cut", "echo", "expr", "false", "grep", "egrep", "fgrep", "zgrep", "head", "id", "ls",
		"nl", "numfmt", "paste",
		"pwd", "rev", "seq", "sleep", "stat", "tac", "tail", "tr", "true", "uname", "wc", "which", "whoami", ":",
		"basename", "dirname", "realpath", "readlink", "df", "du", "free", "uptime", "nproc", "arch", "groups", "tty",
		"md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "md5", "cmp",
		"comm", "join",
		"fold", "fmt", "expand", "unexpand", "column", "hexdump", "od", "strings", "zcat", "type", "getconf", "locale",
		"factor", "tsort", "pr", "cal", "jq", "readelf", "size", "sw_vers", "vdir", "dir":
		return anyArgs
	case "base64", "base32", "iconv", "shuf":
		return without("-o", "--output")
	case "tree":
		return without("-o", "-R")
	case "find":
		return func(args []string) bool {
			return !hasWord(args, "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
		}
	case "fd", "fdfind":
		return without("-x", "-X", "--exec", "--exec-batch")
	case "rg":
		return without("--pre", "--hostname-bin", "--search-zip", "-z")
	case "sort":
		return without("-o", "--output", "-T", "--temporary-directory", "--compress-program")
	case "diff", "diff3":
		return without("-l", "--paginate", "--diff-program")
	case "nm", "objdump":
		return without("--plugin")
	case "file":
		return without("-C", "--compile", "-m", "--magic-file", "-z", "-Z")
	case "date":
		return safeDate
	case "hostname":
		return only("-f", "-s", "-i", "-I", "--fqdn", "--short")
	case "uniq":
		return func(args []string) bool { return len(args) <= 1 || operands(args, "-f", "-s", "-w") <= 1 }
	case "xxd":
		return func(args []string) bool {
			return !hasOption(args, []string{"-r", "--revert"}) && operands(args, "-c", "-g", "-l", "-s", "-o", "-n") <= 1
		}
	case "test", "[":
		return func(args []string) bool { return !hasWord(args, "-v", "-R") }
	case "printf":
		return func(args []string) bool { return len(args) > 0 && !strings.HasPrefix(args[0], "-") }
	case "command":
		return func(args []string) bool { return len(args) == 2 && (args[0] == "-v" || args[0] == "-V") }
	case "ps":
		return only("-e", "-f", "-ef", "aux", "-A", "-ax", "-u", "-l", "ax")
	case "sed":
		return safeSed
	case "awk", "gawk", "mawk":
		return safeAwk
	case "tar":
		return func(args []string) bool {
			return len(args) == 2 && slices.Contains([]string{"tf", "-tf", "tvf", "-tvf", "tzf", "-tzf", "tjf", "-tjf", "tzvf",
				"-tzvf"}, args[0]) && !strings.Contains(args[1], ":")
		}
	case "unzip":
		return func(args []string) bool { return len(args) == 2 && args[0] == "-l" && !strings.HasPrefix(args[1], "-") }
	}
	return safeTool(name)
}

// safeTool knows the tools of programmers.
func safeTool(name string) shape {
	switch name {
	case "git":
		return safeGit
	case "go":
		return func(args []string) bool {
			return len(args) == 1 && (args[0] == "version" || args[0] == "env") ||
				len(args) > 1 && args[0] == "env" && !slices.ContainsFunc(args[1:],
					func(a string) bool { return strings.HasPrefix(a, "-") && a != "-json" }) ||
				len(args) > 1 && args[0] == "doc" && !hasWord(args, "-http")
		}
	case "gofmt":
		return func(args []string) bool {
			return !slices.ContainsFunc(args, func(a string) bool {
				return strings.HasPrefix(a, "-") && !slices.Contains([]string{"-l", "-d", "-s", "-e"}, a)
			})
		}
	case "pip", "pip3":
		return func(args []string) bool {
			return len(args) > 0 && slices.Contains([]string{"list", "show", "freeze"}, args[0]) &&
				!hasOption(args, []string{"--log", "--path", "--python"})
		}
	case "npm":
		return func(args []string) bool {
			return len(args) > 0 && (args[0] == "ls" || args[0] == "list") &&
				operandsOnly(args[1:], "-g", "--all", "--json", "--depth=0", "--depth=1", "-a")
		}
	}
	return nil
}

// operandsOnly admits operands and these options.
func operandsOnly(args []string, options ...string) bool {
	return !slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-") &&
			!slices.Contains(options, a)
	})
}

// operands counts the arguments that are no options; valued options take the
// next argument.
func operands(args []string, valued ...string) int {
	n := 0
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains(valued, a):
			i++
		case !strings.HasPrefix(a, "-") || a == "-":
			n++
		}
	}
	return n
}

// hasWord reports whether args has one of the words as it is, or with a value.
func hasWord(args []string, words ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(words, name)
	})
}

// hasOption reports whether args may have one of the options: as it is, with a
// value, abbreviated, or as one letter among others. In doubt it says yes.
func hasOption(args, options []string) bool {
	for _, a := range args {
		if len(a) < 2 || a[0] != '-' {
			continue
		}
		name, _, _ := strings.Cut(a, "=")
		for _, o := range options {
			long := strings.HasPrefix(o, "--")
			switch {
			case long && strings.HasPrefix(a, "--") && len(name) > 2 && strings.HasPrefix(o, name):
				return true
			case !long && len(o) == 2 && !strings.HasPrefix(a, "--") && strings.Contains(name[1:], o[1:]):
				return true
			case a == o:
				return true
			}
		}
	}
	return false
}

func safeDate(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "+"), a == "-u", a == "--utc", a == "-R", strings.HasPrefix(a, "-I"),
			strings.HasPrefix(a, "--iso-8601"),
			strings.HasPrefix(a, "--rfc-3339="), strings.HasPrefix(a, "--date="):
		case a == "-d" || a == "-r":
			i++
		default:
			return false
		}
	}
	return true
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

// sensitive reports whether an argument names a place where secrets are kept, or
// devices and files of processes that tell or do more than to be read.
func sensitive(arg string) bool {
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
