package host

// Redact takes secrets out of words that a face keeps beyond a session.
func (h *Host) Redact(words string) string { return string(h.redact([]byte(words))) }
