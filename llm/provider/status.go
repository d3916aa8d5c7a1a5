package provider

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// StatusKind returns what an HTTP status alone says of a failed call. A status
// of success says nothing, which is a malformed answer.
func StatusKind(status int) llm.Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return llm.KindAuth
	case status == http.StatusPaymentRequired:
		return llm.KindQuota
	case status == http.StatusNotFound:
		return llm.KindUnknownModel
	case status == http.StatusTooManyRequests, status == http.StatusTooEarly:
		return llm.KindRateLimit
	case status == http.StatusRequestTimeout:
		return llm.KindTimeout
	case status == http.StatusConflict, status >= 500:
		return llm.KindServer
	case status >= 300:
		return llm.KindBadRequest
	}
	return llm.KindMalformed
}

// longestAsk bounds what RetryAfter returns.
const longestAsk = 30 * 24 * time.Hour

// RetryAfter returns how long a server asks to wait: retry-after-ms in
// milliseconds, else Retry-After in seconds or as a date, which is compared
// with the server's own Date where it sends one, else with now. It is 0 when
// the server does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	asked := h.Get("Retry-After")
	if d, ok := parseWait(asked, time.Second); ok {
		return d
	}
	until, err := http.ParseTime(asked)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(longestAsk, max(0, until.Sub(now)))
}

func parseWait(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return 0, false
	}
	return time.Duration(min(float64(longestAsk), max(0, n*float64(unit)))), true
}
