package carry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// data is the data of the next event that a browser is sent.
func data(t *testing.T, r *bufio.Reader, into any) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// TestStreamsShareAConnection carries three streams over one connection: each event comes
// under the number of its stream, a stream that the browser leaves ends alone, one that ends
// by itself makes room for its number, and with the connection all end.
func TestStreamsShareAConnection(t *testing.T) {
	var c Carriers
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Serve(w, r)
		close(over)
	}))
	defer server.Close()
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the type is %q", got)
	}
	r := bufio.NewReader(res.Body)
	var id string
	data(t, r, &id)
	left := map[int]chan struct{}{}
	carry := func(n int) {
		ended := make(chan struct{})
		left[n] = ended
		err := c.Carry(id, n, func(ctx context.Context, out Out) {
			defer close(ended)
			if out.Send("hello", n*10) != nil || out.Flush() != nil || out.Beat() != nil {
				t.Error("the browser is gone")
			}
			<-ctx.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			N, Data int
			Event   string
		}
		data(t, r, &got)
		if got.N != n || got.Data != n*10 || got.Event != "hello" {
			t.Errorf("stream %d: %+v", n, got)
		}
	}
	carry(1)
	carry(2)
	carry(3)
	if err := c.Carry(id, 2, nil); err == nil {
		t.Error("a number is used twice")
	}
	c.Leave(id, 2)
	<-left[2]
	for _, n := range []int{1, 3} {
		select {
		case <-left[n]:
			t.Errorf("stream %d ended with another", n)
		default:
		}
	}
	c.Leave(id, 2)
	c.Leave(id, 7)
	c.Leave("x", 1)
	ended := make(chan struct{})
	if err := c.Carry(id, 4, func(context.Context, Out) { close(ended) }); err != nil {
		t.Fatal(err)
	}
	<-ended
	_ = res.Body.Close()
	<-over
	<-left[1]
	<-left[3]
	if err := c.Carry(id, 5, nil); !errors.Is(err, ErrGone) {
		t.Errorf("a connection that is gone: %v", err)
	}
}

// TestStreamsAreBounded carries as many streams as a connection takes, and one more.
func TestStreamsAreBounded(t *testing.T) {
	var c Carriers
	x := &carrier{ctx: t.Context(), streams: map[int]context.CancelFunc{}}
	c.put("x", x)
	for n := range most {
		if err := c.Carry("x", n, func(ctx context.Context, _ Out) { <-ctx.Done() }); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Carry("x", most, nil); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	for n := range most {
		c.Leave("x", n)
	}
	x.g.Wait()
	if len(x.streams) != 0 {
		t.Errorf("%d streams are left", len(x.streams))
	}
}
