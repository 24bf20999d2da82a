package sandbox

import (
	"fmt"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/proxy"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// serve makes a proxy that waits for the listener of a sandbox. socket is what
// the launcher sends it through; stop ends the proxy and must be called once.
//
// One goroutine waits for the listener and then serves it. It ends when stop
// closes our end of the socket, or the listener.
func serve(f *boundary.Filter) (socket *os.File, stop func(), err error) {
	p, err := proxy.New(proxy.Options{Domains: f.Domains, Limited: f.Limited, Ask: f.Ask, Log: f.Log})
	if err != nil {
		return nil, nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("network filter: %w", err)
	}
	socket = os.NewFile(uintptr(pair[1]), "kerf-proxy")
	var stopped atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		l, err := receive(pair[0])
		if err != nil || stopped.Load() {
			return // the sandbox never came to be
		}
		defer l.Close()
		_ = p.Serve(l) // what goes wrong is seen by the command
	})
	stop = func() {
		stopped.Store(true)
		_ = unix.Shutdown(pair[0], unix.SHUT_RDWR)
		p.Close()
		wg.Wait()
		unix.Close(pair[0])
	}
	return socket, stop, nil
}

// receive takes a listener from a socket.
func receive(fd int) (net.Listener, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		_, n, _, _, err := unix.Recvmsg(fd, data, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		messages, err := unix.ParseSocketControlMessage(rights[:n])
		if err != nil || len(messages) != 1 {
			return nil, fmt.Errorf("network filter: no listener came")
		}
		fds, err := unix.ParseUnixRights(&messages[0])
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(fds[0]), "kerf-proxy-listener")
		defer f.Close()
		return net.FileListener(f)
	}
}
