package boundary

import (
	"io/fs"
	"time"
)

// Nothing is enforced here, and so nothing needs to be told apart.
func IdentityOf(fs.FileInfo) (FileID, bool) { return FileID{}, false }

func changedAt(fs.FileInfo) time.Time { return time.Time{} }
