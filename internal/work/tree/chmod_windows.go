package tree

import "io/fs"

// chmod does nothing: directories have access lists here.
func (h handle) chmod(fs.FileMode) error { return nil }
