package redact

import "bytes"

// kind is how keys of one kind look: a prefix, then at least least bytes of
// class. Kinds are matched by hand, in one pass: a regular expression of all
// of them costs more than writing the line.
type kind struct {
	prefix string
	least  int
	class  func(byte) bool
	// begins is set when the prefix occurs within ordinary words, so that the
	// key must be at the beginning of one.
	begins bool
}

// kinds is the table of known shapes.
var kinds = [...]kind{
	{"sk-", 16, token, true},          // OpenAI, Anthropic, OpenRouter …
	{"sk_live_", 16, token, false},    // Stripe
	{"sk_test_", 16, token, false},    //
	{"rk_live_", 16, token, false},    //
	{"ghp_", 20, token, false},        // GitHub
	{"gho_", 20, token, false},        //
	{"ghu_", 20, token, false},        //
	{"ghs_", 20, token, false},        //
	{"ghr_", 20, token, false},        //
	{"github_pat_", 20, token, false}, //
	{"glpat-", 20, token, false},      // GitLab
	{"AKIA", 16, upper, false},        // Amazon
	{"ASIA", 16, upper, false},        //
	{"AIza", 30, token, false},        // Google
	{"xoxb-", 10, token, false},       // Slack
	{"xoxa-", 10, token, false},       //
	{"xoxp-", 10, token, false},       //
	{"xoxr-", 10, token, false},       //
	{"xoxs-", 10, token, false},       //
	{"npm_", 30, token, true},         // npm
	{"hf_", 30, token, true},          // Hugging Face
	{"-----BEGIN ", 1, nil, false},    // see pem
	{"eyJ", 1, nil, true},             // see jwt
	{"Bearer ", 1, nil, true},         // see bearer
	{"bearer ", 1, nil, true},         //
	{"BEARER ", 1, nil, true},         //
	{"://", 1, nil, false},            // see password
}

// shape looks for a key at b[i]. Of a key the first skip bytes are harmless and
// the next n are to be hidden; n is 0 when there is none.
func shape(b []byte, i int) (skip, n int) {
	if i+1 >= len(b) || !follows(b[i], b[i+1]) {
		return 0, 0
	}
	rest := b[i:]
	for k := range kinds {
		s := &kinds[k]
		if len(rest) < len(s.prefix)+s.least || rest[0] != s.prefix[0] || string(rest[:len(s.prefix)]) != s.prefix {
			continue
		}
		if s.begins && !wordStart(b, i) {
			continue
		}
		switch s.prefix[0] {
		case '-':
			return 0, pem(rest)
		case 'e':
			return 0, jwt(rest)
		case 'B', 'b':
			return len(s.prefix), bearer(rest[len(s.prefix):])
		case ':':
			return password(rest)
		}
		key := rest[len(s.prefix):]
		if all(key[:s.least], s.class) {
			return 0, len(s.prefix) + run(key, s.class)
		}
	}
	return 0, 0
}

// leads has the first bytes of the prefixes; most bytes are spared the rest.
var leads = [256]bool{
	's': true, 'r': true, 'g': true, 'x': true, 'n': true, 'h': true, 'A': true,
	'B': true, 'b': true, 'e': true, '-': true, ':': true,
}

