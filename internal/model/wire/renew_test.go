package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// gateway takes only the key "good".
func gateway(t *testing.T, asked *[]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, `{"error":{"message":"token expired"}}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "data: end\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// A refused key is renewed once, for events and documents alike.
func TestRejectedKey(t *testing.T) {
	var asked []string
	s := gateway(t, &asked)
	for _, tt := range []struct {
		renewed string
		more    bool
		want    int
		ok      bool
	}{{"good", true, 2, true}, {"bad", true, 2, false}, {"good", false, 1, false}} {
		for _, fetch := range []bool{false, true} {
			asked = nil
			key := "old"
			e := wire.New(wire.Options{BaseURL: s.URL, Key: func(context.Context) (string, error) { return key, nil },
				Rejected: func(refused string) bool {
					if refused != "old" {
						t.Errorf("refused %q", refused)
					}
					key = tt.renewed
					return tt.more
				}})
			var err error
			if fetch {
				_, err = e.Fetch(t.Context(), wire.Call{Path: "/x"})
			} else {
				err = e.Stream(t.Context(), wire.Call{Path: "/x", Body: wire.NewBody()},
					func(sse.Event, map[string]string) (bool, error) { return true, nil })
			}
			if (err == nil) != tt.ok || len(asked) != tt.want {
				t.Errorf("%+v: asked %q, err %v", tt, asked, err)
			}
			var told *model.Error
			if err != nil && (!errors.As(err, &told) || told.Kind != model.Auth) {
				t.Errorf("err = %v", err)
			}
		}
	}
}

// A stream without a last event is whole when the decoder says so.
func TestEnd(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: x\n\n")
	}))
	t.Cleanup(s.Close)
	e := wire.New(wire.Options{BaseURL: s.URL})
	for _, whole := range []bool{true, false} {
		err := e.Stream(t.Context(), wire.Call{Path: "/", Body: wire.NewBody(), Last: "the end",
			End: func() (bool, error) { return whole, nil }},
			func(sse.Event, map[string]string) (bool, error) { return false, nil })
		if (err == nil) != whole {
			t.Errorf("whole %v: %v", whole, err)
		}
	}
	fault := errors.New("of the caller")
	err := e.Stream(t.Context(), wire.Call{Path: "/", Body: wire.NewBody(),
		End: func() (bool, error) { return false, fault }},
		func(sse.Event, map[string]string) (bool, error) { return false, nil })
	if !errors.Is(err, fault) {
		t.Errorf("err = %v", err)
	}
}
