package quota

import "io/fs"

// allocated is the size of a file.
func allocated(info fs.FileInfo) uint64 { return uint64(info.Size()) }
