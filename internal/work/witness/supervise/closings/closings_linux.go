// Package closings tells by how many processes a file was closed that they wrote. Of two
// like notices in a row inotify makes one, whoever they are of; fanotify makes one only of
// those of the same process.
package closings

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Listener takes notices of files that are closed after writing. Its methods are for one
// goroutine at a time.
type Listener struct {
	fd     int // below zero where the kernel gives no such notices to this process
	buffer [64 << 10]byte
}

// Listen returns a listener that hears of no directory yet.
func Listen() *Listener {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_REPORT_FID|
		unix.FAN_REPORT_DFID_NAME, unix.O_RDONLY)
	if err != nil {
		fd = -1
	}
	return &Listener{fd: fd}
}

// mask is what is told of the files in a directory.
const mask = unix.FAN_CLOSE_WRITE | unix.FAN_EVENT_ON_CHILD

// Add hears of the files in a directory from now on. The result is what notices name it by,
// empty where there are none: file systems without handles have none.
func (l *Listener) Add(path string) string {
	const flags = unix.FAN_MARK_ONLYDIR | unix.FAN_MARK_DONT_FOLLOW
	if l.fd < 0 || unix.FanotifyMark(l.fd, unix.FAN_MARK_ADD|flags, mask, unix.AT_FDCWD, path) != nil {
		return ""
	}
	return directory(path)
}

// AddFile hears of an open file from now on, by whatever name it is closed. The result is what notices
// name it by, empty where there are none.
func (l *Listener) AddFile(fd int) string {
	if l.fd < 0 || unix.FanotifyMark(l.fd, unix.FAN_MARK_ADD, unix.FAN_CLOSE_WRITE, unix.AT_FDCWD,
		"/proc/self/fd/"+strconv.Itoa(fd)) != nil {
		return ""
	}
	return handle(fd, "", unix.AT_EMPTY_PATH)
}

// Remove ends the notices of a directory that Add named so, if it is still there.
func (l *Listener) Remove(path, name string) {
	if name != "" && directory(path) == name {
		_ = unix.FanotifyMark(l.fd, unix.FAN_MARK_REMOVE|unix.FAN_MARK_DONT_FOLLOW, mask, unix.AT_FDCWD, path)
	}
}

// directory is what notices name a directory by: its file system and its handle.
func directory(path string) string {
	var st unix.Statfs_t
	handle := File(path)
	if handle == "" || unix.Statfs(path, &st) != nil {
		return ""
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(st.Fsid.Val[0]))
	b = binary.NativeEndian.AppendUint32(b, uint32(st.Fsid.Val[1]))
	return string(b) + handle
}

// identifies is AT_HANDLE_FID: the handle need not lead back to the file.
const identifies = 0x200

// File is what notices name the file by that has a path now, or empty.
func File(path string) string { return handle(unix.AT_FDCWD, path, 0) }

func handle(dir int, path string, flags int) string {
	h, _, err := unix.NameToHandleAt(dir, path, flags|identifies)
	if err == unix.EINVAL { // before Linux 6.5
		h, _, err = unix.NameToHandleAt(dir, path, flags)
	}
	if err != nil {
		return ""
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(h.Size()))
	b = binary.NativeEndian.AppendUint32(b, uint32(h.Type()))
	return string(append(b, h.Bytes()...))
}

// Next calls told with what the kernel has told since the last time: a file was closed by a
// process that wrote it. Notices about the same file are about several processes, or follow
// each other in time. Of a file that AddFile was told of, dir and name may be empty. lost says that
// there were more than the kernel keeps. The bytes are valid during the call.
func (l *Listener) Next(told func(dir, name, file []byte)) (lost bool) {
	for l.fd >= 0 {
		n, err := unix.Read(l.fd, l.buffer[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		for b := l.buffer[:n]; len(b) >= unix.FAN_EVENT_METADATA_LEN; {
			e := (*unix.FanotifyEventMetadata)(unsafe.Pointer(&b[0]))
			if int(e.Event_len) < unix.FAN_EVENT_METADATA_LEN || int(e.Event_len) > len(b) {
				break
			}
			lost = lost || e.Mask&unix.FAN_Q_OVERFLOW != 0
			if dir, name, file := records(b[e.Metadata_len:e.Event_len]); file != nil {
				told(dir, name, file)
			}
			b = b[e.Event_len:]
		}
	}
	return lost
}

const (
	infoHead   = 4 // kind, padding, length
	fsidSize   = 8
	handleHead = 8 // size, kind
)

// records reads what an event says of the directory, of the name in it and of the file.
func records(b []byte) (dir, name, file []byte) {
	for len(b) >= infoHead {
		size := int(binary.NativeEndian.Uint16(b[2:]))
		if size < infoHead+fsidSize+handleHead || size > len(b) {
			return nil, nil, nil
		}
		kind, rest := b[0], b[infoHead:size]
		end := fsidSize + handleHead + int(binary.NativeEndian.Uint32(rest[fsidSize:]))
		if end > len(rest) {
			return nil, nil, nil
		}
		switch kind {
		case unix.FAN_EVENT_INFO_TYPE_DFID_NAME:
			dir = rest[:end]
			name, _, _ = bytes.Cut(rest[end:], []byte{0})
		case unix.FAN_EVENT_INFO_TYPE_FID:
			file = rest[fsidSize:end]
		}
		b = b[size:]
	}
	return dir, name, file
}

// Close ends all notices.
func (l *Listener) Close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
	}
	l.fd = -1
}
