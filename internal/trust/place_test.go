//go:build linux

package trust

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// place is a working directory with a home of Kerf's beside it.
type place struct {
	kerf, base, dir, home string
	served                int    // scenarios written so far
	mode                  string // of the sandbox for the sessions that begin; empty for workspace-write
}

func newPlace(kerf, base string) (*place, error) {
	p := &place{kerf: kerf, base: base, dir: filepath.Join(base, "w"), home: filepath.Join(base, "home")}
	return p, errors.Join(os.MkdirAll(p.dir, 0o755), os.MkdirAll(filepath.Join(p.home, ".kerf"), 0o700),
		os.MkdirAll(filepath.Join(base, "tmp"), 0o700))
}

func (p *place) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "KERF_HOME=" + filepath.Join(p.home, ".kerf"),
		"TMPDIR=" + filepath.Join(p.base, "tmp"), "SHELL=/bin/bash", "LC_ALL=C.UTF-8",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull}
}

// result is how a program ended.
type result struct {
	code     int
	out, err string
}

func (r result) String() string { return fmt.Sprintf("exit %d\n%s%s", r.code, r.out, r.err) }

// run runs kerf in the directory.
func (p *place) run(args ...string) result { return p.command(p.kerf, args...) }

func (p *place) command(name string, args ...string) result {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env()
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	err := cmd.Run()
	r := result{out: out.String(), err: fault.String()}
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		r.code = ended.ExitCode()
	case err != nil:
		r.code, r.err = -1, err.Error()
	}
	return r
}

// shell runs a script as the user would, beside Kerf.
func (p *place) shell(script string) result { return p.command("bash", "-c", script) }

// call is one call of the model.
type call struct {
	Call string         `json:"call"`
	Args map[string]any `json:"args"`
	ID   string         `json:"id"`
}

// sh is a call of a command; wait is how long to wait for it, in milliseconds.
func sh(id, cmd string, wait int) call {
	return call{"exec_command", map[string]any{"cmd": cmd, "yield_time_ms": wait}, id}
}

func writeFile(id, path, text string) call {
	return call{"write_file", map[string]any{"file_path": path, "content": text}, id}
}

type round struct {
	Items []any `json:"items"`
	Delay int   `json:"delay_ms,omitempty"`
}

// scenario writes what the model does: for every turn one round for each call, then a
// word at the end. It returns the flags for it.
func (p *place) scenario(turns ...[]call) ([]string, error) {
	var rounds []round
	for _, calls := range turns {
		for _, c := range calls {
			rounds = append(rounds, round{Items: []any{c}})
		}
		rounds = append(rounds, round{Items: []any{map[string]string{"message": "done"}}})
	}
	b, err := json.Marshal(map[string]any{"version": 1, "rounds": rounds})
	if err != nil {
		return nil, err
	}
	p.served++
	path := filepath.Join(p.home, fmt.Sprintf("scenario%d.json", p.served))
	return []string{"-c", "model_provider=script", "-c", "model_providers.script.base_url=" + path,
		"-c", fmt.Sprintf("sandbox_mode=%q", cmp.Or(p.mode, "workspace-write")), "-c", `approval_policy="never"`}, os.WriteFile(path, b, 0o600)
}

// session is a kerf that an editor drives.
type session struct {
	p      *place
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	fault  output
	id     string
	n      int
	calls  []string // calls as they ended: id, status, exit code
	killed bool
}

// output is a buffer that is read while a process still writes to it.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *output) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// open starts a session that will play the turns.
func (p *place) open(turns ...[]call) (*session, error) { return p.openUnder(nil, turns...) }

// openUnder starts it under another program, such as strace.
func (p *place) openUnder(under []string, turns ...[]call) (*session, error) {
	flags, err := p.scenario(turns...)
	if err != nil {
		return nil, err
	}
	args := append(append(append([]string{}, under...), p.kerf), append(flags, "acp")...)
	s := &session{p: p, cmd: exec.Command(args[0], args[1:]...)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = p.dir, p.env(), &s.fault
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.lines = bufio.NewScanner(out)
	s.lines.Buffer(nil, 64<<20)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := s.ask("initialize", map[string]any{"protocolVersion": 1}); err != nil {
		return nil, s.end(err)
	}
	b, err := s.ask("session/new", map[string]any{"cwd": p.dir, "mcpServers": []any{}})
	if err != nil {
		return nil, s.end(err)
	}
	var v struct{ SessionID string }
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, s.end(err)
	}
	s.id = v.SessionID
	_, err = s.ask("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-edit"})
	return s, err
}

type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Update struct {
			SessionUpdate, ToolCallID, Status string
			RawOutput                         struct{ ExitCode *int }
		}
	}
	Result json.RawMessage
	Error  json.RawMessage
}

