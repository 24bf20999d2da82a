package acp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// shelf lists sessions, and opens none.
type shelf []protocol.SessionInfo

func (s shelf) Open(context.Context, protocol.OpenOptions) (protocol.Session, error) {
	return nil, errors.New("nothing is opened here")
}

func (s shelf) List(_ context.Context, f protocol.Filter) ([]protocol.SessionInfo, error) {
	var list []protocol.SessionInfo
	for _, i := range s {
		if (f.Cursor == "" || string(i.ID) < f.Cursor) && len(list) < f.Limit {
			list = append(list, i)
		}
	}
	return list, nil
}

func TestPagesHaveEverySessionOnce(t *testing.T) {
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 2*pageSize + 50} {
		var all shelf
		for i := range n {
			all = append(all, protocol.SessionInfo{ID: protocol.SessionID(fmt.Sprintf("0190a0b0-0000-7000-8000-%012d", n-i))})
		}
		a := &agent{o: Options{Sessions: all}}
		seen := map[sdk.SessionId]bool{}
		pages := 0
		for cursor := (*string)(nil); ; pages++ {
			page, err := a.ListSessions(t.Context(), sdk.ListSessionsRequest{Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page.Sessions {
				if seen[s.SessionId] {
					t.Errorf("%s comes twice", s.SessionId)
				}
				seen[s.SessionId] = true
			}
			if cursor = page.NextCursor; cursor == nil {
				break
			}
		}
		if len(seen) != n || pages > n/pageSize {
			t.Errorf("%d sessions came on %d pages, want %d", len(seen), pages+1, n)
		}
	}
}
