//go:build linux

package trust

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// token matches what every write of the writer carries: no two writes carry the same.
var token = regexp.MustCompile(`W[0-9]+\.[0-9]+;`)

// ident tells whether somebody wrote to a file: its inode, size and time of change.
// Writes get a new time also within one tick, since the writer has looked at the last one.
type ident struct{ Inode, Mtime, Size int64 }

func identOf(st *syscall.Stat_t) ident {
	return ident{int64(st.Ino), st.Mtim.Sec*1e9 + st.Mtim.Nsec, st.Size} //nolint:gosec // inodes are small
}

// deed is one thing that the writer did. Paths are relative to its directory.
type deed struct {
	N        int
	At       int64 // when it began, in nanoseconds
	Op, Path string
	To       string   // of a move
	Tokens   []string // that it wrote, all it wrote
	Took     []string `json:",omitempty"` // that were in the file, and are not any more
	Whole    bool     // it wrote the file from beginning to end
	Before   ident    // of the file that it wrote to, just before
	After    ident    // and just after
}

// writer is a process that edits files beside Kerf.
type writer struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	mu    sync.Mutex
	deeds []deed
	done  chan error
}

// startWriter lets a writer loose in a directory. It pauses about pause between its
// edits.
func startWriter(dir string, seed uint64, pause time.Duration) (*writer, error) {
	w := &writer{cmd: exec.Command("/proc/self/exe", dir, strconv.FormatUint(seed, 10), pause.String()),
		done: make(chan error, 1)}
	w.cmd.Env = append(os.Environ(), roleKey+"=writer", "GOMAXPROCS=1")
	w.cmd.Stderr = os.Stderr
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { w.done <- w.hear(out) }() // ends with the process
	return w, nil
}

func (w *writer) hear(out io.Reader) error {
	d := json.NewDecoder(bufio.NewReader(out))
	for {
		var did deed
		if err := d.Decode(&did); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		w.mu.Lock()
		w.deeds = append(w.deeds, did)
		w.mu.Unlock()
	}
}

// count is how much the writer has told so far.
func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.deeds)
}

// stop ends the writer between two edits and returns all it did.
func (w *writer) stop() ([]deed, error) {
	w.in.Close()
	err := <-w.done
	return w.deeds, errors.Join(err, w.cmd.Wait())
}

