package binding

import "os"

// identity names a file by what little can be told of it.
func identity(info os.FileInfo) string { return info.Name() + " " + info.Mode().String() }

// inode names a file whatever is in it.
func inode(info os.FileInfo) string { return info.Name() }
