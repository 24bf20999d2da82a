package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

const emptying = `{"version":1,"title":"empties","rounds":[
{"items":[{"call":"exec_command","args":{"cmd":": > big"},"id":"c1"}]},
{"items":[{"message":"It is done."}]}]}`

// TestACPAsksBeforeALoss: a command that is about to destroy what cannot be kept is held,
// the user is asked with the name of the file, and the answer decides.
func TestACPAsksBeforeALoss(t *testing.T) {
	t.Parallel()
	for _, answer := range []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindRejectOnce} {
		s := servingWith(t, "sandbox_mode = \"workspace-write\"\n", emptying, map[string]string{"big": ""})
		big := filepath.Join(s.dir, "big")
		const size = 1 << 40 // with a hole, and larger than what is free
		if err := os.Truncate(big, size); err != nil {
			t.Skip("SKIP ", err)
		}
		asked := 0
		e := &editor{choose: func(r sdk.RequestPermissionRequest) sdk.PermissionOptionKind {
			b, err := json.Marshal(r)
			if err != nil || !strings.Contains(string(b), big+" (1099511627776 bytes), and its content cannot be kept") {
				return sdk.PermissionOptionKindAllowOnce // another question
			}
			asked++
			if st, err := os.Stat(big); err != nil || st.Size() != size {
				t.Errorf("it was changed before the answer: %v", err)
			}
			return answer
		}}
		conn := s.edits(t, e)
		say(t, conn, s.newSession(t, conn), "empty it")
		st, err := os.Stat(big)
		if err != nil {
			t.Fatal(err)
		}
		if want := answer == sdk.PermissionOptionKindAllowOnce; asked != 1 || (st.Size() == 0) != want {
			t.Errorf("answered %s: asked %d times, the file has %d bytes", answer, asked, st.Size())
		}
	}
}
