//go:build unix

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"kerf/fleet/task"
)

// number reads a count from the environment.
func number(name string, other int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return other
}

// A line carries connections to the engine, until it is cut.
type line struct {
	listener net.Listener
	to       func() string
	cut      atomic.Bool
	mu       sync.Mutex
	open     map[net.Conn]bool
}

func newLine(t *testing.T, to func() string) *line {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	n := &line{listener: l, to: to, open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go n.carry(c)
		}
	}()
	return n
}

func (n *line) carry(c net.Conn) {
	defer c.Close()
	if n.cut.Load() {
		return
	}
	far, err := net.Dial("tcp", n.to())
	if err != nil {
		return
	}
	defer far.Close()
	n.mu.Lock()
	n.open[c] = true
	n.mu.Unlock()
	defer func() { n.mu.Lock(); delete(n.open, c); n.mu.Unlock() }()
	go func() { _, _ = io.Copy(far, c); far.Close() }()
	_, _ = io.Copy(c, far)
}

func (n *line) break_(on bool) {
	n.cut.Store(on)
	if !on {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		c.Close()
	}
}

// bucket is an S3 store that can be out of order.
func bucket(t *testing.T) (address string, out *atomic.Bool) {
	back := s3mem.New()
	if err := back.CreateBucket("fleet"); err != nil {
		t.Fatal(err)
	}
	out = new(atomic.Bool)
	real := gofakes3.New(back).Server()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out.Load() {
			panic(http.ErrAbortHandler)
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return "s3://fleet/x?endpoint=" + s.URL, out
}

// work of one kind: a scenario, and the patch that it makes without faults.
type work struct{ repo, scenario, want string }

// Workers, engine and store are killed at random, and the network is cut: every task ends
// once, and its result is that of a run without faults, to the byte.
// KERF_FLEET_FAULTS says how many faults.
func TestFaults(t *testing.T) {
	faults := number("KERF_FLEET_FAULTS", 5)
	seed := uint64(number("KERF_FLEET_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("KERF_FLEET_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	address, out := bucket(t)
	t.Setenv("KERF_FLEET_TEST_STORE", address)
	f := newFleet(t)
	lines := map[string]*line{}
	begin := func(name string) { f.work(name, "--address", lines[name].listener.Addr().String()) }
	names := []string{"one", "two", "three"}
	for _, name := range names {
		lines[name] = newLine(t, func() string { return f.address })
		begin(name)
	}
	var kinds []work
	for i := range 4 {
		var steps []string
		for k := range 6 {
			steps = append(steps, fmt.Sprintf("echo %d.%d >> log; sed -i s/^%d$/x%d/ a.txt; sleep 0.%d", i, k, k+1, k, 1+(i+k)%4))
		}
		w := work{repo: f.repository(fmt.Sprint("r", i)), scenario: f.scenario(fmt.Sprint("s", i), steps...)}
		id := fmt.Sprint("calm-", i)
		f.must("submit", "--repo", w.repo, "--id", id, "--scenario", w.scenario, "--wait", "go")
		w.want = f.must("result", "--patch", id)
		if strings.Count(w.want, "+"+fmt.Sprint(i)+".") != 6 {
			t.Fatalf("without faults: %s", w.want)
		}
		kinds = append(kinds, w)
	}
	var ids []string
	submit := func() {
		id := fmt.Sprintf("f-%d", len(ids))
		k := kinds[len(ids)%len(kinds)]
		// Sent until it is there: twice is refused by its name.
		f.until("the task to be taken", time.Minute, func() bool {
			_, err := f.run("submit", "--repo", k.repo, "--id", id, "--scenario", k.scenario, "go")
			return err == nil || strings.Contains(err.Error(), "is a task already")
		})
		ids = append(ids, id)
	}
	counts := map[string]int{}
	for n := range faults {
		submit()
		if n%2 == 0 {
			submit()
		}
		time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
		name := names[rnd.IntN(len(names))]
		kind := rnd.IntN(5)
		if kind == 2 && f.engine == nil {
			kind = 4 // somebody else's engine
		}
		switch kind {
		case 0, 1:
			counts["worker"]++
			f.kill(name)
			begin(name)
		case 2:
			counts["engine"]++
			_ = f.engine.Process.Kill()
			_ = f.engine.Wait()
			f.startEngine()
		case 3:
			counts["store"]++
			out.Store(true)
			time.Sleep(time.Duration(500+rnd.IntN(3000)) * time.Millisecond)
			out.Store(false)
		case 4:
			counts["network"]++
			lines[name].break_(true)
			time.Sleep(time.Duration(500+rnd.IntN(6000)) * time.Millisecond)
			lines[name].break_(false)
		}
	}
	most, ended := 0, 0
	for i, id := range ids {
		r := f.result(id)
		most = max(most, r.Places)
		if r.Outcome != task.Done {
			t.Errorf("%s: %+v; lost %q", id, r, f.state(id).Lost)
			continue
		}
		ended++
		// The engine took one end, of one worker; the others that may have worked on it changed nothing.
		if n := f.completed(id, "Publish"); n != 1 {
			t.Errorf("%s: %d workers ended it", id, n)
		}
		if got := f.must("result", "--patch", id); got != kinds[i%len(kinds)].want {
			t.Errorf("%s: the result differs from that without faults:\n%s", id, got)
		}
	}
	t.Logf("%d faults %v; %d of %d tasks done, at most %d places", faults, counts, ended, len(ids), most)
	for _, name := range names {
		f.until("worker "+name+" to clean up", 90*time.Second, func() bool {
			left, _ := os.ReadDir(filepath.Join(f.dir, name, "tasks"))
			return len(left) == 0
		})
	}
}
