//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kerf/internal/testkit/modeltest"
)

// reader is somebody who does what a page says, on a machine of their own.
type reader struct {
	t               *testing.T
	at              string // which example
	root            string // of Kerf's source
	base, home, own string
	cwd             string
	env             []string
	snippets        []string // programs in Go, checked together
	terminals       int
}

// asks are the requests of the examples for which the model does something: a command.
var asks = map[string]string{
	"add a greeting":               `printf '\n// Greet greets.\nfunc Greet() string { return "hello" }\n' >> main.go`,
	"fix the failing test":         `sed -i.orig 's/a - b/a + b/' main.go && rm main.go.orig`,
	"fix the flaky test":           `echo fixed >> notes.txt`,
	"now the docs":                 `echo '# App' > README.md`,
	"and the tests":                `mkdir -p src && echo more > src/more.txt`,
	"upgrade the parser":           `echo '// newer' >> parser/parser.go`,
	"make the parser faster":       `echo '// faster' >> parser/parser.go`,
	"make the parser faster again": `echo '// yet faster' >> parser/parser.go`,
	"make the parser accept tabs":  `echo '// tabs' >> parser/parser.go`,
}

// newReader is somebody with a repository. Where a page is not the first that they read, a
// session has changed something already.
func newReader(t *testing.T, page string) *reader {
	t.Helper()
	rounds := []modeltest.Round{modeltest.Answer(modeltest.Message("Done."))}
	for ask, cmd := range asks {
		round := modeltest.Answer(modeltest.Call("exec_command", map[string]string{"cmd": cmd}))
		round.For = []string{`"` + ask + `"`} // the whole request
		rounds = append(rounds, round)
	}
	r := newMachine(t, page, rounds...)
	r.cwd = filepath.Join(r.base, "my", "repository")
	r.project()
	if page != "README" {
		r.line(`kerf exec -s workspace-write "add a greeting"`, nil)
	}
	return r
}

// newMachine makes the machine: a home, a program, and a model that plays rounds.
func newMachine(t *testing.T, page string, rounds ...modeltest.Round) *reader {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, at: page, base: base, home: filepath.Join(base, "home")}
	r.own = filepath.Join(r.home, ".kerf")
	for _, dir := range []string{r.own, filepath.Join(base, "tmp"), filepath.Join(base, "bin")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if r.root, err = filepath.Abs("../.."); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kerf := filepath.Join(base, "bin", "kerf") // by this name the tests are the program
	if os.Link(self, kerf) != nil {
		(&victim{t: t, kerf: kerf}).copy(self)
	}
	r.env = []string{"PATH=" + filepath.Join(base, "bin") + ":" + os.Getenv("PATH"), "HOME=" + r.home,
		"TMPDIR=" + filepath.Join(base, "tmp"), "TMUX_TMPDIR=" + filepath.Join(base, "tmp"), "TERM=xterm-256color",
		"SHELL=/bin/bash", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "PAGER=cat"}
	r.env = append(r.env, goPlaces(t)...)
	t.Cleanup(func() {
		endServer(r.own)
		left(t, base)
	})
	r.model(rounds)
	return r
}

// left removes a machine that programs have left, some of which still end what they do.
func left(t *testing.T, base string) {
	t.Helper()
	quiet := 0
	for until := time.Now().Add(lineLimit); quiet < 3; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Lstat(base); os.IsNotExist(err) {
			quiet++
			continue
		}
		quiet = 0
		if err := os.RemoveAll(base); err != nil && time.Now().After(until) {
			t.Errorf("a program still writes: %v", err)
			return
		}
	}
}

// goPlaces is where go keeps what it has compiled and fetched, whatever the home, and how it compiles.
func goPlaces(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	places := strings.Fields(string(out))
	for i, name := range names {
		places[i] = name + "=" + places[i]
	}
	for _, name := range []string{"GOFLAGS", "CGO_ENABLED"} {
		if value := os.Getenv(name); value != "" {
			places = append(places, name+"="+value)
		}
	}
	return places
}

// model starts the scripted model and writes the configuration that names it. Providers that
// the pages use lead to it, too.
func (r *reader) model(rounds []modeltest.Round) {
	r.t.Helper()
	s, err := modeltest.Serve("127.0.0.1:0", rounds...)
	if err != nil {
		r.t.Fatal(err)
	}
	s.Repeat = true
	r.t.Cleanup(s.Close)
	r.env = append(r.env, "OPENAI_BASE_URL="+s.URL)
	if r.at == "README" { // it signs in
		r.write(filepath.Join(r.own, "config.toml"), "model = \"test-model\"\n")
		return
	}
	r.env = append(r.env, "OPENAI_API_KEY=a-key")
	r.write(filepath.Join(r.own, "config.toml"), fmt.Sprintf(`model = "test-model"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = %q
wire_api = "responses"
[model_providers.anthropic]
base_url = %q
`, s.URL, s.URL))
}