// ask sends a request and waits for its answer.
func (s *session) ask(method string, params any) (json.RawMessage, error) {
	s.n++
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.n, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(b, '\n')); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	want := fmt.Sprint(s.n)
	for s.lines.Scan() {
		var m message
		if err := json.Unmarshal(s.lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", method, err, s.lines.Bytes())
		}
		switch u := m.Params.Update; {
		case m.Method == "session/request_permission":
			no := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"outcome":{"outcome":"cancelled"}}}` + "\n"
			if _, err := io.WriteString(s.in, no); err != nil {
				return nil, err
			}
		case u.SessionUpdate == "tool_call_update" && (u.Status == "completed" || u.Status == "failed"):
			ended := u.ToolCallID + " " + u.Status
			if u.RawOutput.ExitCode != nil {
				ended += fmt.Sprintf(" %d", *u.RawOutput.ExitCode)
			}
			s.calls = append(s.calls, ended)
		case m.Method == "" && string(m.ID) == want:
			if m.Error != nil {
				return nil, fmt.Errorf("%s: %s", method, m.Error)
			}
			return m.Result, nil
		}
	}
	return nil, fmt.Errorf("%s: kerf ended: %v: %s", method, s.lines.Err(), s.fault.String())
}

// turn plays the next turn.
func (s *session) turn(prompt string) error {
	_, err := s.ask("session/prompt", map[string]any{"sessionId": s.id,
		"prompt": []any{map[string]string{"type": "text", "text": prompt}}})
	return err
}

// end lets the editor leave, and waits.
func (s *session) end(err error) error {
	s.in.Close()
	done := make(chan struct{})
	go func() { // ends with the process
		defer close(done)
		for s.lines.Scan() {
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		err = errors.Join(err, errors.New("kerf did not end within 30 seconds of its editor"))
	}
	if ended := s.cmd.Wait(); ended != nil && !s.killed {
		err = errors.Join(err, fmt.Errorf("kerf: %w: %s", ended, s.fault.String()))
	}
	return err
}

// kill ends kerf with SIGKILL, and waits.
func (s *session) kill() {
	s.killed = true
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// play runs turns in a session of their own and ends it.
func (p *place) play(turns ...[]call) error {
	s, err := p.open(turns...)
	if err != nil {
		return err
	}
	for i := range turns {
		if err := s.turn(fmt.Sprintf("turn %d", i+1)); err != nil {
			return s.end(err)
		}
	}
	return s.end(nil)
}

// entry is one entry of kerf log --json.
type entry struct {
	Seq                                            int64
	Cause, Tool, Session, Turn, Call, Prompt, Note string
	Certainty                                      *string
	Exact, Undone                                  bool
	Changes                                        []change
	DirectoriesMade                                []name `json:"directories_made"`
	DirectoriesRemoved                             []name `json:"directories_removed"`
	Diff                                           string
}

// change is what an entry tells of one path.
type change struct {
	Path                     name
	Operation, Before, After string
	MovedFrom                name `json:"moved_from"`
	MovedTo                  name `json:"moved_to"`
}

// place is the number of the turn and of the call in it that an entry tells of, from 0.
func (e entry) place() (turn, nth int, ok bool) {
	n, _ := fmt.Sscanf(e.Call, "t%dc%d", &turn, &nth)
	return turn - 1, nth - 1, n == 2
}

// name is a path: a string, or bytes as {"b64": …}.
type name string

func (n *name) UnmarshalJSON(b []byte) error {
	var raw struct{ B64 []byte }
	if bytes.HasPrefix(b, []byte("{")) {
		err := json.Unmarshal(b, &raw)
		*n = name(raw.B64)
		return err
	}
	return json.Unmarshal(b, (*string)(n))
}

// proven reports whether the entry claims that Kerf or its command made the changes.
func (e entry) proven() bool {
	if e.Certainty != nil && *e.Certainty != "" {
		return *e.Certainty == "proven"
	}
	return e.Exact && e.Cause != "outside"
}

// log reads kerf log, oldest first.
func (p *place) log(args ...string) ([]entry, error) {
	r := p.run(append([]string{"log", "--json", "-n", "0"}, args...)...)
	var list []entry
	if r.code != 0 {
		return nil, fmt.Errorf("log: %v", r)
	}
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		return nil, fmt.Errorf("log: %w: %s", err, r.out)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, nil
}

// short is a path of the log below the directory.
func (p *place) short(n name) string { return strings.TrimPrefix(string(n), p.dir+"/") }

// report is what kerf undo --json tells.
type report struct {
	result  result
	Problem string
	Files   []fileOutcome
	Diff    string
}

type fileOutcome struct {
	Path          name
	Outcome, Note string
}

// undo runs kerf undo, or redo.
func (p *place) undo(args ...string) (report, error) {
	r := report{result: p.run(append([]string{args[0], "--json"}, args[1:]...)...)}
	if r.result.code > 1 || r.result.code < 0 {
		return r, fmt.Errorf("%s: %v", strings.Join(args, " "), r.result)
	}
	if err := json.Unmarshal([]byte(r.result.out), &r); err != nil && r.result.code == 0 {
		return r, fmt.Errorf("%s: %w: %v", strings.Join(args, " "), err, r.result)
	}
	return r, nil
}

// line is one line of kerf blame --json.
type line struct {
	Line                            int
	Text, Origin, Cause, Call, Turn string
	Certainty                       string
}

func (p *place) blame(path string) ([]line, error) {
	r := p.run("blame", "--json", path)
	var list []line
	if r.code != 0 {
		return nil, fmt.Errorf("blame %s: %v", path, r)
	}
	return list, json.Unmarshal([]byte(r.out), &list)
}
