package cloud

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" // names files of the cloud's own program
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// AWSKeys sign requests.
type AWSKeys struct {
	ID, Secret, Session string
	Expires             time.Time // zero means never
}

// AWS gets keys of AWS and keeps them while they are fresh. It may be used by several
// goroutines.
type AWS struct {
	w World

	mu   sync.Mutex
	kept AWSKeys       // guarded by mu
	off  time.Duration // by how much the server's clock is ahead of ours; guarded by mu
}

// AWS looks for keys where the programs of AWS do: in the environment (AWS_ACCESS_KEY_ID, or
// AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN); in the profile AWS_PROFILE of the files
// below ~/.aws, which names keys, a role, a sign-in of `aws sso login`, or a program; at the
// container; at the machine.
func (w World) AWS() *AWS { return &AWS{w: w} }

// Keys returns keys that are fresh.
func (a *AWS) Keys(ctx context.Context) (AWSKeys, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k := a.kept; k.ID != "" && (k.Expires.IsZero() || a.w.now().Before(k.Expires.Add(-early))) {
		return k, nil
	}
	k, err := a.w.awsKeys(ctx)
	if err != nil {
		return AWSKeys{}, err
	}
	a.w.Secret(k.Secret)
	a.w.Secret(k.Session)
	a.kept = k
	return k, nil
}

// Rejected forgets keys that a server refused, and reports whether there may be others.
func (a *AWS) Rejected(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept.ID != id {
		return true
	}
	lasting := a.kept.Expires.IsZero()
	a.kept = AWSKeys{}
	return !lasting
}

// Sign signs a request with fresh keys, for a service in a region.
func (a *AWS) Sign(req *http.Request, hash, service, region string) error {
	k, err := a.Keys(req.Context())
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k.Sign(req, hash, service, region, a.w.now().Add(a.off))
	return nil
}

// skew is by how much clocks may differ before AWS refuses what was signed by one of them.
const skew = 4 * time.Minute

// Clock is told what time a server thought it was when it refused a signed request. It reports
// whether requests are now signed by another clock, so that another try is worth it.
func (a *AWS) Clock(server time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	off := server.Sub(a.w.now())
	if (off - a.off).Abs() < skew {
		return false
	}
	a.off = off
	return true
}

// AWSRegion is the region that is configured, or empty.
func (w World) AWSRegion() string {
	if r := cmp.Or(w.Getenv("AWS_REGION"), w.Getenv("AWS_DEFAULT_REGION")); r != "" {
		return r
	}
	p, err := w.awsProfiles()
	if err != nil {
		return ""
	}
	return p.profile(w.awsProfile())["region"]
}

func (w World) awsProfile() string {
	return cmp.Or(w.Getenv("AWS_PROFILE"), w.Getenv("AWS_DEFAULT_PROFILE"), "default")
}

func (w World) awsKeys(ctx context.Context) (AWSKeys, error) {
	named := w.Getenv("AWS_PROFILE") != ""
	if k := (AWSKeys{ID: w.Getenv("AWS_ACCESS_KEY_ID"), Secret: w.Getenv("AWS_SECRET_ACCESS_KEY"),
		Session: w.Getenv("AWS_SESSION_TOKEN")}); k.ID != "" && k.Secret != "" {
		return k, nil
	}
	file, role := w.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), w.Getenv("AWS_ROLE_ARN")
	if !named && file != "" && role != "" {
		return w.webIdentity(ctx, file, role, w.Getenv("AWS_ROLE_SESSION_NAME"))
	}
	p, err := w.awsProfiles()
	if err != nil {
		return AWSKeys{}, err
	}
	k, err := w.ofProfile(ctx, p, w.awsProfile(), nil)
	if !errors.Is(err, errNoKeys) || named {
		return k, err
	}
	if w.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+w.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		return w.container(ctx)
	}
	if strings.EqualFold(w.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return k, errors.New("no keys of AWS: neither in the environment nor below ~/.aws")
	}
	k, err = w.machine(ctx)
	if err != nil {
		err = fmt.Errorf("no keys of AWS: neither in the environment nor below ~/.aws, and this is no machine of AWS (%w); "+
			"set AWS_BEARER_TOKEN_BEDROCK, or run: aws configure", absent(err))
	}
	return k, err
}

