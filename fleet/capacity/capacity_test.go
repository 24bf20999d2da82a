package capacity

import (
	"testing"
	"time"
)

// Cases whose answer is known without the play.
func TestPlan(t *testing.T) {
	p := Measured()
	p.Deaths = 0
	// A slot that is always busy: half as many slots as are needed makes work wait.
	p.Workers, p.Slots, p.Tasks, p.Work, p.Spread, p.Peak = 1, 1, 1000, 2*time.Minute, 0, 1
	r := Plan(p)
	// The last of 2,000 minutes of work ends 560 minutes after the day.
	if r.Waited99 < 9*time.Hour || r.Waited99 > 560*time.Minute || r.PeakBusy != 1 {
		t.Errorf("an overloaded slot: %+v", r)
	}
	p.Slots = 1000
	if r = Plan(p); r.Waited99 != 0 || r.Resumed != 0 || r.Busy > 0.01 {
		t.Errorf("more slots than tasks: %+v", r)
	}
	p.Deaths = 100
	if r = Plan(p); r.Resumed == 0 || r.LostWork == 0 {
		t.Errorf("workers that die: %+v", r)
	}
	if a, b := Plan(p), Plan(p); a != b {
		t.Error("the same day differs")
	}
	p.Repositories, p.Workers, p.Tasks, p.CloneBytes, p.FetchBytes = 1, 2, 1000, 100, 1
	if got := Plan(p).CloneBytesDay; got != 2*100+998 {
		t.Errorf("clones: %d", got)
	}
	if power(513) != 1024 || power(1) != 512 {
		t.Error("shards")
	}
	if err := (Params{}).Check(); err == nil {
		t.Error("nothing was taken for a fleet")
	}
}
