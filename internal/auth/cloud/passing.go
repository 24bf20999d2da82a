package cloud

import "net/http"

// Passing is a failure that another try may not meet: a server could not be reached, or was
// busy. The credentials are not at fault.
type Passing struct{ Err error }

// Error gives the failure.
func (p *Passing) Error() string { return p.Err.Error() }

// Unwrap returns the failure.
func (p *Passing) Unwrap() error { return p.Err }

// Passes tells whoever asks for a key that another try is worth it.
func (p *Passing) Passes() bool { return true }

// Busy reports whether a server answers so when another try may get a better answer.
func Busy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}
