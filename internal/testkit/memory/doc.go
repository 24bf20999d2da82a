// Package memory runs a package's tests with their temporary files in memory, where that can be.
//
// Tests that make and remove thousands of files, or flush each of them, spend most of their time
// in the file system of the disk. What they promise does not depend on it.
package memory
