//go:build !unix

package growth

import "time"

var began = time.Now()

func spent() time.Duration { return time.Since(began) }
