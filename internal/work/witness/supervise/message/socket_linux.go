package message

import (
	"encoding/json"
	"errors"

	"golang.org/x/sys/unix"
)

// maxMessage bounds a message: names are at most PATH_MAX long, roots are few.
const maxMessage = 256 << 10

// Send sends a message, with a descriptor unless it is below zero.
func Send(socket int, m Message, fd int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	for {
		err = unix.Sendmsg(socket, b, rights, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

var errClosed = errors.New("the other end is closed")

// Receiver takes the messages of one end of a socket. The zero value is ready. It is for one
// goroutine.
type Receiver struct {
	buf, rights []byte // for all messages: a new one for each would keep the collector busy
}

// Next takes the next message, with the descriptor that came with it or -1. Nothing of the
// message is shared with the next one.
func (r *Receiver) Next(socket int) (Message, int, error) {
	if r.buf == nil {
		r.buf, r.rights = make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	}
	b, rights := r.buf, r.rights
	for {
		n, rn, _, _, err := unix.Recvmsg(socket, b, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Message{}, -1, err
		}
		if n == 0 {
			return Message{}, -1, errClosed
		}
		fd := -1
		if list, err := unix.ParseSocketControlMessage(rights[:rn]); err == nil && len(list) == 1 {
			if fds, err := unix.ParseUnixRights(&list[0]); err == nil && len(fds) == 1 {
				fd = fds[0]
			}
		}
		var m Message
		if err := json.Unmarshal(b[:n], &m); err != nil {
			return Message{}, -1, err
		}
		return m, fd, nil
	}
}
