package parcel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kerf/internal/text/pattern"
	"kerf/internal/work/proc"
)

// Git says what is fetched. Outside are directories whose programs are not used.
type Git struct {
	URL string
	// Ref is a branch or a tag, and Commit a whole name of a commit; both may be empty.
	Ref, Commit string
	Env         []string
	Outside     []string
	// Foreign says that the user did not write the address: redirections are not followed.
	Foreign bool
	// Most bounds what git may write, in bytes, and Limit how long it may take; 0 is
	// [MaxFetch] and [FetchLimit].
	Most  int64
	Limit time.Duration
}

// The bounds of one fetch: of what is on the disk while it goes on, and of its time.
const (
	MaxFetch   = 256 << 20
	FetchLimit = 5 * time.Minute
)

// maxAllocation bounds what git takes of memory at once, in bytes: a tree or a commit may be
// packed small and be huge.
const maxAllocation = "268435456"

// careful are settings under which git starts nothing that a repository names: no hook, no
// filter, nothing of submodules, no maintenance. Which transports it may use, and what it may
// take, says the environment.
var careful = []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.symlinks=false",
	"-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
	"-c", "fetch.fsckObjects=true", "-c", "transfer.bundleURI=false", "-c", "maintenance.auto=false", "-c", "gc.auto=0",
	"-c", "core.attributesFile=" + os.DevNull, "-c", "fetch.writeCommitGraph=false", "-c", "fetch.uriProtocols=",
	"-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30", "-c", "core.bigFileThreshold=1m", "-c", "pack.threads=1"}

var (
	commitName = pattern.Lazy(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	refName    = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}$`)
	scpLike    = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:]+$`)
)

