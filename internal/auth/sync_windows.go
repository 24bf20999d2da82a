package auth

// syncDir has no meaning here: directories cannot be synced.
func syncDir(string) error { return nil }
