package acp

import (
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// The codes of the protocol that Kerf answers with. Editors show the message, so each
// error has its reason there.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
	codeAuthRequired  = -32000
	codeNotFound      = -32002
)

// invalid says what is wrong with the parameters of a request.
func invalid(format string, args ...any) error {
	return &sdk.RequestError{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func unknownSession(id sdk.SessionId) error {
	return &sdk.RequestError{Code: codeNotFound, Message: fmt.Sprintf("no session %q is open here; use session/new or "+
		"session/load", id)}
}

// requestError is err in the words of the protocol.
func requestError(err error) error {
	code := codeInternal
	var missing *protocol.CredentialsError
	switch {
	case errors.As(err, &missing):
		code = codeAuthRequired
	case errors.Is(err, protocol.ErrNoSession):
		code = codeNotFound
	case errors.Is(err, protocol.ErrInUse):
		code = codeInvalidParams
	}
	return &sdk.RequestError{Code: code, Message: err.Error()}
}
