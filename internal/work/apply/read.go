package apply

import (
	"golang.org/x/sync/errgroup"

	"kerf/internal/text/delta"
	"kerf/internal/work/tree"
)

const (
	// aheadMin is how many files are worth reading beside each other.
	aheadMin = 8
	// atOnce bounds the files that are read at the same time.
	atOnce = 4
)

// reader reads what a patch asks about.
type reader struct {
	t     *tree.Tree
	room  *room
	known map[string]found
}

type found struct {
	img *delta.Image
	err error
}

// ahead reads the files of a patch, several at a time, for a plan that asks for one
// after the other and keeps them all.
func (r *reader) ahead(paths []string) {
	if len(paths) < aheadMin {
		return
	}
	all := make([]found, len(paths))
	var g errgroup.Group
	g.SetLimit(atOnce)
	const each = 16 // a goroutine for every file would cost as much as the file
	for at := 0; at < len(paths); at += each {
		g.Go(func() error {
			for i := at; i < min(at+each, len(paths)); i++ {
				all[i].img, all[i].err = r.look(paths[i])
			}
			return nil
		})
	}
	_ = g.Wait() // errors are told to who asks for the file
	r.known = make(map[string]found, len(paths))
	for i, p := range paths {
		r.known[p] = all[i]
	}
}

func (r *reader) read(path string) (*delta.Image, error) {
	if f, ok := r.known[path]; ok {
		return f.img, f.err
	}
	return r.look(path)
}

func (r *reader) look(path string) (*delta.Image, error) {
	abs, err := r.t.Resolve(path)
	if err != nil {
		return nil, err
	}
	return r.room.look(r.t, abs)
}
