package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSEC_N1_N2_NoNetwork(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		hits := make(chan string, 10)
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Logf("no listener on %s: %v", address, err)
				continue
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					hits <- c.LocalAddr().String()
					c.Close()
				}
			}()
			host, port, _ := net.SplitHostPort(l.Addr().String())
			script := fmt.Sprintf("python3 -c 'import socket; socket.create_connection((\"%s\", %s), 2)'", host, port)
			s.expectSilence(hits, "tcp "+host, script)
		}
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer udp.Close()
		name := fmt.Sprintf("@kerf-test-%d-%s", os.Getpid(), filepath.Base(filepath.Dir(s.work)))
		unixgram, err := net.ListenPacket("unixgram", name)
		if err != nil {
			t.Fatal(err)
		}
		defer unixgram.Close()
		path := s.out + "/s"
		file, err := net.ListenPacket("unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, l := range []net.PacketConn{udp, unixgram, file} {
			go func() {
				b := make([]byte, 10)
				for {
					if _, _, err := l.ReadFrom(b); err != nil {
						return
					}
					hits <- "packet"
				}
			}()
		}
		_, port, _ := net.SplitHostPort(udp.LocalAddr().String())
		s.expectSilence(hits, "udp", "python3 -c 'import socket; socket.socket(socket.AF_INET, "+
			"socket.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", "+port+"))'")
		s.expectSilence(hits, "abstract", "python3 -c 'import socket; socket.socket(socket.AF_UNIX, "+
			"socket.SOCK_DGRAM).sendto(b\"x\", b\"\\0"+strings.TrimPrefix(unixgram.LocalAddr().String(), "@")+"\")'")
		s.expectSilence(hits, "TestSEC_N3 sendmsg",
			"python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b\"x\"], [], 0, \""+path+
				"\")'")
		s.expectSilence(hits, "TestSEC_N3 pair",
			"python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendmsg([b\"x\"], [], 0, \""+
				path+"\")'")
	})
}

func (s *site) expectSilence(hits chan string, name, script string) {
	s.t.Helper()
	if text, code := s.inside(script); code == 0 && !strings.Contains(name, "udp") {
		s.t.Errorf("%s: no error: %s", name, text)
	}
	select {
	case <-hits:
		s.t.Errorf("%s: arrived", name)
	case <-time.After(50 * time.Millisecond):
	}
	text, _ := s.outside(script)
	select {
	case <-hits:
	case <-time.After(2 * time.Second):
		s.t.Errorf("%s: control: nothing arrived either: %s", name, text)
	}
}

const families = `
import socket, ctypes, os
for name, args in {"netlink": (16, 3, 0), "packet": (17, 3, 0), "alg": (38, 5, 0), "vsock": (40, 1, 0), "bluetooth": (31, 3, 0), "xdp": (44, 3, 0), "unix": (1, 1, 0)}.items():
    try:
        socket.socket(*args); print("OPEN", name)
    except OSError as e: pass
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(*args)
    if r >= 0 or ctypes.get_errno() not in (1, 38): print("OPEN", name, r, os.strerror(ctypes.get_errno()))
`

func TestSEC_N4_SocketFamiliesAreRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		script := families + `refused("io_uring_setup", 425, 8, ctypes.create_string_buffer(200))`
		if text, code := s.run("python3", "-c", script); text != "" || code != 0 {
			t.Errorf("got %d %s", code, text)
		}
		s.policy.Network = true
		text, _ := s.run("python3", "-c", script)
		if text != "OPEN netlink\n" {
			t.Errorf("TestSEC_N5: with the network: %s", text)
		}
		if text, _ := s.start(bare([]string{"python3", "-c", script})); !strings.Contains(text, "OPEN unix") ||
			!strings.Contains(text, "OPEN netlink") {
			t.Errorf("control: %s", text)
		}
	})
}

func TestSEC_N5_NetworkWhenGranted(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s.policy.Network = true
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if text, code := s.inside("exec 3<>/dev/tcp/127.0.0.1/" + port); code != 0 {
			t.Error(text)
		}
		if text, code := s.inside("echo x > " + s.out + "/new"); code == 0 {
			t.Error(text)
		}
	})
}
