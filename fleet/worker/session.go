package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kerf/fleet/git"
	"kerf/fleet/task"
	"kerf/internal/front/serve/client"
	"kerf/internal/protocol"
)

// session is a task's session under way.
type session struct {
	worker     *Worker
	task       task.Task
	place      task.Place
	files      files
	server     *exec.Cmd // kerf serve of the task's home
	ended      chan struct{}
	kerf       protocol.Session
	events     *eventLog
	last       atomic.Uint64 // the number of the last event
	ran        task.Ran
	asked      sync.Map // open questions: protocol.Approval by id
	saved      time.Time
	former     string // the name of the last checkpoint
	checkpoint *checkpoint
	temp       string // of the socket, where the home's path is too long for one
	over       bool   // the token limit was passed
}

// serverStart is how long kerf serve may take until it answers.
const serverStart = 60 * time.Second

// begin starts the server of the task's home and opens the session in it.
func (s *session) begin(ctx context.Context) error {
	args := append(s.worker.overrides(s.files, s.task.Scenario != ""), "serve", "--idle", "0")
	socket := filepath.Join(s.files.home, "run", "serve.sock")
	if len(socket) > 100 { // what a system takes is 104
		dir, err := os.MkdirTemp("", "kf")
		if err != nil {
			return err
		}
		args = append(args, "--socket", filepath.Join(dir, "s"))
		s.temp = dir
	}
	s.server = exec.Command(s.worker.Kerf, args...)
	s.server.Dir = s.files.tree
	s.server.Env = append(git.Env(), "KERF_HOME="+s.files.home)
	own(s.server)
	said, err := os.Create(filepath.Join(s.files.dir, "serve.log"))
	if err != nil {
		return err
	}
	defer said.Close()
	s.server.Stdout, s.server.Stderr = said, said
	if err = s.server.Start(); err != nil {
		return fmt.Errorf("kerf does not start: %w", err)
	}
	go func() { _ = s.server.Wait(); close(s.ended) }()
	return s.open(ctx)
}

// open opens the session, or goes on with the one that the task's home has.
func (s *session) open(ctx context.Context) error {
	c := client.Client{Home: s.files.home}
	late := time.Now().Add(serverStart)
	for {
		_, err := c.Hello(ctx)
		if err == nil {
			break
		}
		select {
		case <-s.ended:
			return errors.New("kerf serve ended: " + s.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(late) {
			return fmt.Errorf("kerf serve does not answer: %w", err)
		}
	}
	id, err := s.files.session()
	if err != nil {
		return err
	}
	o := protocol.OpenOptions{Resume: id, Source: "fleet", Settings: protocol.Settings{
		Cwd: s.files.tree, Model: s.task.Settings.Model, Effort: s.task.Settings.Effort,
		Sandbox:  protocol.SandboxMode(s.task.Settings.Sandbox),
		Approval: protocol.ApprovalPolicy(s.task.Settings.Approval)}}
	if s.kerf, err = c.Open(ctx, o); err != nil {
		return s.refused(ctx, err)
	}
	s.ran.Session = string(s.kerf.ID())
	return nil
}

// refused is why the session does not open. Another worker may have the key that this one
// lacks, and a server that died has refused nothing.
func (s *session) refused(ctx context.Context, err error) error {
	select {
	case <-s.ended:
		return errors.New("kerf serve ended: " + s.said())
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
	}
	if errors.As(err, new(*protocol.CredentialsError)) || errors.Is(err, protocol.ErrInUse) {
		return err
	}
	return hopeless("the session does not open: %v", err)
}

// session is the id of the session that a home has, empty when it has none.
func (f files) session() (string, error) {
	entries, err := os.ReadDir(filepath.Join(f.home, "sessions"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	for _, e := range entries {
		// Those of sub-agents have a parent.
		data, _ := os.ReadFile(filepath.Join(f.home, "sessions", e.Name(), "metadata.json"))
		if e.IsDir() && len(data) > 0 && !strings.Contains(string(data), `"parent":"`) {
			return e.Name(), nil
		}
	}
	return "", err
}

// said is the end of what the server printed.
func (s *session) said() string {
	data, _ := os.ReadFile(filepath.Join(s.files.dir, "serve.log"))
	if len(data) > 500 {
		data = data[len(data)-500:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "?"))
}

// end ends the session and its server, with everything that runs in it.
func (s *session) end() {
	if s.kerf != nil {
		s.kerf.Close()
	}
	if s.server == nil || s.server.Process == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 15*time.Second)
	defer stop()
	_ = client.Client{Home: s.files.home}.Stop(ctx)
	select {
	case <-s.ended:
	case <-ctx.Done():
		s.kill()
		<-s.ended
	}
	if s.temp != "" {
		os.RemoveAll(s.temp)
	}
}

// kill ends the server at once.
func (s *session) kill() {
	if s.server != nil && s.server.Process != nil {
		killGroup(s.server)
	}
}

// interrupt ends the running turn.
func (s *session) interrupt() {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	_ = s.kerf.Submit(ctx, protocol.Submission{Op: protocol.Interrupt{}})
}
