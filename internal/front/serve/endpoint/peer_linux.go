package endpoint

import "golang.org/x/sys/unix"

// uidOf is the user of the program at the other side of a socket.
func uidOf(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