// project makes the repository in which the reader works: a program with a test that fails, on
// a branch that is ahead of main, and another checkout of it.
func (r *reader) project() {
	r.t.Helper()
	files := map[string]string{
		"go.mod":           "module app\n\ngo 1.24\n",
		"main.go":          "package main\n\nfunc add(a, b int) int { return a - b }\n\nfunc main() { println(add(1, 2)) }\n",
		"main_test.go":     "package main\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fail()\n\t}\n}\n",
		"parser/parser.go": "package parser\n\n// Parse parses.\nfunc Parse(s string) []byte { return []byte(s) }\n",
		"notes.txt":        "the colour of the notes\n",
		"fix.diff":         "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-the color of the notes\n+the color of all notes\n",
		"Makefile":         "test:\n\ttest -f notes.txt\ninstall:\n\techo installed > installed.txt\n",
		"x.sh":             "#!/bin/sh\necho x >> notes.txt\n",
	}
	for name, text := range files {
		r.write(filepath.Join(r.cwd, name), text)
	}
	example, err := os.ReadFile("../../examples/ci/review.sh")
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(filepath.Join(r.cwd, "examples/ci/review.sh"), string(example))
	for name, script := range map[string]string{
		"codex":    "echo '// by another agent' >> main.go", // another agent
		"xdg-open": "exit 0",                                // a browser
	} {
		path := filepath.Join(r.base, "bin", name)
		r.write(path, "#!/bin/sh\n"+script+"\n")
		r.must(os.Chmod(path, 0o755))
	}
	r.must(os.Chmod(filepath.Join(r.cwd, "x.sh"), 0o755))
	r.write(filepath.Join(r.home, ".gitconfig"), "[user]\n\tname = Reader\n\temail = reader@localhost\n")
	r.line(`git init -q -b main && git add -A && git commit -q -m "first version"`, nil)
	r.line(`git update-ref refs/remotes/origin/main main && git checkout -q -b work`, nil)
	r.line(`echo '// Later.' >> parser/parser.go && git commit -q -a -m "parser: later" && git clone -q . ../other/checkout`, nil)
}

func (r *reader) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
}

func (r *reader) write(path, text string) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(path), 0o700))
	r.must(os.WriteFile(path, []byte(text), 0o600))
}

// placeholders are the words of a line that stand for what the reader has.
var placeholder = regexp.MustCompile(`\bID\b`)

// newest is the id of the session that was begun last.
func (r *reader) newest() string {
	list, err := os.ReadDir(filepath.Join(r.own, "sessions"))
	r.must(err)
	for _, d := range slices.Backward(list) { // ids grow with time
		if len(d.Name()) == 36 {
			return d.Name()
		}
	}
	r.t.Fatalf("%s: no session", r.at)
	return ""
}

// A line that opens the terminal UI is left with ctrl+d; a server is ended with ctrl+c.
var (
	opensUI = regexp.MustCompile(`^kerf( "| -m | --oss| --theme |$| +#| resume| fork| attach (--new|[0-9a-f-]{36})| demo --tui)`)
	serves  = regexp.MustCompile(`^kerf (web|mcp-server --http)`)
	signsIn = regexp.MustCompile(`^kerf login( |$)`)
)

// line runs one line of a page. It has to end with exit code 0.
func (r *reader) line(line string, notRun map[string]string) {
	r.t.Helper()
	for words := range notRun {
		if strings.HasPrefix(line, words) {
			return
		}
	}
	if placeholder.MatchString(line) {
		line = placeholder.ReplaceAllString(line, r.newest())
	}
	switch {
	case signsIn.MatchString(line):
		r.terminal(line)
	case opensUI.MatchString(line):
		r.terminal(line)
	case serves.MatchString(line):
		r.served(line)
	default:
		r.shell(line)
	}
}

// lineLimit ends a line that hangs.
const lineLimit = 12 * time.Minute

// shell runs a line in the reader's shell, which remembers its directory.
func (r *reader) shell(line string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), lineLimit)
	defer cancel()
	where := filepath.Join(r.base, "cwd")
	cmd := exec.CommandContext(ctx, "bash", "-c", line+"\nrc=$?; pwd > \"$WHERE\"; exit $rc")
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.cwd, append(r.env, "WHERE="+where), time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Errorf("%s: %s\n%v\n%s", r.at, line, err, out)
		return
	}
	b, err := os.ReadFile(where)
	r.must(err)
	r.cwd = strings.TrimSpace(string(b))
}