// runWriter is the process: random edits until its input ends.
func runWriter(args []string) int {
	if len(args) != 3 {
		return 2
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return 2
	}
	pause, err := time.ParseDuration(args[2])
	if err != nil {
		return 2
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	p := &pen{dir: args[0], seed: seed, r: rand.New(rand.NewPCG(seed, 77))}
	out := json.NewEncoder(os.Stdout)
	for {
		select {
		case <-ended:
			return 0
		case <-time.After(time.Duration(float64(pause) * p.r.ExpFloat64())):
		}
		if did, err := p.edit(); err == nil {
			if err := out.Encode(did); err != nil {
				return 1
			}
		}
	}
}

// pen makes the edits.
type pen struct {
	dir         string
	seed        uint64
	r           *rand.Rand
	n           int
	files, dirs []string
}

// edit makes one edit. Others change the same files: what fails for that is no deed.
func (p *pen) edit() (deed, error) {
	if p.n%8 == 0 {
		p.look()
	}
	p.n++
	d := deed{N: p.n, At: time.Now().UnixNano(), Tokens: []string{fmt.Sprintf("W%d.%d;", p.seed, p.n)}}
	text := d.Tokens[0] + "\n"
	path := p.one(p.files)
	fresh := filepath.Join(p.one(p.dirs), fmt.Sprintf("n%d.txt", p.n))
	d.Path = path
	var err error
	switch k := p.r.IntN(100); {
	case k < 14:
		d.Op = "in place"
		err = p.open(&d, os.O_RDWR, func(f *os.File, old []byte) error {
			_, err := f.WriteAt([]byte(text), int64(p.start(old)))
			return err
		})
	case k < 28:
		d.Op, d.Whole = "rewrite", true
		err = p.open(&d, os.O_RDWR, func(f *os.File, old []byte) error {
			d.Tokens = append(d.Tokens, token.FindAllString(string(old), -1)...)
			at := p.start(old)
			if err := f.Truncate(0); err != nil {
				return err
			}
			_, err := f.WriteAt([]byte(string(old[:at])+text+string(old[at:])), 0)
			return err
		})
	case k < 46:
		d.Op = "append"
		err = p.open(&d, os.O_RDWR|os.O_APPEND, func(f *os.File, _ []byte) error {
			_, err := f.WriteString(text)
			return err
		})
	case k < 62:
		d.Op, d.Whole = "replace", true
		err = p.replace(&d, text)
	case k < 68:
		d.Op = "delete"
		err = os.Remove(filepath.Join(p.dir, path))
	case k < 84:
		d.Op, d.Path, d.Whole = "create", fresh, true
		err = p.open(&d, os.O_RDWR|os.O_CREATE|os.O_EXCL, func(f *os.File, _ []byte) error {
			_, err := f.WriteString(text)
			return err
		})
	case k < 90:
		d.Op = "chmod"
		err = os.Chmod(filepath.Join(p.dir, path), []fs.FileMode{0o600, 0o644, 0o755}[p.r.IntN(3)])
	case k < 97:
		d.Op, d.Path = "mkdir", filepath.Join(p.one(p.dirs), fmt.Sprintf("m%d", p.n))
		err = os.Mkdir(filepath.Join(p.dir, d.Path), 0o755)
		p.dirs = append(p.dirs, d.Path)
	default:
		d.Op, d.Path = "move", p.one(p.dirs)
		d.To = filepath.Join(filepath.Dir(d.Path), fmt.Sprintf("v%d", p.n))
		if d.Path == "." {
			return d, fs.ErrInvalid
		}
		err = os.Rename(filepath.Join(p.dir, d.Path), filepath.Join(p.dir, d.To))
	}
	return d, err
}

func (p *pen) one(list []string) string { return list[p.r.IntN(len(list))] }

// start is where a random line begins.
func (p *pen) start(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	return strings.LastIndexByte(string(b[:p.r.IntN(len(b))]), '\n') + 1
}

// open opens a file that is not a link and no FIFO, and notes what it was and became.
func (p *pen) open(d *deed, flags int, f func(*os.File, []byte) error) error {
	file, err := os.OpenFile(filepath.Join(p.dir, d.Path), flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return errors.Join(err, fs.ErrInvalid)
	}
	old, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<20))
	if err != nil {
		return err
	}
	if d.Before, err = fileIdent(file); err != nil {
		return err
	}
	if err := f(file, old); err != nil {
		return err
	}
	if d.After, err = fileIdent(file); err != nil {
		return err
	}
	now, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<20))
	d.Took = missing(token.FindAllString(string(old), -1), string(now))
	return err
}

// missing are the tokens that a text has not.
func missing(tokens []string, text string) (list []string) {
	for _, t := range tokens {
		if !strings.Contains(text, t) {
			list = append(list, t)
		}
	}
	return list
}

// replace writes beside the file, then in its place, as editors do.
func (p *pen) replace(d *deed, text string) error {
	full := filepath.Join(p.dir, d.Path)
	st, err := os.Lstat(full)
	if err != nil || !st.Mode().IsRegular() {
		return errors.Join(err, fs.ErrInvalid)
	}
	old, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	d.Tokens = append(d.Tokens, token.FindAllString(string(old), -1)...)
	at := p.start(old)
	temp := full + ".swp"
	file, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(string(old[:at]) + text + string(old[at:])); err != nil {
		return err
	}
	if d.After, err = fileIdent(file); err != nil {
		return err
	}
	if err := os.Rename(temp, full); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

func fileIdent(f *os.File) (ident, error) {
	var st syscall.Stat_t
	err := syscall.Fstat(int(f.Fd()), &st) //nolint:gosec // a descriptor
	return identOf(&st), err
}

// look lists what is there now.
func (p *pen) look() {
	p.files, p.dirs = nil, nil
	_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(p.dir, path); {
		case err != nil:
		case d.Name() == ".git":
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir():
			p.dirs = append(p.dirs, rel)
		case d.Type().IsRegular() && !strings.HasSuffix(rel, ".swp") && !strings.HasPrefix(d.Name(), ".kerf"):
			p.files = append(p.files, rel)
		}
		return nil
	})
	if len(p.files) == 0 {
		p.files = []string{"a.txt"}
	}
	if len(p.dirs) == 0 {
		p.dirs = []string{"."}
	}
}
