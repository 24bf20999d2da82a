// Package beside does many small things on all processors.
package beside

import (
	"context"
	"runtime"
	"sync"
)

// Each calls do with the numbers from 0 to n-1, at the same time from as many goroutines as
// there are processors, and waits for them. When ctx ends no more calls begin, and its error is returned.
func Each(ctx context.Context, n int, do func(i int)) error {
	var g sync.WaitGroup
	workers := max(1, min(runtime.GOMAXPROCS(0), n))
	for w := range workers {
		g.Go(func() {
			for i := w * n / workers; i < (w+1)*n/workers && ctx.Err() == nil; i++ {
				do(i)
			}
		})
	}
	g.Wait()
	return ctx.Err()
}
