//go:build !race

package race

// Watched is set when the detector, which makes programs up to twenty times slower, watches.
const Watched = false
