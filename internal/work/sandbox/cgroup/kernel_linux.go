package cgroup

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Own is the parent for the commands of this process. It looks once; that may move this
// process into a child of its cgroup.
var Own = sync.OnceValues(func() (*Parent, error) { return find(kernel{}, os.Getpid()) })

// kernel is the one that runs.
type kernel struct{}

func (kernel) read(name string) (string, error) {
	text, err := os.ReadFile(name)
	return string(text), err
}

func (kernel) write(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0) // never makes a file
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	f.Close()
	return err
}

func (kernel) mkdir(name string) error { return os.Mkdir(name, 0o755) }

func (kernel) rmdir(name string) error { return unix.Rmdir(name) }

func (kernel) list(name string) (names []string, err error) {
	all, err := os.ReadDir(name)
	for _, e := range all {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// delegated asks for the mark that systemd sets; see its CGROUP_DELEGATION.md.
func (kernel) delegated(name string) bool {
	value := make([]byte, 8)
	for _, attribute := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(name, attribute, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

func (kernel) open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

func (kernel) parent(pid int) (parent int) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // none of one that is gone
	// The name of the program stands in brackets and may hold any byte.
	var state string
	_, _ = fmt.Sscan(string(text[strings.LastIndexByte(string(text), ')')+1:]), &state, &parent)
	return parent
}

func name() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
