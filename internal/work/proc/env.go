package proc

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"kerf/internal/text/order"
	"kerf/internal/text/redact"
	"kerf/internal/text/visible"
)

// EnvPolicy says which variables a command gets.
type EnvPolicy struct {
	// Inherit is where to start: "all" (the default), "core" (an allow list) or
	// "none".
	Inherit string
	// Secret reports whether a value is a secret that Kerf knows; may be nil.
	Secret func(value string) bool
	// IgnoreDefaultExcludes keeps variables that look like secrets.
	IgnoreDefaultExcludes bool
	// Exclude and IncludeOnly are patterns of names (*, ?, [..]), in any letter
	// case. IncludeOnly, when not empty, has the last word over all but the
	// variables Kerf sets itself.
	Exclude, IncludeOnly []string
	// Set adds variables, or replaces them. They also stand against what Kerf
	// would set.
	Set map[string]string
	// TTY is set for commands on a terminal, Session names the session.
	TTY     bool
	Session string
}

// core names what programs need to work and toolchains to find themselves.
var core = []string{
	"PATH", "HOME", "SHELL", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "USER", "TMPDIR", "TERM", "TZ", "COLUMNS", "LINES",
	"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GOSUMDB",
	"GOTOOLCHAIN", "GOROOT", "GOBIN", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "NVM_DIR", "NVM_BIN", "NODE_PATH", "NODE_EXTRA_CA_CERTS",
	"NPM_CONFIG_*", "PNPM_HOME",
	"PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "JAVA_HOME", "DOTNET_ROOT",
	"RBENV_ROOT", "GEM_HOME", "GEM_PATH",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME",
	// Windows
	"PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
	"PROGRAMFILES*",
	"USERPROFILE", "USERNAME", "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_*", "OS",
}

// Environment makes the environment of a command from that of Kerf: inherit,
// drop what looks secret, exclude, set, include only, and then what makes
// programs write for a reader that is no terminal. The result is sorted, names
// are unique.
func Environment(parent []string, p EnvPolicy) []string {
	env := make(map[string]string)
	if p.Inherit != "none" {
		for _, kv := range parent {
			name, value, ok := strings.Cut(kv, "=")
			if !ok || name == "" || p.Inherit == "core" && !named(core, name) {
				continue
			}
			if keep, clean := p.admit(name, value); keep {
				env[name] = clean
			}
		}
	}
	for name := range env {
		if named(p.Exclude, name) {
			delete(env, name)
		}
	}
	for name, value := range p.Set {
		if name != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			env[name] = value
		}
	}
	if len(p.IncludeOnly) > 0 {
		for name := range env {
			if !named(p.IncludeOnly, name) {
				delete(env, name)
			}
		}
	}
	p.force(env)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// admit decides on one inherited variable. Proxies keep their address and lose
// their password.
func (p EnvPolicy) admit(name, value string) (keep bool, clean string) {
	if strings.HasSuffix(strings.ToUpper(name), "_PROXY") || strings.EqualFold(name, "GOPROXY") {
		value = withoutUser(value)
	}
	return p.IgnoreDefaultExcludes || p.secret(name, value) == "", value
}

// secret is why a variable is not for commands, or empty.
func (p EnvPolicy) secret(name, value string) string {
	switch {
	case agent(name):
		return "it leads to a program that acts for you"
	case redact.SecretName(name):
		return "its name says that it is a secret"
	case redact.SecretValue(value):
		return "its value looks like a secret"
	case p.Secret != nil && p.Secret(value):
		return "Kerf knows its value as a secret"
	}
	return ""
}

// agent reports whether a variable names the socket of a program that acts for the user.
func agent(name string) bool {
	switch strings.ToUpper(name) {
	case "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "DBUS_SESSION_BUS_ADDRESS",
		"XAUTHORITY":
		return true
	}
	return false
}

// Left is a variable that commands do not get though the policy says that they inherit.
type Left struct{ Name, Why string }

// LeftOut are the variables of parent that commands do not get, by name: those that look
// like secrets, and sockets of agents. What the policy excludes by name the user knows.
func LeftOut(parent []string, p EnvPolicy) []Left {
	var list []Left
	for _, kv := range parent {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || p.Inherit == "none" || p.Inherit == "core" && !named(core, name) ||
			named(p.Exclude, name) || len(p.IncludeOnly) > 0 && !named(p.IncludeOnly, name) {
			continue
		}
		if _, set := p.Set[name]; set {
			continue
		}
		if keep, clean := p.admit(name, value); !keep {
			list = append(list, Left{name, p.secret(name, clean)})
		}
	}
	order.By(list, func(a, b Left) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b Left) bool { return a.Name == b.Name })
}

// TellLeftOut is one line about them, without their values; empty if there are none.
func TellLeftOut(list []Left) string {
	if len(list) == 0 {
		return ""
	}
	const shown = 8
	var names []string
	for _, l := range list[:min(len(list), shown)] {
		names = append(names, visible.Line(l.Name))
	}
	if more := len(list) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "commands do not get the variables " + strings.Join(names, ", ") + "; kerf explain env says why"
}

// withoutUser strips the user from each URL of a list; what cannot be read as a
// URL is dropped if it has an @.
func withoutUser(list string) string {
	if !strings.Contains(list, "@") {
		return list
	}
	var clean []string
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '|' }) {
		if strings.Contains(item, "@") {
			u, err := url.Parse(item)
			if err != nil || u.Host == "" {
				_, item, _ = strings.Cut(item, "@")
			} else {
				u.User = nil
				item = u.String()
			}
		}
		if !strings.Contains(item, "@") {
			clean = append(clean, item)
		}
	}
	return strings.Join(clean, ",")
}

func (p EnvPolicy) force(env map[string]string) {
	set := func(name, value string) {
		if _, chosen := p.Set[name]; !chosen {
			env[name] = value
		}
	}
	if p.TTY {
		set("TERM", "xterm-256color")
	} else {
		set("TERM", "dumb")
	}
	for _, name := range []string{"PAGER", "GIT_PAGER", "GH_PAGER"} {
		set(name, "cat")
	}
	set("NO_COLOR", "1")
	for _, name := range []string{"LANG", "LC_ALL"} {
		if env[name] == "" {
			set(name, "C.UTF-8")
		}
	}
	if p.Session != "" {
		set("KERF_SESSION_ID", p.Session)
	}
}

// named reports whether a pattern matches name. A pattern that cannot be read
// matches as the plain name it spells.
func named(patterns []string, name string) bool {
	name = strings.ToUpper(name)
	for _, p := range patterns {
		p = strings.ToUpper(p)
		if ok, err := path.Match(p, name); ok || err != nil && p == name {
			return true
		}
	}
	return false
}
