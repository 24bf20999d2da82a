//go:build unix

// Command bench measures `kerf exec` as a whole process against a scripted
// server on loopback, beside the least client that can do the same loop
// (internal/testkit/floor), and `kerf apply` beside git. It prints tables of medians;
// it judges nothing.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"kerf/internal/model/script"
	"kerf/internal/testkit/modeltest"
)

// runs is how often each program is started for the figures of one run.
const runs = 15

func main() {
	if err := bench(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench() error {
	tmp, err := os.MkdirTemp("", "kerf-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	b := &bencher{tmp: tmp, kerf: filepath.Join(tmp, "kerf"), floor: filepath.Join(tmp, "floor")}
	for bin, pkg := range map[string]string{b.kerf: "./cmd/kerf", b.floor: "./internal/testkit/floor"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", pkg, err, out)
		}
	}
	st, err := os.Stat(b.kerf)
	if err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d cores, kerf binary %.1f MB\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		float64(st.Size())/1e6)
	if err := b.start(); err != nil {
		return err
	}
	for _, part := range []func() error{b.rounds, b.patches, b.largeEdits, b.output} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// bencher runs programs against a server.
type bencher struct {
	tmp, kerf, floor string
}

// result is what one run showed, mostly from the server's side.
type result struct {
	first  time.Duration   // from the start of the process to its first request
	wall   time.Duration   // of the whole process
	peak   int64           // bytes of memory, of the largest process
	cpu    time.Duration   // of the process and of what it waited for
	gaps   []time.Duration // from the end of response k to request k+1
	bytes  int             // of all request bodies
	append float64         // share of requests whose input begins with the one before
}

func (b *bencher) start() error {
	say := []script.Round{{Items: []script.Item{{Message: "done"}}, Usage: &script.Usage{Input: 10, Output: 2}}}
	kerf, err := b.many(say, b.kerfArgs("danger-full-access"))
	if err != nil {
		return err
	}
	floor, err := b.many(say, b.floorArgs)
	if err != nil {
		return err
	}
	f, k := firsts(kerf), firsts(floor)
	fmt.Printf("one message                     kerf      floor     ratio\n")
	fmt.Printf("start to first request, ms   %8.2f  %8.2f  %8.2f\n", ms(median(f)), ms(median(k)),
		ratio(median(f), median(k)))
	wk, wf := median(each(kerf, func(r result) time.Duration { return r.wall })),
		median(each(floor, func(r result) time.Duration { return r.wall }))
	fmt.Printf("wall of the process, ms      %8.2f  %8.2f  %8.2f\n", ms(wk), ms(wf), ratio(wk, wf))
	fmt.Printf("peak memory, MB              %8.1f  %8.1f\n\n", peak(kerf), peak(floor))
	return nil
}

func firsts(rs []result) []time.Duration {
	return each(rs, func(r result) time.Duration { return r.first })
}

func each(rs []result, f func(result) time.Duration) []time.Duration {
	var ds []time.Duration
	for _, r := range rs {
		ds = append(ds, f(r))
	}
	return ds
}

func peak(rs []result) float64 {
	var top int64
	for _, r := range rs {
		top = max(top, r.peak)
	}
	return float64(top) / 1e6
}

// task is a kind of round.
type task struct {
	name    string
	sandbox string
	item    func(dir string, k int) script.Item
	floor   bool
}

func (b *bencher) rounds() error {
	shell := func(string, int) script.Item { return modeltest.Call("exec_command", map[string]any{"cmd": "true"}) }
	write := func(string, int) script.Item { return modeltest.Call("exec_command", map[string]any{"cmd": ":"}) }
	edit := func(dir string, k int) script.Item {
		return modeltest.Call("edit_file", map[string]any{"file_path": filepath.Join(dir, "file.txt"),
			"old_string": fmt.Sprintf("line %d\n", k), "new_string": fmt.Sprintf("line %d\n", k+1)})
	}
	fmt.Printf("median per round, ms        20 rounds  200 rounds  last/first  floor 200  over floor     ratio   " +
		"request MB  append-only   peak MB\n")
	for _, t := range []task{
		{"true, no sandbox", "danger-full-access", shell, true},
		{": scanned, no sandbox", "danger-full-access", write, true},
		{"one-line edit, fsync on", "workspace-write", edit, true},
		{"true, bubblewrap", "workspace-write", shell, false},
	} {
		if err := b.task(t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return b.bareSandbox()
}

func (b *bencher) task(t task) error {
	short, err := b.loop(t, 20, b.kerfArgs(t.sandbox))
	if err != nil {
		return err
	}
	long, err := b.loop(t, 200, b.kerfArgs(t.sandbox))
	if err != nil {
		return err
	}
	m20, m200 := median(short.gaps), median(long.gaps)
	early, late := median(long.gaps[10:30]), median(long.gaps[180:])
	fmt.Printf("%-27s %9.2f  %10.2f  %10.2f", t.name, ms(m20), ms(m200), ratio(late, early))
	if t.floor {
		f, err := b.loop(t, 200, b.floorArgs)
		if err != nil {
			return err
		}
		mf := median(f.gaps)
		fmt.Printf("  %9.2f  %10.2f  %8.2f", ms(mf), ms(m200-mf), ratio(m200, mf))
	} else {
		fmt.Printf("  %9s  %10s  %8s", "-", "-", "-")
	}
	fmt.Printf("  %11.2f  %10.0f%%  %8.1f\n", float64(long.bytes)/1e6, 100*long.append, float64(long.peak)/1e6)
	return nil
}

// bareSandbox is what starting true in a bare bubblewrap costs.
func (b *bencher) bareSandbox() error {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		fmt.Println("\nbare bubblewrap: not installed")
		return nil
	}
	var ds []time.Duration
	for range 100 {
		began := time.Now()
		cmd := exec.Command(bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
			"bash", "-c", "true")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("bare bubblewrap: %w", err)
		}
		ds = append(ds, time.Since(began))
	}
	fmt.Printf("\nbare bubblewrap start of bash -c true: %.2f ms (median of 100)\n", ms(median(ds)))
	return nil
}

func (b *bencher) loop(t task, n int, args func(string, string) *exec.Cmd) (result, error) {
	dir, err := b.repository()
	if err != nil {
		return result{}, err
	}
	var rounds []script.Round
	for k := range n {
		rounds = append(rounds, script.Round{Items: []script.Item{t.item(dir, k)},
			Usage: &script.Usage{Input: 100, Output: 10}})
	}
	rounds = append(rounds, script.Round{Items: []script.Item{{Message: "done"}}})
	return b.once(rounds, dir, args)
}

func (b *bencher) many(rounds []script.Round, args func(string, string) *exec.Cmd) ([]result, error) {
	var rs []result
	for range runs {
		dir, err := b.repository()
		if err != nil {
			return nil, err
		}
		r, err := b.once(rounds, dir, args)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// repository makes a small git repository with the file that edits change.
func (b *bencher) repository() (string, error) {
	dir, err := os.MkdirTemp(b.tmp, "repo-")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "file.txt"), []byte("first\nline 0\nlast\n"), 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("git", "init", "-q", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git init: %w: %s", err, out)
	}
	return dir, nil
}

func (b *bencher) kerfArgs(sandbox string) func(string, string) *exec.Cmd {
	return func(dir, base string) *exec.Cmd {
		cmd := exec.Command(b.kerf, "exec", "--json", "-C", dir, "-s", sandbox, "-m", "m",
			"-c", "model_provider=\"bench\"", "-c", "model_providers.bench.name=\"bench\"",
			"-c", "model_providers.bench.wire_api=\"responses\"", "-c", "model_providers.bench.base_url=\""+base+"\"", "go")
		cmd.Env = append(os.Environ(), "KERF_HOME="+filepath.Join(b.tmp, "home"))
		return cmd
	}
}

func (b *bencher) floorArgs(dir, base string) *exec.Cmd {
	cmd := exec.Command(b.floor, base)
	cmd.Dir = dir
	return cmd
}

// once runs one process against a server that plays rounds.
func (b *bencher) once(rounds []script.Round, dir string, args func(string, string) *exec.Cmd) (result, error) {
	s := &server{}
	for k, r := range rounds {
		s.answers = append(s.answers, []byte(strings.Join(modeltest.Render(r, k+1), "")))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return result{}, err
	}
	srv := &http.Server{Handler: s}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	defer serving.Wait()
	defer srv.Close()

	var stderr bytes.Buffer
	cmd := args(dir, "http://"+l.Addr().String())
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	r := s.result(began)
	r.wall = time.Since(began)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.peak = u.Maxrss * 1024
	}
	if len(r.gaps) != len(rounds)-1 {
		return r, fmt.Errorf("%d requests came, want %d", len(r.gaps)+1, len(rounds))
	}
	return r, nil
}

// server answers request k with answer k and notes when.
type server struct {
	answers [][]byte

	mu      sync.Mutex
	arrived []time.Time
	done    []time.Time
	bodies  [][]byte
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	k := len(s.arrived)
	s.arrived = append(s.arrived, now)
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	if err != nil || k >= len(s.answers) {
		http.Error(w, "no answer left", http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(s.answers[k])
	s.mu.Lock()
	s.done = append(s.done, time.Now())
	s.mu.Unlock()
}

func (s *server) result(began time.Time) result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r result
	if len(s.arrived) == 0 {
		return r
	}
	r.first = s.arrived[0].Sub(began)
	grown := 0
	for k := 1; k < len(s.arrived); k++ {
		r.gaps = append(r.gaps, s.arrived[k].Sub(s.done[k-1]))
		if grows(s.bodies[k-1], s.bodies[k]) {
			grown++
		}
	}
	for _, b := range s.bodies {
		r.bytes += len(b)
	}
	if len(r.gaps) > 0 {
		r.append = float64(grown) / float64(len(r.gaps))
	}
	return r
}

// grows reports whether the input of b begins with the input of a, byte for
// byte.
func grows(a, b []byte) bool {
	x, y := inputOf(a), inputOf(b)
	return len(x) > 0 && bytes.HasPrefix(y, x[:len(x)-1])
}

func inputOf(body []byte) json.RawMessage {
	var v struct {
		Input json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(body, &v)
	return v.Input
}

func median(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	s := slices.Clone(ds)
	slices.Sort(s)
	return s[len(s)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
