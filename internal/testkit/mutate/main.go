// Command mutate changes the code of a package in small ways, one at a time, and tells
// which of the changes its tests notice.
//
//	go run ./internal/testkit/mutate [flags] ./internal/work/txn ...
//
// Each change is compiled through go's -overlay, so no file of the checkout is touched, and
// only those tests run that reach its line, the quick ones first; what processes reach that a
// test starts of its own program counts, unless they are killed. Of all places whose lines
// the tests reach, -n are drawn with -seed; the same seed and the same code give the same
// draw. A change that does not compile does not count. One that makes the tests run out of
// time counts as noticed. At the end comes a table with a row of each package.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	var o options
	flag.IntVar(&o.draws, "n", 60, "how many places of each package are tried; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "what the draw begins with")
	flag.IntVar(&o.least, "least", 0, "the share of noticed changes, in percent, below which it fails")
	flag.StringVar(&o.with, "with", "", "further packages whose tests count, separated by commas")
	flag.StringVar(&o.run, "run", "", "only these tests, as for go test")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "mutate: name at least one package, such as ./internal/work/txn")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	low := false
	var rows []sum
	for _, room := range flag.Args() {
		s, err := o.room(ctx, room, os.Stdout)
		if err != nil {
			fmt.Println(s) // as far as it came
			fmt.Fprintf(os.Stderr, "mutate: %s: %v\n", room, err)
			stop()
			os.Exit(1)
		}
		fmt.Println(s)
		rows = append(rows, s)
		low = low || s.share() < o.least
	}
	fmt.Print(table(rows))
	if low {
		fmt.Fprintf(os.Stderr, "mutate: below %d %%\n", o.least)
		stop()
		os.Exit(1)
	}
}

type options struct {
	draws     int
	seed      uint64
	least     int
	with, run string
}

// sum is what came of one package.
type sum struct {
	room                      string
	places, covered           int // that could be changed; of these, in lines that tests reach
	noticed, survived, broken int
}

func (s sum) share() int { return 100 * s.noticed / max(s.noticed+s.survived, 1) }

func (s sum) String() string {
	return fmt.Sprintf("%s: %d of %d noticed (%d %%); %d places, %d in lines that tests reach; %d did not compile",
		s.room, s.noticed, s.noticed+s.survived, s.share(), s.places, s.covered, s.broken)
}

// table is what came of all packages, as Markdown.
func table(rows []sum) string {
	var b strings.Builder
	b.WriteString("| package | places | not reached | tried | noticed | survived | share |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d %% |\n", strings.TrimPrefix(s.room, "./"), s.places,
			s.places-s.covered, s.noticed+s.survived, s.noticed, s.survived, s.share())
	}
	return b.String()
}

// room tries the changes of one package and writes those that nobody noticed.
func (o options) room(ctx context.Context, room string, out io.Writer) (sum, error) {
	s := sum{room: room}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	files, err := sources(ctx, room)
	if err != nil {
		return s, err
	}
	tests, err := o.tests(ctx, room, dir)
	if err != nil {
		return s, err
	}
	var all []place
	for _, f := range files {
		list, err := places(f)
		if err != nil {
			return s, err
		}
		s.places += len(list)
		for _, p := range list {
			if len(tests.of(p)) > 0 {
				all = append(all, p)
			}
		}
	}
	s.covered = len(all)
	r := rand.New(rand.NewPCG(o.seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all {
		if o.draws > 0 && s.noticed+s.survived >= o.draws {
			break
		}
		verdict, err := try(ctx, dir, p, tests.of(p))
		switch {
		case err != nil:
			return s, err
		case verdict == broken:
			s.broken++
		case verdict == noticed:
			s.noticed++
		default:
			s.survived++
			fmt.Fprintf(out, "survived  %s:%d:%d  %s -> %s\n", short(p.file), p.line, p.column, oneLine(p.old), oneLine(p.new))
		}
	}
	return s, nil
}

// sources are the files of a package on this system, without its tests.
func sources(ctx context.Context, room string) ([]string, error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles", room).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	for i, f := range p.GoFiles {
		p.GoFiles[i] = filepath.Join(p.Dir, f)
	}
	return p.GoFiles, nil
}

func tail(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func oneLine(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return strings.Join(strings.Fields(s), " ")
}

func short(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil {
			return rel
		}
	}
	return path
}
