package acp

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// listed is a store that lists sessions, and can do nothing else.
type listed struct {
	protocol.SessionStore
	all []protocol.SessionInfo
}

func (s *listed) List(_ context.Context, f protocol.Filter) ([]protocol.SessionInfo, error) {
	var list []protocol.SessionInfo
	for _, i := range s.all {
		if (f.Cursor == "" || string(i.ID) < f.Cursor) && len(list) < f.Limit {
			list = append(list, i)
		}
	}
	return list, nil
}

func TestPagesHaveEverySessionOnce(t *testing.T) {
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 2*pageSize + 50} {
		all := &listed{}
		for i := range n {
			all.all = append(all.all, protocol.SessionInfo{ID: protocol.SessionID(fmt.Sprintf("0190a0b0-0000-7000-8000-%012d",
				n-i))})
		}
		a := &agent{o: Options{Store: all}}
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
