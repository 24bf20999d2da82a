// Package inode tells what a look at a file says of its inode.
package inode

import "io/fs"

// Changed is when an inode last changed in any way, in nanoseconds since 1970, which nobody can set
// back; 0 where that is not known.
func Changed(info fs.FileInfo) int64 {
	changed, _ := of(info)
	return changed
}

// Number is that of an inode on its file system; 0 where that is not known.
func Number(info fs.FileInfo) uint64 {
	_, number := of(info)
	return number
}
