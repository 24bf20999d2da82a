package sandbox

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/seccomp"
	"kerf/internal/work/witness/calls"
)

// listenerFlags are what the kernel knows of what a listener is asked for with.
var listenerFlags = sync.OnceValue(func() uint64 {
	// A call that was taken by the witness is not given up for a signal that does not
	// kill: it would be made twice.
	const killable = 1 << 5
	flags := uint64(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags|killable), 0)
	if errno == unix.EFAULT {
		flags |= killable
	}
	return flags
})

// report hands the calls that change files over to the witness, through the socket at
// descriptor fd.
func (c *compiler) report(fd int) {
	const note = "commands cannot be watched here"
	code := calls.Filter()
	instructions := c.Data(seccomp.Encode(code))
	fprog := make([]byte, 16)
	putUint16(fprog, len(code))
	ref := c.Data(fprog)
	c.Point(ref, 8, instructions)
	c.Call(note, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	listener := c.Keep(c.Call(note, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listenerFlags(), ref))
	c.send(note, fd, listener)
	c.Call(note, unix.SYS_CLOSE, fd)
}

// watched returns the program that runs argv as it is, but for the witness. Its first
// files are those that argv gets as descriptors 3 and up; the socket of the witness
// comes behind them.
func watched(argv []string, inherited int) *launch.Program {
	c := &compiler{}
	c.Argv, c.Inherit = argv, inherited
	const note = "files cannot be handed on"
	for i := range inherited {
		c.Call(note, unix.SYS_DUP3, launch.FirstFile+i, launch.FirstFile-1+i, 0)
	}
	c.report(launch.FirstFile + inherited)
	return &c.Program
}

// watch puts a launcher around the command of a box that does nothing but have it
// watched.
func (b *Box) watch(p boundary.Plan) error {
	file, err := programFile(watched(b.Argv, len(b.Files)))
	if err != nil {
		return err
	}
	b.Argv = []string{"/proc/self/exe", launch.Flag}
	b.Files, b.program = append(append([]*os.File{file}, b.Files...), p.Witness), file
	return nil
}
