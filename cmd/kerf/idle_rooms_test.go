package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kerf/internal/testkit/modeltest"
)

// idleRooms are the packages of tries, checks and language servers.
var idleRooms = []string{"kerf/internal/work/check/...", "kerf/internal/work/langserver/...", "kerf/internal/work/tries",
	"kerf/internal/work/overlay", "kerf/internal/agent/executor/checked", "kerf/internal/agent/executor/languages",
	"kerf/internal/host/checking", "kerf/internal/host/langservers", "kerf/cmd/kerf/internal/trying"}

// idleFunctions are what runs of them all the same: flags and commands are told, and it is found
// out that nothing is asked for.
var idleFunctions = []string{
	"cmd/kerf/internal/trying.AttemptFlags", "cmd/kerf/internal/trying.Wanted", "cmd/kerf/internal/trying.Misused",
	"cmd/kerf/internal/trying.Commands", "cmd/kerf/internal/trying.Flag", "cmd/kerf/internal/trying.Run",
	"cmd/kerf/internal/trying.start", "internal/agent/executor/checked.NewGoals", "internal/host/checking.Around",
	"internal/host/checking.options", "internal/host/checking.Lister", "internal/host/checking.List",
	"internal/host/langservers.Open", "internal/host/langservers.Specs", "internal/host/langservers.Around",
	"internal/work/overlay.shows", "internal/work/overlay.Take", "internal/work/tries.Layers",
}

// TestIdleRoomsDoNotRun: in a session without a try, a check and a language server, which edits a
// file and runs a command, nothing of these runs but what finds that out: no file is hashed, no
// program looked for, nothing waited for. Each function that ran is counted, so that times do not
// matter.
func TestIdleRoomsDoNotRun(t *testing.T) {
	if os.Getenv("KERF_LONG") == "" {
		t.Skip("KERF_LONG=1 builds a program that counts what runs")
	}
	r := newMachine(t, "idle",
		modeltest.Answer(modeltest.Call("write_file", `{"file_path": "a.go", "content": "package a\n"}`)),
		modeltest.Answer(modeltest.Call("exec_command", sh("echo hi > b"))),
		modeltest.Answer(modeltest.Call("read_file", `{"file_path": "a.go"}`)),
		modeltest.Answer(modeltest.Message("Done.")))
	kerf, counts := filepath.Join(r.base, "counting"), filepath.Join(r.base, "counts")
	if err := os.Mkdir(counts, 0o700); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-cover", "-coverpkg=kerf/cmd/kerf,"+strings.Join(idleRooms, ","), "-o", kerf, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.cwd = filepath.Join(r.home, "w")
	if err := os.Mkdir(r.cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "GOCOVERDIR="+counts)
	r.line("git init -q && printf 'module a\\n' > go.mod && "+kerf+" exec -s workspace-write 'do it' && grep hi b", nil)
	ran := functionsThatRan(t, counts)
	if len(ran) == 0 {
		t.Error("no function was counted")
	}
	for _, name := range ran {
		if !slices.Contains(idleFunctions, name) {
			t.Errorf("%s ran", name)
		}
	}
}

// functionsThatRan are the functions of the rooms that ran, as PACKAGE.NAME.
func functionsThatRan(t *testing.T, counts string) (list []string) {
	t.Helper()
	profile := filepath.Join(counts, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+counts, "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("go", "tool", "cover", "-func="+profile).Output()
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		f := strings.Fields(lines.Text()) // kerf/a/b/c.go:17: Name 33.3%
		if len(f) != 3 || f[2] == "0.0%" || f[0] == "total:" || strings.HasPrefix(f[0], "kerf/cmd/kerf/main.go") {
			continue
		}
		pkg := f[0][:strings.LastIndexByte(f[0], '/')]
		list = append(list, strings.TrimPrefix(pkg, "kerf/")+"."+f[1])
	}
	return list
}
