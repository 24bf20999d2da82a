// Package langservers makes the configured language servers ready to be used.
package langservers

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/executor/languages"
	"kerf/internal/agent/session"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/turn"
	"kerf/internal/config"
	"kerf/internal/host/confining"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
	"kerf/internal/work/langserver"
	"kerf/internal/work/langserver/known"
	"kerf/internal/work/proc"
	"kerf/internal/work/search"
	"kerf/internal/work/workspace"
)

// Servers are the language servers of a session. Nil ones are none.
type Servers struct {
	*languages.Servers
	present bool // their languages are here
}

// Options say where servers work.
type Options struct {
	Config  *config.Config
	Trusted bool
	// Roots are the directories of the workspace.
	Roots []string
	// Policy makes that of commands: of roots, and the directory that is /tmp inside.
	Policy func(roots []string, tmp string) func(protocol.SandboxMode) boundary.Policy
	// Scratch, when not empty, is in the place of Kerf's home.
	Scratch string
}

// Open finds the servers that are used in a session, whose executor gets eo: none where none
// is installed, the project is not trusted, or they are switched off. Nothing is started, and
// no directory is made.
func Open(ctx context.Context, o Options, eo *executor.Options) (s *Servers, told []string) {
	if !o.Config.Tools.LanguageServers || eo.Lender != nil { // sub-agents have none
		return nil, nil
	}
	if !o.Trusted {
		if n := len(o.Config.LanguageServers); n > 0 {
			told = append(told, fmt.Sprintf("%d language servers are not used: the project is not trusted", n))
		}
		return nil, told
	}
	var roots []string
	for _, dir := range o.Roots {
		roots = append(roots, real(dir))
	}
	list, missing := Found(o.Config, roots)
	for _, name := range missing {
		told = append(told, "language server "+name+": its program is not on PATH outside of the project")
	}
	if len(list) == 0 {
		return nil, told
	}
	s = &Servers{}
	lister := lister{eo.Search}
	present := func(ctx context.Context) []languages.Project { return lister.present(ctx, roots, list) }
	s.Servers = languages.New(languages.Options{Dir: real(eo.Cwd), List: lister.files, Read: reader(eo.Tree), Redact: eo.Redact,
		Image: imager(eo.Images), Present: present, Pool: langserver.Options{Servers: list, Roots: roots, List: lister.files,
			Env:    func() []string { return proc.OwnEnv(eo.Env(false), roots) },
			Policy: func(s langserver.Server) (boundary.Policy, func(), error) { return confined(o, roots, s) }}})
	s.present = len(present(ctx)) > 0
	eo.Languages = s.Servers
	return s, told
}

// reader reads files as tools do.
func reader(tree files.Tree) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		img, err := tree.Read(path, files.ReadLimit)
		if err == nil && img == nil {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		return img.Data, nil
	}
}

// imager gives back what files held, by the hashes of records.
func imager(images func(delta.Sum) ([]byte, error)) func(string) ([]byte, error) {
	return func(sum string) ([]byte, error) {
		var s delta.Sum
		if len(sum) != 2*len(s) || images == nil {
			return nil, fs.ErrNotExist
		}
		if _, err := hex.Decode(s[:], []byte(sum)); err != nil {
			return nil, err
		}
		return images(s)
	}
}

func real(dir string) string {
	if to, err := filepath.EvalSymlinks(dir); err == nil {
		return to
	}
	return dir
}

// confined is the sandbox of a server: it reads what commands read and writes nothing but a
// /tmp of its own, which is removed with it, and it has no network.
func confined(o Options, roots []string, s langserver.Server) (boundary.Policy, func(), error) {
	tmp, err := workspace.PrivateTmp("language")
	if err != nil {
		return boundary.Policy{}, nil, err
	}
	p := confining.Beside(o.Scratch, o.Policy(roots, tmp)(protocol.SandboxWorkspace))
	p.Mode, p.Roots, p.Network, p.Domains, p.Session = boundary.WorkspaceWrite, nil, false, nil, nil
	p.TmpDir, p.SharedTmp, p.NoTmp, p.NoTmpdir = tmp, false, false, false
	var first []boundary.Rule
	program := real(s.Program)
	for _, dir := range append(slices.Clone(roots), filepath.Dir(s.Program), filepath.Dir(program)) {
		first = append(first, boundary.Rule{Path: dir, Access: boundary.Read, Why: "a language server reads it"})
	}
	for _, r := range p.Rules { // the user's own come last and win, but for what they would let it write
		if r.Access == boundary.Write {
			r.Access = boundary.Read
		}
		first = append(first, r)
	}
	p.Rules = first
	return p, func() { _ = os.RemoveAll(tmp) }, nil
}

// Found are the servers whose programs are on PATH outside of the roots, those of the
// configuration first; missing are the names of configured ones that are not.
func Found(c *config.Config, roots []string) (list []langserver.Server, missing []string) {
	own := map[string]config.LanguageServer{}
	for _, s := range c.LanguageServers {
		own[s.Name] = s
	}
	var all []langserver.Server
	for _, s := range known.Servers() {
		if set, ok := own[s.Name]; ok {
			delete(own, s.Name)
			if set.Off {
				continue
			}
			s = changed(s, set)
		}
		all = append(all, s)
	}
	var mine []langserver.Server
	for _, s := range c.LanguageServers {
		if _, ok := own[s.Name]; ok && !s.Off {
			mine = append(mine, changed(langserver.Server{Name: s.Name, Program: s.Name, Memory: known.Memory, Timeout: known.Timeout,
				Alone: len(s.Markers) == 0}, s))
		}
	}
	for _, s := range append(mine, all...) {
		program, err := find(s.Program, roots)
		if err != nil {
			if slices.ContainsFunc(c.LanguageServers, func(k config.LanguageServer) bool { return k.Name == s.Name }) {
				missing = append(missing, s.Name)
			}
			continue
		}
		if s.Program = program; len(s.Globs) > 0 {
			list = append(list, s)
		}
	}
	return list, missing
}

