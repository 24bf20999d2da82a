package capacity

import "time"

// Measured are the figures of one task as doc/fleet.md tells how they were measured, and the
// fleet that its plan is for.
func Measured() Params {
	return Params{Workers: 10_000, Slots: 4, Tasks: 1_000_000, Work: 10 * time.Minute, Spread: 0.8, Peak: 3, Deaths: 0.5,
		Checkpoint: 30 * time.Second, Repositories: 2_000,
		Events: 31, EventBytes: 1_070, StoreBytes: 13_100, Puts: 21, CloneBytes: 50 << 20, FetchBytes: 20 << 10, Retention: 30,
		ShardRate: 50}
}
