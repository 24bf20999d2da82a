package workspace

import (
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/author"
)

// Blame tells of each line of a file where it comes from: what r, the history of own, knows, and
// what those of the other directories know that the file is in or
// that lie in its repository. May, if not nil, says why a
// directory is not to be asked. What a history that cannot be read may know is unknown.
func Blame(home, own string, r changes.Reader, f author.File, may func(dir string) error) ([]author.Line, error) {
	list, err := f.Lines(r)
	if err != nil {
		return nil, err
	}
	own = rootName(own)
	for _, root := range Holding(home, f.Path) {
		if rootName(root) == own || may != nil && may(root) != nil {
			continue
		}
		err := Read(home, root, func(r changes.Reader) error {
			others, err := f.Lines(r)
			if err == nil {
				author.Join(list, others, root)
			}
			return err
		})
		for i := range list {
			if err != nil && list[i].Origin == "other" {
				list[i].Origin = "unknown"
			}
		}
	}
	return list, nil
}
