//go:build linux

package trust

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOracle compares the log with what strace saw: every proven change is of a path
// that a process of the command opened for writing, made, moved or removed, and every
// path that only the command changed is in the log.
func TestOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("traces many commands")
	}
	count := max(1, number("KERF_TRUST_HISTORIES", part(300, 20))/20)
	sampled(t, count, 15, func(t *testing.T) { trace(t, count) })
}

func trace(t *testing.T, count int) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not there")
	}
	kerf, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := scratch(t)
	base, err := newPlace(kerf, filepath.Join(dir, "base"))
	if err != nil {
		t.Fatal(err)
	}
	if err := makeBase(base); err != nil {
		t.Fatal(err)
	}
	var faults []string
	claims, seen, played := 0, 0, 0
	began := time.Now()
	for n := range count {
		if enough(began, time.Minute) {
			break
		}
		played++
		h := newHistory(uint64(n) + 5000)
		for _, turn := range h.turns {
			for i, c := range turn {
				for c.trait&later != 0 || strings.HasPrefix(c.text, "python3 ") { // slow to trace: a shim
					c = cook(h.r)
				}
				turn[i] = c
			}
		}
		found, c, s, err := traced(h, base.dir, kerf, filepath.Join(dir, fmt.Sprint(n)), strace)
		if err != nil {
			t.Fatalf("%v\n%v", h, err)
		}
		claims, seen = claims+c, seen+s
		if len(found) > 0 {
			faults = append(faults, fmt.Sprintf("%v\n%s", h, strings.Join(found[:min(4, len(found))], "\n")))
		}
	}
	t.Logf("%d histories, strace saw %d paths, the log claims %d", played, seen, claims)
	settle(t, t.Name(), faults)
}

// traced plays a history under strace, with a writer beside it.
func traced(h history, base, kerf, dir, strace string) (faults []string, claims, seen int, err error) {
	p, err := newPlace(kerf, dir)
	if err != nil {
		return nil, 0, 0, err
	}
	if r := p.command("cp", "-a", base+"/.", p.dir); r.code != 0 {
		return nil, 0, 0, fmt.Errorf("copy: %v", r)
	}
	var calls []call
	for i, turn := range h.turns {
		for j, c := range turn {
			calls = append(calls, sh(fmt.Sprintf("t%dc%d", i+1, j+1), c.text, 30000))
		}
	}
	trace := filepath.Join(dir, "trace")
	s, err := p.openUnder([]string{strace, "-f", "-y", "--decode-pids=comm", "-s", "4096", "-o", trace, "-e",
		"trace=" + strings.Join(changing, ",") + ",chdir,fchdir"}, calls)
	if err != nil {
		return nil, 0, 0, err
	}
	before, err := look(p.dir)
	if err != nil {
		return nil, 0, 0, s.end(err)
	}
	w, err := startWriter(p.dir, h.number, 15*time.Millisecond)
	if err != nil {
		return nil, 0, 0, s.end(err)
	}
	err = s.end(s.turn("go"))
	deeds, stopped := w.stop()
	if err != nil || stopped != nil {
		return nil, 0, 0, fmt.Errorf("%w %w", err, stopped)
	}
	after, err := look(p.dir)
	if err != nil {
		return nil, 0, 0, err
	}
	list, err := p.log()
	if err != nil {
		return nil, 0, 0, err
	}
	f, err := os.Open(trace)
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	touched, err := readTrace(f, p.dir)
	if err != nil {
		return nil, 0, 0, err
	}
	faults, claims = compare(p, list, touched, &evidence{dir: p.dir, deeds: deeds, began: []tree{before}, final: after})
	return faults, claims, len(touched), nil
}

// compare judges the log by what was seen.
func compare(p *place, list []entry, touched map[string]bool, e *evidence) (faults []string, claims int) {
	inodes := map[uint64]bool{}
	for _, t := range []tree{e.began[0], e.final} {
		for path, n := range t {
			if touched[path] && n.kind.IsRegular() {
				inodes[n.inode] = true
			}
		}
	}
	under := func(path string) bool {
		for d := path; d != "."; d = filepath.Dir(d) {
			if touched[d] {
				return true
			}
		}
		return inodes[e.began[0][path].inode] || inodes[e.final[path].inode]
	}
	named := map[string]bool{}
	for _, entry := range list {
		for _, c := range entry.Changes {
			path := p.short(c.Path)
			named[path] = true
			if !entry.proven() {
				continue
			}
			claims++
			if !under(path) {
				faults = append(faults, fmt.Sprintf("the log lays %s (%s) to %s, proven; strace saw nothing of it", path, c.Operation, entry.Call))
			}
		}
	}
	writers := e.touched()
	for _, path := range differ(e.began[0], e.final) {
		if touched[path] && !writers(path) && !named[path] && (regular(e.began[0], path) || regular(e.final, path)) {
			faults = append(faults, "strace saw it, the log does not name it: "+describe(path, e.began[0], e.final))
		}
	}
	return faults, claims
}

