package footprint

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// taken is how much memory the machine uses and cannot give back, in bytes.
func taken() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxUint64 // then everybody is counted
	}
	return (number(string(text), "MemTotal:") - number(string(text), "MemAvailable:")) << 10
}

// running is how many processes and threads the machine has.
func running() uint64 {
	text, err := os.ReadFile("/proc/loadavg") // 0.20 0.18 0.12 1/80 11206
	if err != nil {
		return math.MaxUint64
	}
	f := strings.Fields(string(text))
	if len(f) < 4 {
		return math.MaxUint64
	}
	_, all, _ := strings.Cut(f[3], "/")
	n, err := strconv.ParseUint(all, 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// Count is what a process and its descendants hold.
func Count(leader int) (used Limits) {
	for _, pid := range family(leader) {
		dir := "/proc/" + strconv.Itoa(pid)
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue // it is gone
		}
		used.Tasks += number(string(status), "Threads:")
		// What is shared is divided among those who share it.
		if text, err := os.ReadFile(dir + "/smaps_rollup"); err == nil {
			used.Memory += number(string(text), "Pss:") << 10
		} else { // not all processes let us look that closely
			used.Memory += number(string(status), "RssAnon:") << 10
		}
	}
	return used
}

// number reads a line such as "Pss: 12 kB".
func number(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			f := strings.Fields(rest)
			if len(f) == 0 {
				return 0
			}
			n, _ := strconv.ParseUint(f[0], 10, 64)
			return n
		}
	}
	return 0
}

// family is a process with all its descendants, as /proc has them now.
func family(leader int) []int {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return []int{leader}
	}
	children := map[int][]int{}
	for _, e := range names {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it is gone
		}
		// The name of the program stands in brackets and may hold any byte.
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(f) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(f[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	all := []int{leader}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