// find finds a program outside of the roots.
func find(name string, roots []string) (string, error) {
	if !filepath.IsAbs(name) {
		return proc.Program(name, roots)
	}
	if proc.Within(name, roots) {
		return "", fmt.Errorf("%s lies in the project", name)
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no program", name)
	}
	return name, err
}

// changed is a server with what the configuration says of it.
func changed(s langserver.Server, c config.LanguageServer) langserver.Server {
	if c.Command != "" {
		s.Program, s.Args = c.Command, c.Args
	} else if c.Args != nil {
		s.Args = c.Args
	}
	if c.Globs != nil {
		s.Globs = c.Globs
	}
	if c.Markers != nil {
		s.Markers, s.Alone = c.Markers, len(c.Markers) == 0
	}
	if c.Language != "" {
		s.Languages = map[string]string{"": c.Language}
	}
	if c.Options != nil {
		s.Options = c.Options
	}
	if c.Settings != nil {
		s.Settings = c.Settings
	}
	if c.Diagnostics != "" {
		s.Way = langserver.Way(c.Diagnostics)
	}
	if c.Memory > 0 {
		s.Memory = uint64(c.Memory) << 20
	}
	if c.Timeout > 0 {
		s.Timeout = c.Timeout
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		s.Env = append(slices.Clone(s.Env), name+"="+c.Env[name])
	}
	return s
}

// lister lists files that git does not ignore.
type lister struct{ search *search.Searcher }

// maxListed bounds how many files of a project are looked at.
const maxListed = 20_000

// files are those of a server's project, its markers among them.
func (l lister) files(ctx context.Context, s langserver.Server, root string) []string {
	var names []string
	for _, g := range append(slices.Clone(s.Globs), s.Markers...) {
		names = append(names, strings.ReplaceAll(g, ",", "\\,"))
	}
	paths, _, err := l.search.Glob(ctx, root, "**/{"+strings.Join(names, ",")+"}", maxListed)
	if err != nil {
		return nil
	}
	return paths
}

// The bounds of the look for languages at the start of a session.
const (
	lookDepth = 3
	lookLimit = 5000
	lookTime  = 500 * time.Millisecond
)

// present are the servers whose languages are in the upper directories of the roots.
func (l lister) present(ctx context.Context, roots []string, list []langserver.Server) []languages.Project {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var projects []languages.Project
	for _, root := range roots {
		names, _, err := l.search.List(ctx, root, lookDepth, lookLimit)
		if err != nil {
			continue
		}
		for _, s := range list {
			if dir, ok := projectIn(names, s); ok {
				projects = append(projects, languages.Project{Server: s, Root: filepath.Join(root, filepath.FromSlash(dir))})
			}
		}
	}
	return projects
}

// projectIn is the directory of the first project of a server among names.
func projectIn(names []string, s langserver.Server) (dir string, ok bool) {
	best := -1
	for _, n := range names {
		if strings.HasSuffix(n, "/") {
			continue
		}
		at := ""
		switch {
		case slices.ContainsFunc(s.Markers, func(m string) bool { return n == m || strings.HasSuffix(n, "/"+m) }):
			at = path.Dir(n)
		case s.Alone && slices.ContainsFunc(s.Globs, func(g string) bool {
			return doublestar.MatchUnvalidated(g, path.Base(n))
		}):
			at = "."
		default:
			continue
		}
		if depth := strings.Count(at, "/"); best < 0 || depth < best {
			dir, best = at, depth
		}
	}
	return dir, best >= 0
}

// Specs are the tools that servers answer, where their languages are here.
func (s *Servers) Specs() []tool.Spec {
	if s == nil || !s.present {
		return nil
	}
	var specs []tool.Spec
	for _, t := range tools.Code() {
		specs = append(specs, t.Spec())
	}
	return specs
}

// Around has servers asked around what an executor does.
func (s *Servers) Around(exec session.Executor) session.Executor {
	if s == nil {
		return exec
	}
	return around{exec, s}
}

type around struct {
	session.Executor
	servers *Servers
}

// Run has the servers look before and after a change.
func (a around) Run(ctx context.Context, e turn.Run, l executor.Live) turn.Input {
	return a.servers.Run(ctx, a.Executor, e, l)
}

// Settle has the turn go on when servers tell now what they did not tell in time.
func (a around) Settle(ctx context.Context, e turn.Settle) turn.Settled {
	if e.Done {
		if text := a.servers.Settle(ctx); text != "" {
			return turn.Settled{Turn: e.Turn, GoOn: "<language_servers>\n" + text + "\n</language_servers>"}
		}
	}
	return a.Executor.Settle(ctx, e)
}

// StopChecks ends the checks of a turn that is over but for them.
func (a around) StopChecks() {
	if x, ok := a.Executor.(interface{ StopChecks() }); ok {
		x.StopChecks()
	}
}

// Close ends everything that still runs.
func (a around) Close() {
	a.Executor.Close()
	a.servers.Close()
}
