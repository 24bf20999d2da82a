package rollout

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"kerf/internal/atomicfile"
)

func open(dir string, o Options) (*Writer, *scanner, error) {
	if err := checkDir(dir); err != nil {
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	w := &Writer{dir: dir, o: o.filled(), diffs: -1, behind: true}
	if _, err := os.Lstat(filepath.Join(dir, rolloutName)); err != nil {
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	if err := w.acquire(); err != nil {
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	s, err := w.resume()
	if err != nil {
		w.release()
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	return w, s, nil
}

func (w *Writer) resume() (*scanner, error) {
	last, _ := readHead(filepath.Join(w.dir, headName))
	path := filepath.Join(w.dir, rolloutName)
	f, err := private(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	s, err := w.scan(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !s.damage.none() {
		if f, err = w.repair(f, s); err != nil {
			return nil, fmt.Errorf("repair %s: %w", path, err)
		}
	}
	s.missing(last)
	w.file, w.size, w.seq, w.prev = f, s.whole, s.lastSeq(), s.lastHash
	if w.mark = s.mark; w.mark.Offset > 0 {
		if was, ok := readMark(filepath.Join(w.dir, markName)); !ok || !was.at(w.mark) {
			_ = saveMark(w.dir, w.mark) // see advance
		}
	}
	w.openHead()
	w.writeHead()
	return s, nil
}

// repair makes the file sound again and returns it, open. When only the end is
// torn, the end is cut off, or ended; otherwise the sound records are written
// anew beside the file and take its place.
func (w *Writer) repair(f *os.File, s *scanner) (_ *os.File, err error) {
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if s.tornOnly && s.tornGood {
		if _, err := f.WriteAt([]byte{'\n'}, s.whole+s.damage.Torn); err != nil {
			return nil, err
		}
		s.whole += s.damage.Torn + 1
		return f, nil
	}
	if s.tornOnly {
		tail := io.NewSectionReader(f, s.whole, s.damage.Torn)
		if s.damage.Kept, err = w.aside(tail); err != nil {
			return nil, err
		}
		return f, f.Truncate(s.whole)
	}
	path := filepath.Join(w.dir, rolloutName)
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if s.damage.Kept, err = w.aside(io.NewSectionReader(f, 0, st.Size())); err != nil {
		return nil, err
	}
	if s.whole, err = writeRecords(path+".new", s.records); err != nil {
		return nil, err
	}
	f.Close() // some systems do not replace an open file
	if err := os.Rename(path+".new", path); err != nil {
		return nil, err
	}
	if err := atomicfile.SyncDir(w.dir); err != nil {
		return nil, err
	}
	return private(path, os.O_RDWR)
}

// aside keeps bytes in a new rollout.damaged-N and returns its name.
func (w *Writer) aside(r io.Reader) (name string, err error) {
	for n := 1; ; n++ {
		name = damagedName + strconv.Itoa(n)
		path := filepath.Join(w.dir, name)
		f, err := private(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(f, r)
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err == nil {
			err = atomicfile.SyncDir(w.dir) // what is copied is cut off next
		}
		if err != nil {
			_ = os.Remove(path)
			return "", err
		}
		return name, nil
	}
}

func writeRecords(path string, records []Record) (size int64, err error) {
	_ = os.Remove(path) // left by a repair that was cut off; what cannot be removed is in the way next
	f, err := private(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	for _, r := range records {
		n, _ := out.Write(r.Raw) // the writer keeps its first error for Flush
		_ = out.WriteByte('\n')
		size += int64(n) + 1
	}
	err = out.Flush()
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return size, err
}
