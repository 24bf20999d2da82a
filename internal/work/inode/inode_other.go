//go:build !linux && !darwin

package inode

import "io/fs"

func of(fs.FileInfo) (changed int64, number uint64) { return 0, 0 }
