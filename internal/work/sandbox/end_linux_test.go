package sandbox

import (
	"errors"
	"os"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
)

// When a box is closed nothing of its command runs any more: neither what it left
// behind, nor what was killed.
func TestSEC_O1_NothingRunsWhenTheBoxIsClosed(t *testing.T) {
	each(t, func(t *testing.T) {
		const script = `for i in 1 2 3 4 5 6; do setsid sh -c 'while :; do mkdir made-$1-$$ 2>/dev/null; rmdir made-$1-$$; done' x $i >/dev/null 2>&1 </dev/null & done; exec >/dev/null 2>&1
while [ -z "$(ls)" ]; do :; done`
		rounds := long.Of(200, 50, 10)
		s := newSite(t)
		changed := func() time.Time {
			info, err := os.Stat(s.work)
			if err != nil {
				t.Fatal(err)
			}
			return info.ModTime()
		}
		for range rounds {
			for _, end := range []string{"exit 0", "kill -9 $$"} {
				box, err := Prepare(t.Context(), s.policy, false, []string{"bash", "-c", script + "\n" + end})
				if err != nil {
					t.Fatal(err)
				}
				// With Linger nothing is looked for at the end: the box has to see to it alone.
				p, err := proc.Start(t.Context(), proc.Spec{Argv: box.Argv, Dir: s.work, Env: os.Environ(),
					ExtraFiles: box.Files, Confined: box.Confined, Started: box.Started, Linger: true})
				if err != nil {
					t.Fatal(err)
				}
				if !p.Wait(time.Minute) {
					t.Fatal("it hangs")
				}
				box.Close()
				before := changed()
				time.Sleep(3 * time.Millisecond)
				if changed() != before {
					t.Fatalf("%s: somebody still writes", end)
				}
				p.Kill()
			}
		}
	})
}

// TestABoxThatIsClosedKeepsNothing, whether its command ran or was not started: no file of it stays open, and no
// placeholder stands.
func TestABoxThatIsClosedKeepsNothing(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.policy.Session = boundary.NewSession(boundary.Disk{}, s.policy.Mode, func(string) boundary.Policy { return s.policy })
		for _, run := range []bool{true, false} {
			box, err := Prepare(t.Context(), s.policy, false, []string{"true"})
			if err != nil {
				t.Fatal(err)
			}
			if run {
				if text, code := s.start(box); code != 0 {
					t.Errorf("%d %s", code, text)
				}
			}
			if len(box.Files) == 0 {
				t.Error("it has no files")
			}
			for range 2 {
				if found := box.Close(); len(found) != 0 {
					t.Errorf("nothing was done, and told is %+v", found)
				}
			}
			for _, f := range box.Files {
				if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
					t.Errorf("%s is open: %v", f.Name(), err)
				}
			}
			if lost := box.Lost(1, ""); (lost == nil) != run {
				t.Errorf("it ran: %v, and what is said of it: %v", run, lost)
			}
			for _, m := range box.plan.Masks {
				if _, err := os.Lstat(m.Path); err == nil {
					t.Errorf("%s stands", m.Path)
				}
			}
		}
	})
}
