package rollout

import "fmt"

// Hold keeps writers away from a session that nobody has, until release is
// called. The error is ErrLive when the session is in use.
func Hold(dir string) (release func(), err error) {
	if err := checkDir(dir); err != nil {
		return nil, fmt.Errorf("hold session: %w", err)
	}
	w := &Writer{dir: dir}
	if err := w.acquire(); err != nil {
		return nil, fmt.Errorf("hold session: %w", err)
	}
	return w.release, nil
}

// Extend is Open for those who only append.
func Extend(dir string, o Options) (*Writer, *Damage, error) {
	w, _, damage, err := Resume(dir, o)
	return w, damage, err
}

// Abandon gives the session free as the death of the process would: what waits in
// memory is lost, and nothing is synced.
func (w *Writer) Abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	if w.head != nil {
		w.head.Close()
	}
	w.file.Close()
	w.release()
}
