package mounts

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Table reads the table of the kernel.
func Table() []Point {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var table []Point
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line) // id, parent, device, root, mount point
		if len(fields) > 4 {
			table = append(table, Point{unescaped(fields[4]), string(fields[2]), unescaped(fields[3])})
		}
	}
	return table
}

// unescaped reads the octal numbers that stand for blanks.
func unescaped(field []byte) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if n, err := strconv.ParseUint(string(field[i+1:i+4]), 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}
