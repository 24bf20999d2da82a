package boundary

import "io/fs"

// Nothing is enforced here, and so nothing needs to be told apart.
func IdentityOf(fs.FileInfo) (FileID, bool) { return FileID{}, false }
