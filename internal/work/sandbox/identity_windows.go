package sandbox

import "io/fs"

// Nothing is enforced here, and so nothing needs to be told apart.
func idOf(fs.FileInfo) (fileID, bool) { return fileID{}, false }