// follows reports whether d is the second byte of a prefix that begins with c.
func follows(c, d byte) bool {
	switch c {
	case 's', 'r':
		return d == 'k'
	case 'g':
		return d == 'h' || d == 'i' || d == 'l'
	case 'A':
		return d == 'K' || d == 'S' || d == 'I'
	case 'B':
		return d == 'e' || d == 'E'
	case 'x':
		return d == 'o'
	case 'n':
		return d == 'p'
	case 'h':
		return d == 'f'
	case 'b':
		return d == 'e'
	case 'e':
		return d == 'y'
	case '-':
		return d == '-'
	case ':':
		return d == '/'
	}
	return false
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
func upper(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
func digit(c byte) bool { return c >= '0' && c <= '9' }
func token(c byte) bool { return alnum(c) || c == '_' || c == '-' }

func credential(c byte) bool {
	return token(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '='
}

func all(b []byte, class func(byte) bool) bool { return run(b, class) == len(b) }

// run returns how many bytes at the beginning of b are of class.
func run(b []byte, class func(byte) bool) int {
	for i, c := range b {
		if !class(c) {
			return i
		}
	}
	return len(b)
}

// wordStart reports whether a word may begin at b[i]: the byte before is not of
// a word, or ends an escape of JSON (\n, \u003c) or of a terminal (ESC [ 1 m).
// Between two word starts there is always a byte that is no token's, so that
// searching a token from each start stays linear.
func wordStart(b []byte, i int) bool {
	if i == 0 || !alnum(b[i-1]) && b[i-1] != '_' && b[i-1] != '-' {
		return true
	}
	if i >= 2 && b[i-2] == '\\' {
		return bytes.IndexByte([]byte("nrtbfv"), b[i-1]) >= 0
	}
	if i >= 6 && b[i-6] == '\\' && b[i-5] == 'u' {
		return true
	}
	if b[i-1] == 'm' {
		j := i - 2
		for j >= 0 && i-j < 20 && (digit(b[j]) || b[j] == ';') {
			j--
		}
		return j >= 0 && b[j] == '['
	}
	return false
}

// jwt returns the length of the JSON web token at the beginning of b, or 0.
func jwt(b []byte) int {
	n := run(b, token)
	if n < 10 || n+1 >= len(b) || b[n] != '.' {
		return 0
	}
	m := run(b[n+1:], token)
	if m < 10 || n+1+m >= len(b) || b[n+1+m] != '.' {
		return 0
	}
	n += m + 2
	return n + run(b[n:], token)
}

// bearer returns the length of the credential that follows the word, or 0 when
// it is just the next word of a sentence.
func bearer(b []byte) int {
	const enough, sure = 8, 24
	n := run(b, credential)
	if n >= sure || n >= enough && bytes.IndexFunc(b[:n], func(r rune) bool { return r >= '0' && r <= '9' }) >= 0 {
		return n
	}
	return 0
}

// password finds the password of user:password@ behind "://", with which b
// begins. It reaches to the last at sign. Placeholders are none.
func password(b []byte) (skip, n int) {
	const longest, least = 256, 4
	b = b[:min(len(b), longest)]
	start, end := 0, 0
	for i := 3; i < len(b); i++ {
		c := b[i]
		if c <= ' ' || bytes.IndexByte([]byte("/\"'`\\"), c) >= 0 {
			break
		}
		if c == ':' && start == 0 {
			start = i + 1
		} else if c == '@' {
			end = i
		}
	}
	if start == 0 && end > 0 && tokenLike(b[3:end]) {
		return 3, end - 3
	}
	if start == 0 || end-start < least || bytes.IndexByte([]byte("$%{<*["), b[start]) >= 0 {
		return 0, 0
	}
	return start, end - start
}

// tokenLike reports whether the user of a URL without a password is a token in the
// place of one: long, with letters and digits, and nothing else.
func tokenLike(user []byte) bool {
	const least = 20
	digits, letters := 0, 0
	for _, c := range user {
		switch {
		case digit(c):
			digits++
		case alnum(c) || c == '_' || c == '-':
			letters++
		default:
			return false
		}
	}
	return len(user) >= least && digits > 1 && letters > 1
}

// pem returns the length of the private key at the beginning of b, or 0 when it
// is something else that begins so. A key without an end reaches as far as bytes
// look like those of a key, with line ends escaped or not and numbers before
// the lines.
func pem(b []byte) int {
	const longest, least = 64, 24
	title := b[:min(len(b), longest)]
	at := bytes.Index(title, []byte("PRIVATE KEY-----"))
	if at < 0 {
		return 0
	}
	n := at + len("PRIVATE KEY-----")
	body := n
	for n < len(b) {
		c := b[n]
		if c == '-' && bytes.HasPrefix(b[n:], []byte("-----END ")) {
			rest := b[n+9 : min(len(b), n+9+longest)]
			if end := bytes.Index(rest, []byte("-----")); end >= 0 {
				return n + 9 + end + 5
			}
		}
		if !alnum(c) && bytes.IndexByte([]byte("+/=\\ \t\r\n:,-|"), c) < 0 {
			break
		}
		n++
	}
	if n-body < least {
		return 0 // only the words are there
	}
	return n
}