// Address checks an address of a repository: https, ssh, a file, or plain http to this
// machine. Other transports of git may start programs.
func Address(address string) error {
	if strings.HasPrefix(address, "-") || strings.ContainsAny(address, "\x00\n\r\t ") || strings.Contains(address, "::") {
		return fmt.Errorf("%q is no address that Kerf fetches from", address)
	}
	if scpLike().MatchString(address) {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%q is no address", address)
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	switch {
	case strings.HasPrefix(u.Hostname(), "-") || u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
	case u.Scheme == "https" && u.Host != "", u.Scheme == "ssh" && u.Host != "", u.Scheme == "http" && local,
		u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return nil
	}
	return fmt.Errorf("%q: expected an address that begins with https://, ssh:// or file://, or USER@HOST:PATH", address)
}

// Host is what is contacted for an address: how, and which machine; empty for files of this one.
func Host(address string) string {
	if scpLike().MatchString(address) {
		_, rest, _ := strings.Cut(address, "@")
		host, _, _ := strings.Cut(rest, ":")
		return "ssh://" + strings.ToLower(host)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "file" || u.Scheme == "" {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// transports are those that git may use for an address. The user's own configuration may have
// it use ssh where https is written, and the other way round.
func transports(address string) string {
	switch host := Host(address); {
	case host == "":
		return "file"
	case strings.HasPrefix(host, "http:"):
		return "http"
	}
	return "https:ssh"
}

// Fetch fetches one commit, without a working tree. Nothing of it is asked for at a terminal.
func Fetch(ctx context.Context, g Git) (*Tree, error) {
	if err := Address(g.URL); err != nil {
		return nil, err
	}
	if g.Commit != "" && !commitName().MatchString(g.Commit) {
		return nil, fmt.Errorf("%q is no whole name of a commit", g.Commit)
	}
	if g.Ref != "" && (!refName().MatchString(g.Ref) || strings.Contains(g.Ref, "..")) {
		return nil, fmt.Errorf("%q is no name of a branch or tag", g.Ref)
	}
	program, err := proc.Program("git", g.Outside)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kerf-fetch-")
	if err != nil {
		return nil, err
	}
	r := &bare{program: program, dir: dir, env: environment(g.Env, transports(g.URL)),
		most: cmp.Or(g.Most, MaxFetch), limit: cmp.Or(g.Limit, FetchLimit)}
	if g.Foreign {
		r.own = []string{"-c", "http.followRedirects=false"}
	}
	t, err := r.fetch(ctx, g)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	t.close = func() { os.RemoveAll(dir) }
	return t, nil
}

// environment is that of git: nothing of it says where a repository is or what is started.
func environment(env []string, transports string) []string {
	var own []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") || name == "GIT_SSL_CAINFO" {
			own = append(own, kv)
		}
	}
	return append(own, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_ALLOW_PROTOCOL="+transports,
		"GIT_ALLOC_LIMIT="+maxAllocation,
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_LFS_SKIP_SMUDGE=1", "LC_ALL=C")
}

// bare is a repository without a working tree, of Kerf's own.
type bare struct {
	program, dir string
	env          []string
	own          []string // settings of this fetch
	most         int64
	limit        time.Duration
}

// git runs git. What it reads and prints lies in the directory, so that what is there is all
// that it took; when that is too much it is ended, with all it started.
func (r *bare) git(ctx context.Context, input string, args ...string) ([]byte, error) {
	var streams [3]*os.File
	for i, name := range []string{"in", "out", "told"} {
		f, err := os.OpenFile(filepath.Join(r.dir, "kerf-"+name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		streams[i] = f
	}
	_, err := streams[0].WriteString(input)
	if err == nil {
		_, err = streams[0].Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(ctx, proc.Spec{Argv: slices.Concat([]string{r.program}, careful, r.own, args), Dir: r.dir,
		Env: r.env, Streams: &streams, Abrupt: true})
	if err != nil {
		return nil, cmp.Or(r.late(ctx, args[0]), err)
	}
	for !p.Within(ctx, lookEvery) {
		if ctx.Err() != nil || r.taken() > r.most {
			p.Kill()
			break
		}
	}
	code, _, _ := p.ExitCode()
	switch late := r.late(ctx, args[0]); {
	case late != nil:
		return nil, late
	case r.taken() > r.most:
		return nil, fmt.Errorf("git %s: what it fetches is larger than %d MiB", args[0], r.most>>20)
	case code != 0:
		told, _ := io.ReadAll(io.NewSectionReader(streams[2], 0, maxTold))
		return nil, fmt.Errorf("git %s: %s", args[0], lastLine(string(told), code))
	}
	return io.ReadAll(io.NewSectionReader(streams[1], 0, r.most))
}

// late is the error of a run that was ended before its time, or nil.
func (r *bare) late(ctx context.Context, what string) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("git %s took longer than %s", what, r.limit)
	case ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", what, ctx.Err())
	}
	return nil
}

// lookEvery is how often it is looked how much git took.
const lookEvery = 50 * time.Millisecond

// maxTold bounds what is read of the messages of git, in bytes.
const maxTold = 64 << 10

// taken is how many bytes the directory holds.
func (r *bare) taken() (sum int64) {
	_ = filepath.WalkDir(r.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what went away takes nothing
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// lastLine is what git said last that is a reason.
func lastLine(told string, code int) string {
	for line := range strings.Lines(told) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:") {
			return line
		}
	}
	if told = strings.TrimSpace(told); told != "" {
		return told
	}
	return fmt.Sprintf("ended with exit code %d", code)
}

func (r *bare) fetch(ctx context.Context, g Git) (*Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	empty := filepath.Join(r.dir, "template")
	if err := os.Mkdir(empty, 0o700); err != nil {
		return nil, err
	}
	// Commits of either kind of name are read with git's default for the repository.
	format := "sha1"
	if len(g.Commit) == 64 {
		format = "sha256"
	}
	if _, err := r.git(ctx, "", "init", "-q", "--bare", "--template="+empty, "--object-format="+format, "."); err != nil {
		return nil, err
	}
	want := "HEAD"
	switch {
	case g.Commit != "":
		want = g.Commit
	case g.Ref != "":
		want = g.Ref
	}
	_, err := r.git(ctx, "", "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance",
		"--no-write-fetch-head", "--end-of-options", g.URL, "+"+want+":refs/kerf/got")
	if err != nil {
		return nil, err
	}
	out, err := r.git(ctx, "", "rev-parse", "--verify", "--end-of-options", "refs/kerf/got^{commit}")
	if err != nil {
		return nil, err
	}
	commit := strings.TrimSpace(string(out))
	if g.Commit != "" && commit != g.Commit {
		return nil, fmt.Errorf("fetched %s, and asked for %s", commit, g.Commit)
	}
	return r.tree(ctx, commit)
}

// tree lists a commit.
func (r *bare) tree(ctx context.Context, commit string) (*Tree, error) {
	out, err := r.git(ctx, "", "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	t := newTree(func(list []wanted) ([][]byte, error) { return r.blobs(ctx, list) })
	t.Commit = commit
	var links []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(about)
		if len(f) != 4 || name == "" {
			continue
		}
		if len(t.entries) > maxEntries || len(links) > maxLinked {
			return nil, errors.New("it has too many files")
		}
		if at, err := clean(name); err != nil || at != name || reserved(name) {
			return nil, fmt.Errorf("the commit has the name %q, which no file may have", name)
		}
		size, _ := strconv.ParseInt(f[3], 10, 64)
		switch f[0] {
		case "100644", "100664":
			t.add(name, entry{id: f[2], size: size})
		case "100755":
			t.add(name, entry{id: f[2], size: size, exec: true})
		case "120000":
			if size < 4096 {
				t.add(name, entry{kind: fs.ModeSymlink, id: f[2], size: size})
				links = append(links, name)
			}
		}
	}
	return t, r.links(ctx, t, links)
}

// links reads where links lead.
func (r *bare) links(ctx context.Context, t *Tree, names []string) error {
	var list []wanted
	for _, name := range names {
		list = append(list, wanted{name, t.entries[name]})
	}
	all, err := r.blobs(ctx, list)
	for i := range all {
		e := list[i].entry
		e.link = path.Clean(string(all[i]))
		t.entries[list[i].name] = e
	}
	// Contents are read when they are asked for, also when the fetch is long over.
	t.read = func(list []wanted) ([][]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return r.blobs(ctx, list)
	}
	return err
}

// blobs reads contents, all by one process.
func (r *bare) blobs(ctx context.Context, list []wanted) (all [][]byte, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	var ids strings.Builder
	for _, w := range list {
		ids.WriteString(w.id + "\n")
	}
	out, err := r.git(ctx, ids.String(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	for _, w := range list {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		if string(head) != fmt.Sprintf("%s blob %d", w.id, w.size) || int64(len(rest)) <= w.size {
			return nil, fmt.Errorf("git cat-file: %s is not the content that was announced", w.name)
		}
		all, out = append(all, rest[:w.size:w.size]), rest[w.size+1:]
	}
	return all, nil
}

// reserved reports whether a part of a name is the directory of git.
func reserved(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}
