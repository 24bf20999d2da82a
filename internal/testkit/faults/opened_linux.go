package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Opened are the files and directories below dir, named from there, that this process has open.
func Opened(t testing.TB, dir string) (names []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, fd := range list {
		if name, err := os.Readlink(fd); err == nil && strings.HasPrefix(name, dir+"/") {
			names = append(names, strings.TrimPrefix(name, dir+"/"))
		}
	}
	return names
}
