package llm

import (
	"errors"
	"fmt"
	"time"
)

// A Kind is the class of an Error: what a caller can do about it.
type Kind string

// The kinds of errors.
const (
	KindAuth         Kind = "auth"          // the credential is missing or refused
	KindQuota        Kind = "quota"         // the account has nothing left
	KindUnknownModel Kind = "unknown-model" // the provider has no such model
	KindBadRequest   Kind = "bad-request"   // the provider refuses the request itself
	KindRateLimit    Kind = "rate-limit"    // too many requests for now
	KindServer       Kind = "server"        // the provider failed
	KindNetwork      Kind = "network"       // no connection, or it broke
	KindNoServer     Kind = "no-server"     // no connection, and there never was one (Retry); or none that can be trusted
	KindTimeout      Kind = "timeout"       // no answer in time
	KindMalformed    Kind = "malformed"     // an answer that cannot be read
	KindCanceled     Kind = "canceled"      // the caller gave up
)

// Retryable reports whether the same request may succeed later.
func (k Kind) Retryable() bool {
	switch k {
	case KindRateLimit, KindServer, KindNetwork, KindTimeout, KindMalformed:
		return true
	}
	return false
}

// Fatal reports whether every further call to the same model would fail too.
func (k Kind) Fatal() bool {
	switch k {
	case KindAuth, KindQuota, KindUnknownModel, KindNoServer:
		return true
	}
	return false
}

// An Error is the failure of one call. It never holds a credential or the
// content of a prompt.
type Error struct {
	Kind       Kind
	Model      string
	Slot       string        // the slot of the request
	Message    string        // the provider's own words, or ours
	RetryAfter time.Duration // how long the provider asks to wait; 0 when it does not say
	Unreached  bool          // of kind network: the server was not even reached
	// Slow says that the server worked for all the time that one attempt may take:
	// the same request would hardly be faster.
	Slow bool
	// Answered says that an answer was written, at least in part, and thrown
	// away. It may be billed, whatever the kind says.
	Answered bool
	// Usage is what the answer took, where it says so.
	Usage    Usage
	Attempts int   // how often the call was tried, where it was tried again; 0 otherwise
	Err      error // the cause, if any
}

// Error says what happened, to which call.
func (e *Error) Error() string {
	where := e.Model
	if e.Slot != "" {
		where += " at " + e.Slot
	}
	text := fmt.Sprintf("%s: %s", where, e.Kind)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (tried %d times)", e.Attempts)
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, "" when it is not an *Error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
