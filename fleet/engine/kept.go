package engine

import "time"

// Namespace is that of the embedded engine.
const Namespace = "default"

// Kept is how long the engine keeps what it knows of a task that is over; kerf-fleet gc keeps its contents as long.
const Kept = 30 * 24 * time.Hour
