package overlay

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Run runs a program over the layers of s with the given streams, and returns its exit
// code: 128 plus its number for a signal that ended it. Signals that would end Kerf are
// passed on. When ctx ends, all that runs there is killed. Errors that wrap ErrImpossible
// say that nothing was run.
func Run(ctx context.Context, s Spec, stdin, stdout, stderr *os.File) (int, error) {
	var spec bytes.Buffer // not JSON: names and arguments are bytes
	if err := gob.NewEncoder(&spec).Encode(s); err != nil {
		return 0, err
	}
	specR, specW, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer specW.Close()
	saidR, saidW, err := os.Pipe()
	if err != nil {
		return 0, errors.Join(err, specR.Close())
	}
	defer saidR.Close()
	runtime.LockOSThread() // the holder is to end with Kerf, that is with the thread that starts it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Flag)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Env = []string{}
	cmd.ExtraFiles = []*os.File{specR, saidW}
	cmd.SysProcAttr = apart()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	err = cmd.Start()
	_ = specR.Close()
	_ = saidW.Close()
	if err != nil {
		return 0, fmt.Errorf("%w: name spaces: %w", ErrImpossible, err)
	}
	_, err = specW.Write(spec.Bytes())
	err = errors.Join(err, specW.Close())
	said, _ := io.ReadAll(io.LimitReader(saidR, 4096))
	if len(said) > 0 || err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if why, ok := strings.CutPrefix(string(said), ErrMount.Error()); ok { // the words crossed a pipe
			return 0, fmt.Errorf("%w: %w%s", ErrImpossible, ErrMount, strings.TrimSpace(why))
		}
		return 0, fmt.Errorf("%w: %s", ErrImpossible, strings.TrimSpace(string(said)))
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGHUP { // a terminal sends the others to all
					_ = cmd.Process.Signal(s)
				}
			case <-done:
				return
			}
		}
	}()
	return code(cmd.Wait())
}

// apart are the attributes of a holder: mounts and processes of its own, and for others
// than root a user name space, in which it may mount.
func apart() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		// The overlay copies files up with the capabilities of who mounted it.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH,
			unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_MKNOD}
	}
	return a
}

// code is the exit code of a program that ended.
func code(err error) (int, error) {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &ended):
		return 0, err
	}
	if st, ok := ended.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal()), nil
	}
	return ended.ExitCode(), nil
}
