//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSEC_P4_SpecialTargets gives the real program everything that is no ordinary
// file as a target of every file tool. It answers at once, in little memory, and
// nothing is opened that blocks.
func TestSEC_P4_SpecialTargets(t *testing.T) {
	kerf, base := builtProgram(t), t.TempDir()
	dir := filepath.Join(base, "w")
	putFile(t, filepath.Join(dir, "directory/x"), "x\n", 0o644)
	putFile(t, filepath.Join(dir, "file"), "text\n", 0o644)
	targets := []string{"directory", "fifo", "sparse"}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Skip(err)
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sparse.Truncate(5 << 30); err != nil {
		t.Skip(err)
	}
	sparse.Close()
	t.Chdir(dir) // the path of a socket is short
	if sock, err := net.Listen("unix", "socket"); err == nil {
		defer sock.Close()
		targets = append(targets, "socket")
	}
	if syscall.Mknod("device", syscall.S_IFCHR|0o666, 1<<8|5) == nil { // as /dev/zero
		targets = append(targets, "device")
	}
	run := func(stdin string, args ...string) (out string, ok bool) {
		cmd := exec.Command(kerf, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "KERF_HOME="+filepath.Join(base, "home"), "HOME="+base)
		var b bytes.Buffer
		cmd.Stdout, cmd.Stderr = &b, &b
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		if !stop.Stop() {
			t.Errorf("%v hangs", args)
		}
		// A child's peak begins with that of the process that starts it.
		var own syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
			t.Fatal(err)
		}
		use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if ok && use.Maxrss > max(200<<10, own.Maxrss) {
			t.Errorf("%v took %d KB of memory", args, use.Maxrss)
		}
		return b.String(), err == nil
	}
	call := func(name, tool string, more map[string]string) (string, bool) {
		args := map[string]string{"file_path": name}
		for k, v := range more {
			args[k] = v
		}
		b, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return run("", "tool", tool, string(b))
	}
	for _, name := range append(targets, "file") {
		before, _ := os.Lstat(filepath.Join(dir, name))
		outs := map[string]string{}
		note := func(what, out string, ok bool) {
			if ok != (name == "file") {
				t.Errorf("%s %s: success %v: %s", what, name, ok, out)
			}
			outs[what] = out
		}
		out, ok := call(name, "read_file", nil)
		note("read", out, ok)
		out, ok = call(name, "edit_file", map[string]string{"old_string": "text", "new_string": "word"})
		note("edit", out, ok)
		out, ok = run("*** Begin Patch\n*** Update File: "+name+"\n@@\n-word\n+text\n*** End Patch\n", "apply-patch")
		note("patch", out, ok)
		if name == "file" {
			continue // the control
		}
		out, ok = call(name, "write_file", map[string]string{"content": "x"})
		note("write", out, ok)
		for what, out := range outs {
			if !strings.Contains(out, name) {
				t.Errorf("%s: the message does not name %s: %s", what, name, out)
			}
		}
		after, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || after.Mode() != before.Mode() || after.Size() != before.Size() ||
			!after.ModTime().Equal(before.ModTime()) {
			t.Errorf("%s has changed: %v", name, err)
		}
	}
}
