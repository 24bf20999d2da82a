package handle

import "io/fs"

// Named is a name in a directory, and the type of what has it.
type Named struct {
	Name string
	Type fs.FileMode
}
