package boundary

import (
	"path/filepath"

	"kerf/internal/work/boundary/names"
)

// startParts are the places of a home from which programs are run.
func startParts() []Part {
	var parts []Part
	for _, name := range names.StartFiles {
		parts = append(parts, Part{Name: name})
	}
	for _, name := range names.StartDirs {
		parts = append(parts, Part{Name: name, Dir: true})
	}
	return parts
}

// shadowing are further ones. An empty file in their place would make bash pass over
// .profile, so that nothing stands in for them while they are absent.
var shadowing = []string{".bash_profile", ".bash_login"}

// protectHome closes what is run from a home that is a root, or lies in one.
func (r *resolver) protectHome(p Policy) {
	home, err := r.view.Real(p.Home)
	if p.Home == "" || err != nil || r.effective(home) != Write {
		return
	}
	const why = "programs run what is there when you log in or start them"
	for _, part := range startParts() {
		path := filepath.Join(home, filepath.FromSlash(part.Name))
		if r.effective(path) != Write || r.isRoot(path) {
			continue // a rule says something else
		}
		switch r.at(path) {
		case absent:
			if r.at(filepath.Dir(path)) == dir {
				r.closePart(path, part)
			} else {
				r.untouched(path)
			}
		case link:
			r.untouched(path)
			if real, err := r.view.Real(path); err == nil && r.effective(real) == Write {
				r.close(real)
				r.why[real] = why
			}
		default:
			r.close(path)
		}
		r.why[path] = why
	}
	for _, name := range shadowing {
		path := filepath.Join(home, name)
		if r.effective(path) != Write {
			continue
		}
		if at := r.at(path); at == file {
			r.close(path)
		} else {
			r.untouched(path)
		}
		r.why[path] = why
	}
}

// untouched notes a name in whose place nothing can stand: the file tools leave it alone,
// and what commands make there is moved away, or told if something was there before.
func (r *resolver) untouched(path string) {
	r.plan.Untouched = append(r.plan.Untouched, Name{path, r.at(path) == absent})
}