var errNoKeys = errors.New("names no keys")

// profiles are the sections of the files below ~/.aws.
type profiles map[string]map[string]string

func (p profiles) profile(name string) map[string]string { return p["profile "+name] }

// awsProfiles reads both files; what is not there is empty.
func (w World) awsProfiles() (profiles, error) {
	all := profiles{}
	for _, f := range []struct{ env, name, prefix string }{
		{"AWS_CONFIG_FILE", "config", ""}, {"AWS_SHARED_CREDENTIALS_FILE", "credentials", "profile "}} {
		path := cmp.Or(w.Getenv(f.env), filepath.Join(w.Home, ".aws", f.name))
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all.read(b, f.prefix)
	}
	return all, nil
}

// read takes over a file. The sections of credentials are profiles, those of the other file
// say so, but for the default one.
func (p profiles) read(b []byte, prefix string) {
	var section map[string]string
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		line := lines.Text()
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case trimmed[0] == '[':
			name, _, _ := strings.Cut(trimmed[1:], "]")
			name = strings.Join(strings.Fields(name), " ")
			if name == "default" {
				name = "profile default"
			} else if prefix != "" {
				name = prefix + name
			}
			if p[name] == nil {
				p[name] = map[string]string{}
			}
			section = p[name]
		case section != nil && line[0] != ' ' && line[0] != '\t': // what is indented belongs to a setting of another kind
			name, value, _ := strings.Cut(trimmed, "=")
			value, _, _ = strings.Cut(value, " #")
			section[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
}

// ofProfile gets the keys that a profile names. Over are the profiles that led to it.
func (w World) ofProfile(ctx context.Context, all profiles, name string, over []string) (AWSKeys, error) {
	p := all.profile(name)
	fault := func(err error) (AWSKeys, error) { return AWSKeys{}, fmt.Errorf("profile %s of AWS: %w", name, err) }
	for _, n := range over {
		// A profile with keys and a role may be its own source.
		if n == name && p["aws_access_key_id"] == "" {
			return fault(errors.New("its role is got by its own role"))
		}
	}
	role := p["role_arn"]
	if len(over) > 0 && over[len(over)-1] == name {
		role = ""
	}
	switch {
	case role != "" && p["web_identity_token_file"] != "":
		return w.webIdentity(ctx, p["web_identity_token_file"], role, p["role_session_name"])
	case role != "" && p["source_profile"] != "":
		from, err := w.ofProfile(ctx, all, p["source_profile"], append(over, name))
		if err != nil {
			return AWSKeys{}, err
		}
		return w.assume(ctx, from, p)
	case role != "":
		return fault(errors.New("role_arn needs source_profile or web_identity_token_file"))
	case p["aws_access_key_id"] != "":
		return AWSKeys{ID: p["aws_access_key_id"], Secret: p["aws_secret_access_key"], Session: p["aws_session_token"]}, nil
	case p["sso_account_id"] != "":
		k, err := w.sso(ctx, all, p)
		if err != nil {
			return fault(fmt.Errorf("%w; run: aws sso login --profile %s", err, name))
		}
		return k, nil
	case p["credential_process"] != "":
		k, err := w.process(ctx, p["credential_process"])
		if err != nil {
			return fault(err)
		}
		return k, nil
	}
	return fault(errNoKeys)
}

// sso gives the sign-in that `aws sso login` left for keys.
func (w World) sso(ctx context.Context, all profiles, p map[string]string) (AWSKeys, error) {
	region, start := p["sso_region"], p["sso_start_url"]
	of := start
	if session := p["sso_session"]; session != "" {
		s := all["sso-session "+session]
		region, of = cmp.Or(s["sso_region"], region), session
	}
	sum := sha1.Sum([]byte(of))
	b, err := os.ReadFile(filepath.Join(w.Home, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"))
	if err != nil {
		return AWSKeys{}, errors.New("nobody is signed in")
	}
	var in struct {
		Token   string    `json:"accessToken"`
		Expires time.Time `json:"expiresAt"`
	}
	if json.Unmarshal(b, &in) != nil || in.Token == "" || !w.now().Before(in.Expires) {
		return AWSKeys{}, errors.New("the sign-in has expired")
	}
	w.Secret(in.Token)
	query := url.Values{"account_id": {p["sso_account_id"]}, "role_name": {p["sso_role_name"]}}
	address := cmp.Or(w.Getenv("AWS_ENDPOINT_URL_SSO"), "https://portal.sso."+region+".amazonaws.com")
	req, err := get(ctx, address+"/federation/credentials?"+query.Encode(),
		map[string]string{"X-Amz-Sso_bearer_token": in.Token})
	if err != nil {
		return AWSKeys{}, err
	}
	var got struct {
		Keys struct {
			ID      string `json:"accessKeyId"`
			Secret  string `json:"secretAccessKey"`
			Session string `json:"sessionToken"`
			Expires int64  `json:"expiration"`
		} `json:"roleCredentials"`
	}
	if _, err := ask(w.client(far), req, &got); err != nil {
		return AWSKeys{}, err
	}
	k := got.Keys
	return told(AWSKeys{k.ID, k.Secret, k.Session, time.UnixMilli(k.Expires)})
}

// process has a program print keys.
func (w World) process(ctx context.Context, line string) (AWSKeys, error) {
	argv := words(line)
	if w.Run == nil || len(argv) == 0 {
		return AWSKeys{}, errors.New("credential_process is not run here")
	}
	out, err := w.Run(ctx, argv)
	if err != nil {
		return AWSKeys{}, fmt.Errorf("credential_process: %w", err)
	}
	var k struct {
		AccessKeyID, SecretAccessKey, SessionToken string
		Expiration                                 time.Time
	}
	if json.Unmarshal([]byte(out), &k) != nil {
		return AWSKeys{}, errors.New("credential_process: it prints no keys")
	}
	return told(AWSKeys{k.AccessKeyID, k.SecretAccessKey, k.SessionToken, k.Expiration})
}

// words are the words of a command; quotation marks hold one together.
func words(line string) []string {
	var all []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			word, rest, _ := strings.Cut(line[1:], `"`)
			all, line = append(all, word), rest
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		all, line = append(all, word), rest
	}
	return all
}

// told refuses keys that are none.
func told(k AWSKeys) (AWSKeys, error) {
	if k.ID == "" || k.Secret == "" {
		return AWSKeys{}, errors.New("the answer holds no keys")
	}
	return k, nil
}

// webIdentity gets the keys of a role for a token that somebody else vouches for.
func (w World) webIdentity(ctx context.Context, file, role, session string) (AWSKeys, error) {
	token, err := os.ReadFile(file)
	if err != nil {
		return AWSKeys{}, fmt.Errorf("AWS_WEB_IDENTITY_TOKEN_FILE: %w", err)
	}
	w.Secret(strings.TrimSpace(string(token)))
	return w.sts(ctx, url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {role},
		"RoleSessionName": {cmp.Or(session, "kerf")}, "WebIdentityToken": {strings.TrimSpace(string(token))}}, nil)
}

// assume gets the keys of the role of a profile.
func (w World) assume(ctx context.Context, from AWSKeys, p map[string]string) (AWSKeys, error) {
	values := url.Values{"Action": {"AssumeRole"}, "RoleArn": {p["role_arn"]},
		"RoleSessionName": {cmp.Or(p["role_session_name"], "kerf")}}
	if id := p["external_id"]; id != "" {
		values.Set("ExternalId", id)
	}
	if p["mfa_serial"] != "" {
		return AWSKeys{}, errors.New("the role wants a code of a device (mfa_serial), which Kerf does not ask for; set " +
			"credential_process")
	}
	return w.sts(ctx, values, &from)
}

// sts asks the token service; from signs the request unless it is nil.
func (w World) sts(ctx context.Context, values url.Values, from *AWSKeys) (AWSKeys, error) {
	region := cmp.Or(w.AWSRegion(), "us-east-1")
	address := cmp.Or(w.Getenv("AWS_ENDPOINT_URL_STS"), "https://sts."+region+".amazonaws.com")
	values.Set("Version", "2011-06-15")
	body := values.Encode()
	signed := func(now time.Time) ([]byte, error) {
		req, err := post(ctx, strings.TrimRight(address, "/")+"/", form, body)
		if err != nil {
			return nil, err
		}
		if from != nil {
			from.Sign(req, Hash(strings.NewReader(body)), "sts", region, now)
		}
		return ask(w.client(far), req, nil)
	}
	answer, err := signed(w.now())
	var said *answered
	if from != nil && errors.As(err, &said) && !said.at.IsZero() && said.at.Sub(w.now()).Abs() >= skew {
		answer, err = signed(said.at)
	}
	if err != nil {
		return AWSKeys{}, fmt.Errorf("role %s: %w", values.Get("RoleArn"), err)
	}
	k := AWSKeys{ID: element(answer, "AccessKeyId"), Secret: element(answer, "SecretAccessKey"),
		Session: element(answer, "SessionToken")}
	if k.Expires, err = time.Parse(time.RFC3339, element(answer, "Expiration")); err != nil {
		return AWSKeys{}, errors.New("the token service answered without keys")
	}
	return told(k)
}

// element is the text of an element that the token service answers with, which has no
// children and nothing that is written in another way.
func element(xml []byte, name string) string {
	m := regexp.MustCompile(`<` + name + `>([^<]*)</` + name + `>`).FindSubmatch(xml)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// lent are keys as containers and machines tell them.
type lent struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	Token           string
	Expiration      time.Time
}

func (l lent) keys() (AWSKeys, error) {
	return told(AWSKeys{l.AccessKeyID, l.SecretAccessKey, l.Token, l.Expiration})
}

// container asks the server beside the container.
func (w World) container(ctx context.Context) (AWSKeys, error) {
	address := w.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := w.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		address = "http://169.254.170.2" + path
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && !atHome(u.Hostname()) {
		return AWSKeys{}, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI names no server of this machine")
	}
	header := map[string]string{}
	if token := w.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN"); token != "" {
		header["Authorization"] = token
	}
	if file := w.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return AWSKeys{}, fmt.Errorf("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: %w", err)
		}
		header["Authorization"] = strings.TrimSpace(string(token))
	}
	req, err := get(ctx, address, header)
	if err != nil {
		return AWSKeys{}, err
	}
	var got lent
	if _, err := ask(w.client(near), req, &got); err != nil {
		return AWSKeys{}, err
	}
	return got.keys()
}

// atHome reports whether a host is this machine, or the server beside a container.
func atHome(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1" ||
		host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23"
}

// machine asks the metadata server of a machine of AWS.
func (w World) machine(ctx context.Context) (AWSKeys, error) {
	base := strings.TrimRight(cmp.Or(w.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254"), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, base+"/latest/api/token", nil)
	if err != nil {
		return AWSKeys{}, err
	}
	req.Header.Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", strconv.Itoa(6*60*60))
	token, err := ask(w.client(near), req, nil)
	if err != nil {
		return AWSKeys{}, err
	}
	header := map[string]string{"X-Aws-Ec2-Metadata-Token": string(token)}
	const path = "/latest/meta-data/iam/security-credentials/"
	if req, err = get(ctx, base+path, header); err != nil {
		return AWSKeys{}, err
	}
	names, err := ask(w.client(near), req, nil)
	if err != nil {
		return AWSKeys{}, err
	}
	if req, err = get(ctx, base+path+url.PathEscape(firstLine(string(names))), header); err != nil {
		return AWSKeys{}, err
	}
	var got lent
	if _, err := ask(w.client(near), req, &got); err != nil {
		return AWSKeys{}, err
	}
	return got.keys()
}
