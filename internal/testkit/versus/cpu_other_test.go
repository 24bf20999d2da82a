//go:build !unix

package versus

import "time"

// processorTime is not told here.
func processorTime() time.Duration { return 0 }
