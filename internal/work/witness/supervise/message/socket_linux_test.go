package message

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

// TestMessagesAreTheirOwn: what was received stays as it was when the next message comes, a
// shorter one says no more than it holds, and descriptors go with their message.
func TestMessagesAreTheirOwn(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	sent := []Message{
		{Op: Watch, ID: 1, Roots: []string{strings.Repeat("r", 5000)}, Entry: json.RawMessage(`{"a":"` + strings.Repeat("x", 9000) + `"}`)},
		{Op: End, ID: 2, Entry: json.RawMessage(`{"b":1}`), Path: "p"},
		{Op: Cut, ID: 3},
	}
	var r Receiver
	var got []Message
	for i, m := range sent {
		fd := -1
		if i == 1 {
			fd = int(null.Fd())
		}
		if err := Send(pair[0], m, fd); err != nil {
			t.Fatal(err)
		}
		m, came, err := r.Next(pair[1])
		if err != nil || (came >= 0) != (i == 1) {
			t.Fatalf("message %d: descriptor %d, %v", i, came, err)
		}
		if came >= 0 {
			unix.Close(came)
		}
		got = append(got, m)
	}
	if d := cmp.Diff(sent, got); d != "" {
		t.Error(d)
	}
	const times = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if err := Send(pair[0], sent[2], -1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Next(pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / times; n > maxMessage/8 {
		t.Errorf("%d bytes are allocated for one message", n)
	}
	unix.Close(pair[0])
	if _, _, err := r.Next(pair[1]); err != errClosed {
		t.Errorf("at the end: %v", err)
	}
}
