package endings

import (
	"kerf/internal/work/witness/supervise/closings"
	"kerf/internal/work/witness/supervise/content"
)

// Files are the files with several names that a command changes. What inotify tells of a file itself
// names it by a number. The zero value is ready to use; its methods are for one goroutine at a time.
type Files struct {
	counted  map[int32]*Several
	numbers  map[content.Inode]int32
	listener *closings.Listener // or nil
	handles  map[string]int32   // by which it names files
}

// Of returns what is counted of the file with a number, or nil.
func (f *Files) Of(number int32) *Several { return f.counted[number] }

// Number returns the number of a file that is counted, or 0.
func (f *Files) Number(id content.Inode) int32 { return f.numbers[id] }

// Count begins to count for a file.
func (f *Files) Count(id content.Inode, number int32) *Several {
	if e := f.counted[number]; e != nil {
		return e
	}
	if f.counted == nil {
		f.counted, f.numbers = make(map[int32]*Several), make(map[content.Inode]int32)
	}
	f.counted[number], f.numbers[id] = &Several{}, number
	return f.counted[number]
}

// Each calls g with each file that is counted.
func (f *Files) Each(g func(content.Inode, *Several)) {
	for id, number := range f.numbers {
		g(id, f.counted[number])
	}
}

// Hear takes notices of each process that closes an open file, by whatever name, if the kernel tells.
func (f *Files) Hear(fd int, number int32) {
	if f.listener == nil {
		f.listener, f.handles = closings.Listen(), make(map[string]int32)
	}
	if handle := f.listener.AddFile(fd); handle != "" {
		f.handles[handle] = number
	}
}

// Next counts what was told since, and calls found with each file that was closed more often than the
// command is known to have opened it. lost says that more was closed than the kernel tells.
func (f *Files) Next(found func(number int32)) (lost bool) {
	return f.listener != nil && f.listener.Next(func(_, _, file []byte) {
		if number := f.handles[string(file)]; f.counted[number].Closed() {
			found(number)
		}
	})
}

// Close ends all notices.
func (f *Files) Close() {
	if f.listener != nil {
		f.listener.Close()
	}
}
