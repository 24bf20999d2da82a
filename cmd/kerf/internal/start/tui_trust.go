package start

import (
	"io/fs"
	"os"
	"path/filepath"

	"kerf/internal/config"
	"kerf/internal/config/peers"
	"kerf/internal/config/trust"
	"kerf/internal/front/tui"
	"kerf/internal/host"
)

// maxFound bounds the files that the question of trust names.
const maxFound = 100

// trustQuestion is the question to ask before a session is opened, or nil: the user
// decided before, or says with a flag what Kerf may do.
func (o *tuiOptions) trustQuestion(h *host.Host) (*tui.Trust, error) {
	c := h.Config
	state := c.Trust(c.Root)
	if state != config.Undecided && state != config.Changed || o.sandbox != "" || o.fullAuto || o.bypass {
		return nil, nil
	}
	// The answer is about what is there now, and the files are named after it was
	// read: what comes later is not trusted.
	hash, err := trust.Hash(c.Root, c.Cwd, c.Home)
	if err != nil {
		return nil, nil // it cannot be trusted, and stays as it is
	}
	t := &tui.Trust{Root: c.Root, Changed: state == config.Changed, Found: controlFiles(c.Root, c.Cwd, c.Home)}
	t.Decide = func(yes bool) error {
		if !yes {
			return trust.Refuse(c.Home, c.Root)
		}
		if err := o.p.Trustable(c); err != nil {
			return err
		}
		if err := trust.Accept(c.Home, c.Root, hash); err != nil {
			return err
		}
		again, err := o.p.Host(nil)
		if err != nil {
			return err
		}
		h.Use(again.Config, again.Warnings)
		return nil
	}
	return t, nil
}

// controlFiles lists the files of the .kerf directories, and those of other agents that
// name what would be started, from cwd up to root.
func controlFiles(root, cwd, home string) []string {
	var found []string
	for dir := cwd; ; dir = filepath.Dir(dir) {
		top := filepath.Join(dir, ".kerf")
		if top != filepath.Clean(home) {
			_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return nil
				case len(found) >= maxFound:
					return fs.SkipAll
				case !d.IsDir():
					found = append(found, filepath.ToSlash(path))
				}
				return nil
			})
		}
		for _, name := range peers.Names() {
			if path := filepath.Join(dir, filepath.FromSlash(name)); exists(path) && len(found) < maxFound {
				found = append(found, filepath.ToSlash(path))
			}
		}
		if dir == root || dir == filepath.Dir(dir) {
			return found
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
