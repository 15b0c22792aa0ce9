package assay

import (
	"fmt"
	"time"
)

// ErrorKind is why a call has no answer. A refused purchase is an answer, not an error.
//
//	if errors.Is(err, assay.ErrDeadline) { … }
type ErrorKind string

const (
	// ErrAddress: an address is not one.
	ErrAddress ErrorKind = "address"
	// ErrArgument: an expectation is given and empty. Nothing was sent.
	ErrArgument ErrorKind = "argument"
	// ErrConnect: there is no connection to any of the addresses.
	ErrConnect ErrorKind = "connect"
	// ErrTLS: the handshake failed at all addresses.
	ErrTLS ErrorKind = "tls"
	// ErrLost: the connection ended before the answer, and so did that of the retry.
	ErrLost ErrorKind = "lost"
	// ErrDeadline: the deadline passed. The error is context.DeadlineExceeded, too, if it was the
	// context's.
	ErrDeadline ErrorKind = "deadline"
	// ErrCancelled: the context was cancelled. The error is context.Canceled, too.
	ErrCancelled ErrorKind = "cancelled"
	// ErrStatus: the server could not perform the call. Error has its status.
	ErrStatus ErrorKind = "status"
	// ErrProtocol: the peer does not follow the protocol.
	ErrProtocol ErrorKind = "protocol"
	// ErrClosed: the client was closed.
	ErrClosed ErrorKind = "closed"
	// ErrTooLarge: the request exceeds the limit of a frame or of a head.
	ErrTooLarge ErrorKind = "too-large"
	// ErrTooMany: too many calls wait, or this one has waited for Options.LongestWait.
	ErrTooMany ErrorKind = "too-many"
)

// Error returns the kind's name.
func (k ErrorKind) Error() string { return "assay: " + string(k) }

// Error is the error of a call.
type Error struct {
	Kind ErrorKind
	// Status is the server's, for ErrStatus.
	Status Status
	// Message explains the error.
	Message string
	// RetryAfter is the delay that the server asks for before a retry. 0: it named none.
	RetryAfter time.Duration
	// AppStoreErrorCode is Apple's errorCode, where the App Store refused a Fetch: 4040010 for an
	// unknown transaction. 0: there is none.
	AppStoreErrorCode int64
	cause             error
}

// Error describes the error.
func (e *Error) Error() string {
	if e.Kind == ErrStatus {
		return fmt.Sprintf("assay: %v: %s", e.Status, e.Message)
	}
	return "assay: " + e.Message
}

// Is makes errors.Is(err, ErrConnect) work.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the error below this one, for example the system's.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same call can succeed later without a change. All calls are safe
// to repeat.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrConnect, ErrLost, ErrDeadline, ErrTooMany:
		return true
	case ErrStatus:
		return e.RetryAfter > 0 || e.Status == StatusUnavailable
	}
	return false
}

func newError(kind ErrorKind, message string, cause error) *Error {
	return &Error{Kind: kind, Message: message, cause: cause}
}

// protocolError says that the peer does not follow the protocol.
func protocolError(problem string) *Error {
	return newError(ErrProtocol, "the peer is not an Assay server: "+problem, nil)
}

// answerError is the error of an answer whose status is not OK.
func answerError(head *ResponseHead) *Error {
	if head.Status == StatusDeadlineExceeded {
		return newError(ErrDeadline, "the deadline passed: "+head.Message, nil)
	}
	return statusError(head)
}

func statusError(head *ResponseHead) *Error {
	return &Error{
		Kind: ErrStatus, Status: head.Status, Message: head.Message,
		RetryAfter:        time.Duration(Value(head.RetryAfterMs)) * time.Millisecond,
		AppStoreErrorCode: Value(head.AppStoreErrorCode),
	}
}
