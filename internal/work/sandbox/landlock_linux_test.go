package sandbox

import (
	"fmt"

	"kerf/internal/work/boundary"
	"net"
	"os"
	"strings"
	"testing"
)

// newLandlockSite is a read-only site that Landlock alone confines.
func newLandlockSite(t *testing.T) *site {
	if _, err := (machine{}).find(t.Context(), boundary.Landlock, "", nil); err != nil {
		t.Skip(err)
	}
	s := newSite(t)
	s.policy.Mode, s.policy.Backend, s.policy.TmpDir = boundary.ReadOnly, boundary.Landlock, ""
	return s
}

func TestSEC_F12_LandlockWritesNothing(t *testing.T) {
	s := newLandlockSite(t)
	s.write(s.work+"/f", "x\n")
	s.attack("write", s.work, "echo y >> f; echo z > new; mkdir d; ln -s f l; mkfifo p")
	for name, script := range map[string]string{"remove": "rm -f f", "truncate": ": > f", "rename": "mv f g",
		"hard link": "ln f g"} {
		s.write(s.work+"/f", "x\n")
		os.Remove(s.work + "/g")
		s.attack(name, s.work, script)
	}
	text, code := s.inside("cd " + s.out + " && cat victim && echo ok > /dev/null && for d in . /tmp /var/tmp /dev/shm " +
		"$HOME; do echo x > $d/probe 2>/dev/null && echo WROTE $d; done; grep -E " +
		"'^(Cap(Prm|Eff|Inh)|NoNewPrivs|Seccomp:)' /proc/self/status")
	if strings.Contains(text, "WROTE") || !strings.Contains(text, "precious") || code != 0 ||
		!strings.Contains(text, "NoNewPrivs:\t1") || !strings.Contains(text, "Seccomp:\t2") ||
		strings.Count(text, "0000000000000000") != 3 {
		t.Errorf("got %d %s", code, text)
	}
}

func TestSEC_S2_LandlockHidesWhatIsDenied(t *testing.T) {
	s := newLandlockSite(t)
	s.write(s.home+"/.kerf/auth.json", "SECRET")
	s.write(s.home+"/notes", "open")
	s.policy.DenyRead = []string{s.home + "/.kerf"}
	if text, _ := s.inside("cat $HOME/.kerf/auth.json; ls -R $HOME/.kerf; cat $HOME/notes"); strings.Contains(text,
		"SECRET") || !strings.Contains(text, "open") {
		t.Errorf("got %s", text)
	}
	if text, _ := s.outside("cat $HOME/.kerf/auth.json"); text != "SECRET" {
		t.Errorf("control: %s", text)
	}
}

func TestSEC_N1_LandlockHasNoNetwork(t *testing.T) {
	s := newLandlockSite(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	script := "exec 3<>/dev/tcp/127.0.0.1/" + port
	if text, code := s.inside(script); code == 0 {
		t.Errorf("connected: %s", text)
	}
	if text, code := s.inside("echo x > /dev/udp/127.0.0.1/" + port); code == 0 {
		t.Errorf("sent: %s", text)
	}
	if text, code := s.outside(script); code != 0 {
		t.Errorf("control: %s", text)
	}
}

func TestSEC_K1_LandlockReachesNoProcess(t *testing.T) {
	s := newLandlockSite(t)
	self := fmt.Sprint(os.Getpid())
	if text, code := s.inside("kill -0 " + self); code == 0 {
		t.Errorf("a signal: %s", text)
	}
	if text, code := s.inside("cat /proc/" + self + "/environ"); code == 0 {
		t.Errorf("the environment: %.80s", text)
	}
	if text, code := s.outside("kill -0 " + self + " && cat /proc/" + self + "/environ > /dev/null"); code != 0 {
		t.Errorf("control: %s", text)
	}
}

func TestLandlockRefusesWhatItCannotExpress(t *testing.T) {
	for name, p := range map[string]boundary.Plan{
		"writing": {Mode: boundary.WorkspaceWrite}, "network": {Mode: boundary.ReadOnly, Network: true}, "filter": {Mode: boundary.ReadOnly, Proxy: &boundary.Filter{}},
		"private directory": {Mode: boundary.ReadOnly, Mounts: []boundary.Mount{{Kind: boundary.MountTmp, Path: "/tmp", Source: "/x"}}},
	} {
		if expressible(p) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := expressible(boundary.Plan{Mode: boundary.ReadOnly,
		Mounts: []boundary.Mount{{Kind: boundary.MountHideDir, Path: "/tmp"}}}); err != nil {
		t.Error(err)
	}
}