// changing are the calls that change what is below a directory.
var changing = strings.Fields("open openat openat2 creat unlink unlinkat rename renameat renameat2 rmdir mkdir mkdirat " +
	"link linkat symlink symlinkat truncate ftruncate chmod fchmod fchmodat mknod mknodat fallocate")

var (
	traceLine = regexp.MustCompile(`^(\d+)<([^>]*)> +(.*)$`)
	quoted    = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	onFile    = regexp.MustCompile(`^\w+\(\d+<([^>]*)>`)
	opened    = regexp.MustCompile(` = \d+<([^>]*)>$`)
	atCwd     = regexp.MustCompile(`AT_FDCWD<([^>]*)>`)
)

// readTrace returns the paths below dir, from there, that processes other than kerf
// changed or opened for writing.
func readTrace(f *os.File, dir string) (map[string]bool, error) {
	touched := map[string]bool{}
	cwd, begun := map[string]string{}, map[string]string{}
	add := func(path string) {
		if rel, ok := strings.CutPrefix(filepath.Clean(strings.TrimSuffix(path, " (deleted)")), dir+"/"); ok {
			touched[rel] = true
		}
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := traceLine.FindStringSubmatch(lines.Text())
		if m == nil || m[2] == "kerf" || m[2] == "bwrap" {
			continue
		}
		pid, l := m[1], m[3]
		if head, ok := strings.CutSuffix(l, " <unfinished ...>"); ok {
			begun[pid] = head
			continue
		}
		if strings.HasPrefix(l, "<... ") {
			_, tail, _ := strings.Cut(l, " resumed>")
			l = begun[pid] + tail
		}
		if m := atCwd.FindStringSubmatch(l); m != nil {
			cwd[pid] = m[1]
		}
		if strings.Contains(l, ") = -1 ") || strings.HasSuffix(l, ") = ?") {
			continue
		}
		here := cwd[pid]
		if here == "" {
			here = dir
		}
		name, _, _ := strings.Cut(l, "(")
		paths := quoted.FindAllStringSubmatch(l, -1)
		full := func(q []string) string {
			path := strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[2])
			switch {
			case filepath.IsAbs(path):
				return path
			case q[1] != "":
				return filepath.Join(q[1], path)
			}
			return filepath.Join(here, path)
		}
		switch {
		case name == "chdir" && len(paths) == 1:
			cwd[pid] = full(paths[0])
		case name == "fchdir" || !slices.Contains(changing, name):
		case strings.HasPrefix(name, "open") || name == "creat":
			if name != "creat" && !strings.Contains(l, "O_WRONLY") && !strings.Contains(l, "O_RDWR") &&
				!strings.Contains(l, "O_CREAT") && !strings.Contains(l, "O_TRUNC") {
				continue
			}
			if m := opened.FindStringSubmatch(l); m != nil {
				add(m[1])
			}
			if len(paths) > 0 {
				add(full(paths[0]))
			}
		case strings.HasPrefix(name, "symlink"):
			if len(paths) == 2 {
				add(full(paths[1]))
			}
		case len(paths) == 0:
			if m := onFile.FindStringSubmatch(l); m != nil {
				add(m[1])
			}
		default:
			for _, q := range paths {
				add(full(q))
			}
		}
	}
	return touched, lines.Err()
}

// TestOracleCanFail seeds both faults that the comparison looks for.
func TestOracleCanFail(t *testing.T) {
	e := sound(true)
	p := &place{dir: e.dir}
	seen := map[string]bool{"a.txt": true, "b.txt": true}
	if faults, claims := compare(p, e.entries, seen, e); len(faults) > 0 || claims != 2 {
		t.Errorf("a sound history is refused: %v, %d claims", faults, claims)
	}
	if faults, _ := compare(p, e.entries, map[string]bool{"a.txt": true}, e); len(faults) != 1 {
		t.Errorf("a claim that strace did not see is taken: %v", faults)
	}
	e.entries[0].Changes = e.entries[0].Changes[:1]
	if faults, _ := compare(p, e.entries, seen, e); len(faults) != 1 {
		t.Errorf("a change that the log lacks is not found: %v", faults)
	}
}