// answers are what the reader does when a terminal shows a text.
var answers = []struct {
	shows string
	keys  []string
	held  bool // it takes no key that comes at once
}{
	{"You write a message", []string{"C-c"}, false}, // the machine was slow, and a key came early
	{"enter confirms", []string{"Enter"}, true},
	{"Do you trust the files", []string{"1"}, true},
	{"(not shown): ", []string{"sk-a-key", "Enter"}, false},
	{"provider [openai]: ", []string{"Enter"}, false},
	{"Ask Kerf to do something", []string{"C-d"}, false},
}

// terminal runs a line in a terminal and answers what it shows, until it ends.
func (r *reader) terminal(line string) {
	r.t.Helper()
	r.terminals++
	name := fmt.Sprint("t", r.terminals)
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-L", name, "-f", "/dev/null"}, args...)...)
		cmd.Dir, cmd.Env = r.cwd, r.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			r.t.Fatalf("%s: %s: tmux %v: %v: %s", r.at, line, args, err, out)
		}
		return string(out)
	}
	script := filepath.Join(r.base, "line.sh")
	r.write(script, line+"\necho \"[ended $?]\"\ncat\n")
	tmux("new-session", "-d", "-x", "100", "-y", "40", "bash "+script)
	defer tmux("kill-server")
	screen, typed := "", map[string]time.Time{}
	for until := time.Now().Add(lineLimit); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		screen = tmux("capture-pane", "-p", "-J", "-S", "-200")
		if strings.Contains(screen, "[ended 0]") {
			return
		}
		if strings.Contains(screen, "[ended ") {
			break
		}
		for _, a := range answers {
			if strings.Contains(screen, a.shows) && !strings.Contains(screen, "Working (") {
				if last, seen := typed[a.shows]; a.held && !seen {
					typed[a.shows] = time.Now() // it is read first: a question is held for a second
					break
				} else if seen && time.Since(last) < 2*time.Second {
					break
				}
				typed[a.shows] = time.Now()
				tmux(append([]string{"send-keys"}, a.keys...)...)
				break
			}
		}
	}
	r.t.Errorf("%s: %s\n%s", r.at, line, screen)
}

// served runs a server until it told its address, and interrupts it.
func (r *reader) served(line string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), lineLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "exec "+line)
	cmd.Dir, cmd.Env = r.cwd, r.env
	told := &listener{word: "http://", heard: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = told, told
	r.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-told.heard:
		r.must(cmd.Process.Signal(syscall.SIGINT))
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 130 {
			r.t.Errorf("%s: %s: exit code %d\n%s", r.at, line, code, told.all.String())
		}
	case err := <-ended:
		r.t.Errorf("%s: %s: ended: %v\n%s", r.at, line, err, told.all.String())
	}
}

// listener hears a word in an output.
type listener struct {
	all   bytes.Buffer
	word  string
	heard chan struct{}
}

func (s *listener) Write(b []byte) (int, error) {
	before := strings.Contains(s.all.String(), s.word)
	s.all.Write(b)
	if !before && strings.Contains(s.all.String(), s.word) {
		close(s.heard)
	}
	return len(b), nil
}

// python runs a program in Python against the client of this tree.
func (r *reader) python(text string) {
	r.t.Helper()
	if exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		r.t.Logf("%s: there is no Python 3.11: not run", r.at)
		return
	}
	r.write(filepath.Join(r.base, "example.py"), strings.ReplaceAll(text, "/src/parser", r.cwd)+"\nassert turn\n")
	r.shell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + filepath.Join(r.root, "clients/python/src") + " python3 " +
		filepath.Join(r.base, "example.py"))
}

var declared = regexp.MustCompile(`(?m)^(\w+), err :=`)

// programs runs the Go snippets of a page in one program.
func (r *reader) programs() {
	r.t.Helper()
	if len(r.snippets) == 0 {
		return
	}
	var b strings.Builder
	for _, text := range r.snippets {
		b.WriteString(text + "\n")
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			fmt.Fprintf(&b, "_ = %s\n", m[1])
		}
		b.WriteString("if err != nil {\n\tpanic(err)\n}\n")
	}
	dir := filepath.Join(r.base, "program")
	module := strings.TrimSuffix("kerf/sdk", "/sdk") // whatever path it was given
	r.write(filepath.Join(dir, "go.mod"), "module program\n\ngo 1.26\n\nrequire "+module+" v0.0.0\n\nreplace "+module+
		" => "+r.root+"\n")
	r.write(filepath.Join(dir, "main.go"), "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"os\"\n\n\t\"kerf/sdk\"\n)\n\n"+
		"func main() {\nctx, dir := context.Background(), os.Args[1]\n"+b.String()+"}\n")
	r.shell("(cd " + dir + " && go build -mod=mod -o ../bin/program .) && program .")
}
