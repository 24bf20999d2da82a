package overlay

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The descriptors that a holder is started with.
const (
	specFD = 3 // the Spec, as gob
	saidFD = 4 // takes the reason when the program cannot be started
)

// maxSpec bounds a Spec; the environment is most of it.
const maxSpec = 16 << 20

// Hold is the holder: the first process of its name space. It mounts, runs the program and
// returns its exit code. What the program left running is killed by the kernel when the
// holder ends.
func Hold() int {
	unix.CloseOnExec(specFD) // what runs in the try could speak for the holder, and Kerf would
	unix.CloseOnExec(saidFD) // wait for its end before it passes signals on
	said := os.NewFile(saidFD, "said")
	var s Spec
	err := gob.NewDecoder(io.LimitReader(os.NewFile(specFD, "spec"), maxSpec)).Decode(&s)
	var shown []*os.File
	if err == nil {
		shown, err = s.mount()
	}
	if err == nil {
		err = os.Chdir("/") // what it was is below the overlay, and /proc/1/cwd would lead there
	}
	if err != nil {
		return fail(said, err)
	}
	runtime.LockOSThread() // capabilities are those of a thread
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fail(said, fmt.Errorf("drop capabilities: %w", err))
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	cmd := &exec.Cmd{Path: s.Argv[0], Args: s.Argv, Dir: s.Dir, Env: s.Env, Stdin: os.Stdin, Stdout: os.Stdout,
		Stderr: os.Stderr, ExtraFiles: shown, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := cmd.Start(); err != nil {
		return fail(said, err)
	}
	_ = said.Close()
	for _, f := range shown {
		_ = f.Close()
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	return reap(cmd.Process.Pid)
}

func fail(said *os.File, err error) int {
	_, _ = io.WriteString(said, err.Error())
	return 1
}

// reap waits for the program, and for all that it leaves to its first ancestor.
func reap(program int) int {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1
		case pid != program || !st.Exited() && !st.Signaled():
		case st.Signaled():
			return 128 + int(st.Signal())
		default:
			return st.ExitStatus()
		}
	}
}

// mount mounts all of s where nobody else sees it, and returns what the program is shown.
func (s *Spec) mount() ([]*os.File, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("mounts of its own: %w", err)
	}
	shown := s.show()
	for _, l := range s.Layers {
		if err := l.mount(); err != nil {
			return nil, err
		}
	}
	for _, b := range s.Binds {
		if err := unix.Mount(b.From, b.To, "", unix.MS_BIND, ""); err != nil {
			return nil, fmt.Errorf("show %s at %s: %w", b.From, b.To, err)
		}
	}
	// Otherwise /proc/PID/root of others leads to the directories below the overlays.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("/proc of its own: %w", err)
	}
	return shown, nil
}

// mount mounts the overlay. Directories are named by their descriptors: colons and commas
// in a name mean something to the kernel.
func (l Layer) mount() error {
	if l.Copied {
		if err := unix.Mount(l.Upper, l.Lower, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show the copy of %s: %w", l.Lower, err)
		}
		return nil
	}
	// What is left of an overlay that was not unmounted in order.
	if err := os.RemoveAll(filepath.Join(l.Work, "work", "incompat")); err != nil {
		return err
	}
	var names [3]any
	for i, dir := range []string{l.Lower, l.Upper, l.Work} {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		defer unix.Close(fd)
		names[i] = fmt.Sprintf("/proc/self/fd/%d", fd)
	}
	err := unix.Mount("overlay", l.Lower, "overlay", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr,nfs_export=off", names[:]...))
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: the file system of %s cannot hold the upper layer of an overlay", ErrMount, l.Upper)
	}
	if err != nil {
		return fmt.Errorf("%w: overlay over %s: %w", ErrMount, l.Lower, err)
	}
	return nil
}

// Over reports whether the file system of dir is an overlay.
func Over(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}
