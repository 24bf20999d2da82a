package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Command gets a token from a program, as gateways of companies have them.
//
// The token is kept for Refresh, and asked for again after it was rejected. It
// may be used by several goroutines.
type Command struct {
	Argv    []string
	Dir     string
	Unfit   error // why the program cannot be started; nil if it can
	Env     []string
	Timeout time.Duration // 0 means 5 s
	Refresh time.Duration // 0 means 5 min
	// Now is the clock, nil for the real one.
	Now func() time.Time

	mu    sync.Mutex
	token string
	since time.Time
}

// maxToken bounds what a program may print.
const maxToken = 64 << 10

// Token returns the token, running the program when there is none that is fresh.
func (c *Command) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refresh := c.Refresh
	if refresh <= 0 {
		refresh = 5 * time.Minute
	}
	if c.token != "" && c.now().Sub(c.since) < refresh {
		return c.token, nil
	}
	token, err := c.run(ctx)
	if err != nil {
		return "", err
	}
	c.token, c.since = token, c.now()
	return token, nil
}

// Rejected forgets a token that the server refused, and reports whether the
// program may know another one.
func (c *Command) Rejected(token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == token {
		c.token = ""
	}
	return true
}

func (c *Command) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// run runs the program, which prints a token.
func (c *Command) run(ctx context.Context) (string, error) {
	token, err := c.Output(ctx)
	if err != nil {
		return "", err
	}
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return "", fmt.Errorf("auth.command %s: expected one line with a token on standard output", c.Argv[0])
	}
	return token, nil
}

// Output runs the program and returns what it prints, without the space around it. That is a
// secret and appears in no error.
func (c *Command) Output(ctx context.Context) (string, error) {
	switch {
	case len(c.Argv) == 0:
		return "", errors.New("auth.command is empty")
	case c.Unfit != nil:
		return "", fmt.Errorf("auth.command %s: %w", c.Argv[0], c.Unfit)
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.WaitDelay = time.Second
	var out, words limited
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return "", fmt.Errorf("auth.command %s: no token within %v", c.Argv[0], timeout)
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(words.String()), "\n")
		return "", fmt.Errorf("auth.command %s: %w: %s", c.Argv[0], err, line)
	}
	return strings.TrimSpace(out.String()), nil
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	if room := maxToken - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
