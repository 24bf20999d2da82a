package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/langfake"
	"kerf/internal/testkit/modeltest"
)

func TestMain(m *testing.M) {
	faults.Child()
	testscript.Main(tidy{m}, map[string]func(){
		"kerf":        func() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"apply_patch": func() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"toy-server":  func() { os.Exit(langfake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts plays the stories in testdata/script: the real program, real files
// and a scripted model behind the real wire protocol.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup:               setup,
		Condition: func(cond string) (bool, error) {
			if name, ok := strings.CutPrefix(cond, "has:"); ok {
				_, err := exec.LookPath(name)
				return err == nil, nil
			}
			if cond == "python3.11" {
				return exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() == nil, nil
			}
			if cond == "wheels" {
				return wheelBuilder() != "", nil
			}
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "website": website, "collector": collector, "requests": requests, "jsonl": jsonl, "appended": appended, "repo": repository,
		},
	})
}

// wheelBuilder is a python3 that can build wheels without a network, or nothing.
var wheelBuilder = sync.OnceValue(func() string {
	const has = "import sys; from importlib.util import find_spec as has; " +
		"sys.exit(sys.version_info < (3, 11) or not (has('pip') and has('setuptools') and has('wheel')))"
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", has).Run() == nil {
			return path
		}
	}
	return ""
})

// setup gives every story its own homes and nothing of the user's.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	for _, dir := range []string{home, filepath.Join(e.WorkDir, "repo")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	e.Setenv("HOME", home)
	e.Setenv("KERF_HOME", filepath.Join(home, ".kerf"))
	e.Setenv("SHELL", "/bin/bash")
	e.Setenv("NAP", fmt.Sprintf("42%d", os.Getpid())) // for how long commands sleep that no other run is to see
	e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	e.Setenv("CLIENTS", filepath.Join(root, "clients"))
	e.Setenv("DRIVERS", filepath.Join(root, "cmd", "kerf", "testdata", "clients"))
	e.Setenv("PYTHON", wheelBuilder())
	e.Setenv("TMPDIR", e.WorkDir+"/tmp")
	e.Values["servers"] = map[string]*modeltest.Server{}
	e.Defer(func() { endServer(filepath.Join(home, ".kerf")) })
	return os.MkdirAll(e.WorkDir+"/tmp", 0o700)
}

// endServer ends the kerf serve that a story left running in its home, as one does that
// failed.
func endServer(home string) {
	b, err := os.ReadFile(filepath.Join(home, "run", "serve.json"))
	if err != nil {
		return
	}
	var at struct {
		PID int `json:"pid"`
	}
	if json.Unmarshal(b, &at) != nil || at.PID <= 1 || at.PID == os.Getpid() {
		return
	}
	if p, err := os.FindProcess(at.PID); err == nil {
		_ = p.Kill() // it may be gone
	}
}

// serve starts a model that plays the rounds in a file, a JSON array of
// modeltest.Round, and writes the configuration that points to it. Extra
// arguments are lines of the provider's table.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve ROUNDS.json [KEY=VALUE ...]")
	}
	var rounds []modeltest.Round
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.DisallowUnknownFields()
	ts.Check(d.Decode(&rounds))
	s, err := modeltest.Serve("127.0.0.1:0", rounds...)
	ts.Check(err)
	ts.Defer(s.Close)
	servers(ts)["now"] = s
	var b strings.Builder
	fmt.Fprintf(&b, "model = \"test-model\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = "+
		"\"mock\"\nbase_url = %q\nwire_api = \"responses\"\n", s.URL)
	for _, line := range args[1:] {
		b.WriteString(line + "\n")
	}
	dir := ts.Getenv("KERF_HOME")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.toml"), []byte(b.String()), 0o600))
	ts.Setenv("BASE_URL", s.URL)
}

// website serves the files of a directory, and /away, which is on another host. WEB is its
// address, WEBHOST that without the scheme.
func website(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: website DIR")
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	mux.Handle("/away", http.RedirectHandler("https://elsewhere.test/page", http.StatusFound))
	s := httptest.NewServer(mux)
	ts.Defer(s.Close)
	ts.Setenv("WEB", s.URL)
	ts.Setenv("WEBHOST", strings.TrimPrefix(s.URL, "http://"))
}

// servers holds the running server of each story.
func servers(ts *testscript.TestScript) map[string]*modeltest.Server {
	m, ok := ts.Value("servers").(map[string]*modeltest.Server)
	if !ok {
		ts.Fatalf("no server")
	}
	return m
}

// requests checks how many requests came, and writes each body to
// request-N.json.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	s := servers(ts)["now"]
	all := s.Requests()
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if (len(all) == want) == neg {
		ts.Fatalf("%d requests came, want %d", len(all), want)
	}
	for i, r := range all {
		ts.Check(os.WriteFile(ts.MkAbs(fmt.Sprintf("request-%d.json", i+1)), r.Body, 0o644))
	}
}

// appended checks that the input of every request begins with that of the one
// before, byte for byte.
func appended(ts *testscript.TestScript, neg bool, args []string) {
	var before json.RawMessage
	for i, r := range servers(ts)["now"].Requests() {
		var v struct{ Input json.RawMessage }
		ts.Check(json.Unmarshal(r.Body, &v))
		if len(before) > 0 && !bytes.HasPrefix(v.Input, before[:len(before)-1]) {
			ts.Fatalf("the input of request %d does not begin with that of request %d", i+1, i)
		}
		before = v.Input
	}
}

// jsonl checks that every line of a file is JSON, and that the types of the
// lines are those given: an item line is TYPE:ITEM.
func jsonl(ts *testscript.TestScript, neg bool, args []string) {
	var got []string
	for i, line := range strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n") {
		var v struct {
			Type string
			Item struct{ Type string }
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("line %d is not JSON: %v: %s", i+1, err, line)
		}
		if v.Item.Type != "" {
			v.Type += ":" + v.Item.Type
		}
		got = append(got, v.Type)
	}
	if want := strings.Join(args[1:], " "); want != "" && strings.Join(got, " ") != want {
		ts.Fatalf("the lines are\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
}

// repository makes the directory repo a git repository with one commit.
func repository(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs("repo")
	for _, a := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", a...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %s: %v: %s", a[0], err, out)
		}
	}
}
