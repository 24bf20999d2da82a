package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"kerf/internal/text/pattern"
)

// secretWords are the words of which one in a name says that it is a secret's;
// secretParts do so within a longer word, too.
var (
	secretWords = []string{"KEY", "KEYS", "AUTH", "AUTHORIZATION", "DSN", "PAT", "JWT", "BEARER", "PASS", "CREDS", "MNEMONIC"}
	secretParts = []string{"SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE"}
)

// SecretName reports whether a variable of this name is taken for a secret: API_KEY,
// GH_PAT, MYSQL_PWD, DB_PASS, but not PATH, GIT_AUTHOR_NAME or PWD.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	if slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(name, p) }) {
		return true
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	for i, w := range words {
		if slices.Contains(secretWords, w) || strings.HasSuffix(w, "KEY") || strings.HasSuffix(w, "OAUTH") ||
			(w == "PWD" || w == "PW") && i > 0 || strings.HasSuffix(w, "PASS") && !slices.Contains(passes, w) {
			return true
		}
	}
	return false
}

// passes are words that end like PGPASS and SSHPASS and are about no password.
var passes = []string{"BYPASS", "COMPASS", "OVERPASS", "UNDERPASS", "SURPASS", "TRESPASS", "ENCOMPASS"}

// hides reports whether the value of a variable is taken out of text. Some
// variables hold paths that many outputs show.
func hides(name string) bool {
	switch name = strings.ToUpper(name); name {
	case "SSH_AUTH_SOCK", "XAUTHORITY", "GNOME_KEYRING_CONTROL":
		return false
	}
	return SecretName(name)
}

// telling is a kind of values that are secrets whatever their name is.
type telling struct {
	marks []string // in lower case: each such value holds one of them
	match func() *regexp.Regexp
}

// tellings are all of them. All in one expression would take half a millisecond to compile, at
// each start of a session. Few values have a mark.
var tellings = sync.OnceValue(func() (all []telling) {
	for _, one := range [][2]string{
		{"sk-", `sk-[A-Za-z0-9_-]{16,}`},                           // OpenAI, Anthropic and their like
		{"ghp_ gho_ ghu_ ghs_ ghr_", `gh[pousr]_[A-Za-z0-9]{20,}`}, // GitHub
		{"github_pat_", `github_pat_[A-Za-z0-9_]{20,}`},            //
		{"glpat-", `glpat-[A-Za-z0-9_-]{16,}`},                     // GitLab
		{"xox", `xox[abeoprs]-[A-Za-z0-9-]{10,}`},                  // Slack
		{"akia asia", `(AKIA|ASIA)[0-9A-Z]{16}`},                   // AWS
		{"aiza", `AIza[0-9A-Za-z_-]{30,}`},                         // Google
		{"ya29.", `ya29\.[0-9A-Za-z_-]{20,}`},                      //
		{"npm pypi hf dop_v1 shpat", //
			`(npm|pypi|hf|dop_v1|shpat)[_-][A-Za-z0-9]{20,}`}, //
		{"k_live_ k_test_", `[rs]k_(live|test)_[A-Za-z0-9]{16,}`}, // Stripe
		{"sg.", `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},     // SendGrid
		{"eyj", `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.`},   // JWT
		{"-----begin ", `-----BEGIN [A-Z ]*PRIVATE KEY`},          //
		{"age-secret-key-1", `AGE-SECRET-KEY-1[A-Z0-9]{20,}`},     //
		{"hvs. hvb. hvr.", `hv[sbr]\.[A-Za-z0-9_-]{20,}`},         // Vault
		{"ops_", `ops_[A-Za-z0-9+/=_-]{40,}`},                     // 1Password
		{"0: 1: 2: 3: 4: 5: 6: 7: 8: 9:", //
			`[0-9]{8,10}:[A-Za-z0-9_-]{34,36}($|[^A-Za-z0-9_-])`}, // Telegram
		// Further ones of gitleaks' rules (gitleaks/gitleaks:config/gitleaks.toml, MIT).
		{"glsa figd gsk r8 rubygems sntrys sntryu lin_api sbp shpss shppa shpca pul xai nvapi pplx tvly pmak nrak cfpat",
			`(glsa|figd|gsk|r8|rubygems|sntrys|sntryu|lin_api|sbp|shpss|shppa|shpca|pul|xai|nvapi|pplx|tvly|PMAK|NRAK|CFPAT)` +
				`[_-][A-Za-z0-9_-]{16,}`},
		{"dp.pt. atatt3 atbb dapi", `(dp\.pt\.|ATATT3|ATBB|dapi[0-9a-f])[A-Za-z0-9_=-]{20,}`},
		// What lets one in by itself: a header, an address, a line of .netrc, a setting.
		{"authorization:", `(?i:authorization): *[A-Za-z]+ +[A-Za-z0-9._~+/=-]{6,}`},
		{"hooks.slack.com/", `hooks\.slack\.com/(services|workflows)/[A-Z0-9]`},
		{"discord", `discord(app)?\.com/api/webhooks/[0-9]`},
		{"machine", `machine\s+\S+\s+(login\s+\S+\s+)?password\s+\S`},
		{"accountkey= sharedaccesskey= sharedaccesssignature= ſ", // which is an s to an expression
			`(?i:accountkey|sharedaccesskey|sharedaccesssignature)=[^;\s]{8,}`},
		{"sig=", `sig=[A-Za-z0-9%+/]{16,}`},
		{"://", `[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@\S+`}, // password in a URL
		{"password= passwd= pwd= secret= token= api_key= apikey= ſ",
			`(?i:password|passwd|pwd|secret|token|api_?key)=[^&;\s]+`}, // or among its parameters, or in a list of settings
	} {
		all = append(all, telling{strings.Fields(one[0]), pattern.Lazy(`(^|[^A-Za-z0-9])(` + one[1] + `)`)})
	}
	return all
})

// SecretValue reports whether a value has the shape of a known kind of secret.
func SecretValue(value string) bool {
	low := strings.ToLower(value)
	return slices.ContainsFunc(tellings(), func(s telling) bool {
		return slices.ContainsFunc(s.marks, func(mark string) bool { return strings.Contains(low, mark) }) &&
			s.match().MatchString(value)
	})
}
