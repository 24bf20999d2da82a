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
