package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/llm"
)

// A fault is why a request was not answered, in words for whoever made it.
type fault struct {
	status  int
	text    string
	retry   time.Duration       // when to come again; 0 where that would not help
	details []*huma.ErrorDetail // what is wrong, and where
}

func (f *fault) Error() string { return f.text }

func failf(status int, format string, args ...any) error {
	return &fault{status: status, text: fmt.Sprintf(format, args...)}
}

// seconds is what Retry-After says: a second at least, an hour at most.
func (f *fault) seconds() string {
	return strconv.Itoa(int(math.Ceil(min(max(f.retry, time.Second), time.Hour).Seconds())))
}

// statusGone is what is logged of a request whose client did not wait.
const statusGone = 499

// faultOf says what an error means to whoever asked.
func faultOf(err error, limit time.Duration) *fault {
	var f *fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, llm.ErrBudget):
		return &fault{status: http.StatusPaymentRequired, text: "what this token may spend does not reach for another call of the model; entries that need none are still judged"}
	case errors.Is(err, audit.ErrUnaudited): // a call may have been too slow, and the audit was not
		return unaudited(err)
	case errors.Is(err, context.DeadlineExceeded):
		return &fault{
			status: http.StatusGatewayTimeout, retry: retryPause,
			text: fmt.Sprintf("the audit took longer than %v; what was judged is remembered: ask again, or for fewer entries", limit),
		}
	case errors.Is(err, context.Canceled):
		return &fault{status: statusGone, text: "the request was given up"}
	}
	return &fault{status: http.StatusUnprocessableEntity, text: strings.TrimPrefix(err.Error(), "audit: ")}
}

// unaudited is the fault of an audit of which every call failed. A provider's
// words stay here: they may name addresses and accounts.
func unaudited(err error) *fault {
	f := &fault{status: http.StatusBadGateway, text: fmt.Sprintf("the model could not be asked (%s); nothing was audited", failure(err))}
	var e *llm.Error
	if errors.As(err, &e) && e.Kind.Retryable() {
		f.status, f.retry = http.StatusServiceUnavailable, max(e.RetryAfter, 5*time.Second)
	}
	return f
}

// failure is the kind of a call's failure.
func failure(err error) string {
	switch kind := llm.KindOf(err); {
	case errors.Is(err, llm.ErrBudget):
		return "budget"
	case kind != "":
		return string(kind)
	}
	return "other"
}
