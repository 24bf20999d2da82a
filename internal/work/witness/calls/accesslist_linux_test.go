package calls

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// list is an access list as the kernel reads it: tags with their permissions.
func list(entries ...[2]uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, e[0])
		b = binary.LittleEndian.AppendUint16(b, e[1])
		id := ^uint32(0)
		if e[0] == 2 || e[0] == 8 { // a user or a group that is named
			id = 1234
		}
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}

// TestPermissionsOfAnAccessList has the kernel as judge.
func TestPermissionsOfAnAccessList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for owner := range uint16(8) {
		for group := range uint16(8) {
			for mask := range uint16(9) { // 8: there is none
				l := list([2]uint16{1, owner}, [2]uint16{4, group}, [2]uint16{0x20, owner ^ group})
				if mask < 8 {
					l = list([2]uint16{1, owner}, [2]uint16{2, 7}, [2]uint16{4, group}, [2]uint16{8, 5}, [2]uint16{0x10, mask},
						[2]uint16{0x20, owner ^ group})
				}
				if err := unix.Setxattr(file, AccessList, l, 0); errors.Is(err, unix.ENOTSUP) {
					t.Skip("the file system of the tests has no access lists")
				} else if err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				if got := permissions(l); got != uint32(info.Mode().Perm()) {
					t.Fatalf("owner %o, group %o, mask %o: %o, the kernel gives %o", owner, group, mask, got, info.Mode().Perm())
				}
			}
		}
	}
}

func TestPermissionsThatACallAsksFor(t *testing.T) {
	fail := errors.New("no memory")
	read := func(at uint64, to []byte) error {
		if at != 77 {
			return fail
		}
		copy(to, list([2]uint16{1, 6}, [2]uint16{4, 4}, [2]uint16{0x20, 0}))
		return nil
	}
	for _, c := range []struct {
		number uint32
		args   [6]uint64
		want   uint32
		fails  bool
	}{
		{number: unix.SYS_FCHMOD, args: [6]uint64{3, 0o100640}, want: 0o640},
		{number: unix.SYS_FCHMODAT, args: [6]uint64{3, 99, 0o751}, want: 0o751},
		{number: unix.SYS_FSETXATTR, args: [6]uint64{3, 99, 77, 28}, want: 0o640},
		{number: unix.SYS_SETXATTR, args: [6]uint64{98, 99, 77, 28}, want: 0o640},
		{number: unix.SYS_SETXATTR, args: [6]uint64{98, 99, 77, 1 << 60}, want: 0o640},
		{number: unix.SYS_SETXATTR, args: [6]uint64{98, 99, 78, 28}, fails: true},
	} {
		got, err := Of(c.number).Permissions(&c.args, read)
		if (err != nil) != c.fails || got != c.want {
			t.Errorf("call %d: %o, %v", c.number, got, err)
		}
	}
}
