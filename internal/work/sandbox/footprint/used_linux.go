package footprint

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// kernel is the directory in which it tells of processes.
type kernel string

const machine kernel = "/proc"

// taken is how much memory the machine uses and cannot give back, in bytes.
func (k kernel) taken() uint64 {
	text, err := os.ReadFile(string(k) + "/meminfo")
	if err != nil {
		return math.MaxUint64 // then everybody is counted
	}
	return (number(text, "MemTotal:") - number(text, "MemAvailable:")) << 10
}

// running is how many processes and threads the machine has.
func (k kernel) running() uint64 {
	text, _ := os.ReadFile(string(k) + "/loadavg")
	var load float64
	var awake, all uint64
	if _, err := fmt.Sscanf(string(text), "%f %f %f %d/%d", &load, &load, &load, &awake, &all); err != nil {
		return math.MaxUint64
	}
	return all
}

// count is what a process and its descendants hold.
func (k kernel) count(leader int) (used Limits) {
	for _, pid := range k.family(leader) {
		dir := string(k) + "/" + strconv.Itoa(pid)
		status, _ := os.ReadFile(dir + "/status") // none of one that is gone
		used.Tasks += number(status, "Threads:")
		// What is shared is divided among those who share it.
		if text, err := os.ReadFile(dir + "/smaps_rollup"); err == nil {
			used.Memory += number(text, "Pss:") << 10
		} else { // not all processes let us look that closely
			used.Memory += number(status, "RssAnon:") << 10
		}
	}
	return used
}

// number reads a line such as "Pss: 12 kB". It is 0 where there is none.
func number(text []byte, name string) uint64 {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			digits, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			n, _ := strconv.ParseUint(digits, 10, 64)
			return n
		}
	}
	return 0
}

// family is a process with all its descendants, as they are now.
func (k kernel) family(leader int) []int {
	names, _ := os.ReadDir(string(k))
	children := map[int][]int{}
	for _, e := range names {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(string(k) + "/" + e.Name() + "/stat") // none of one that is gone
		// The name of the program stands in brackets and may hold any byte.
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(f) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(f[1])
		children[parent] = append(children[parent], pid)
	}
	all := []int{leader}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
