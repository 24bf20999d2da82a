package binding

import "os"

// identity names a file by what little can be told of it.
func identity(info os.FileInfo) string { return info.Name() + " " + info.Mode().String() }

// place names a file whatever is in it.
func place(info os.FileInfo) string { return info.Name() }
