package lean

import (
	"os"
	"strings"
	"testing"
)

// TestMapping: only parts of the program's own file that cannot be written are forgotten.
func TestMapping(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-01500000 r-xp 00000000 fe:00 42    /usr/bin/kerf\n":         true,
		"01500000-02900000 r--p 01100000 fe:00 42    /usr/bin/kerf\n":         true,
		"02900000-02a00000 rw-p 02500000 fe:00 42    /usr/bin/kerf\n":         false,
		"00400000-01500000 r-xp 00000000 fe:00 42    /usr/bin/kerfoo\n":       false,
		"7ffc0000-7ffd0000 r-xp 00000000 00:00 0     [vdso]\n":                false,
		"c000000000-c004000000 rw-p 00000000 00:00 0\n":                       false,
		"01500000-00400000 r--p 01100000 fe:00 42    /usr/bin/kerf\n":         false,
		"00400000-01500000 r-xp 00000000 fe:00 42    /usr/bin/kerf (deleted)": false,
	} {
		if start, size, ok := mapping(line, "/usr/bin/kerf"); ok != want || ok && (start == 0 || size == 0) {
			t.Errorf("%q: %x %x %v, want %v", line, start, size, ok, want)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(maps)) {
		if _, _, ok := mapping(line, self); ok {
			found++
		}
	}
	if found == 0 {
		t.Error("the program's own file is not found")
	}
	unmap()
}
