package llm

import (
	"net/url"
	"strings"
)

// CallHeader is the HTTP header under which a client names a call to a server
// that wants to know it, such as the one of llmtest.
const CallHeader = "X-SpatialSTALE-Call"

// Name names the call as "trial/slot", escaped as in the path of a URL.
func (r *Request) Name() string {
	parts := strings.Split(r.Slot, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return url.PathEscape(r.Trial) + "/" + strings.Join(parts, "/")
}

// ParseName returns the trial and the slot of a call's name; ok is false when
// it is none.
func ParseName(name string) (trial, slot string, ok bool) {
	trial, slot, ok = strings.Cut(name, "/")
	if !ok {
		return "", "", false
	}
	trial, err1 := url.PathUnescape(trial)
	slot, err2 := url.PathUnescape(slot)
	if err1 != nil || err2 != nil {
		return "", "", false
	}
	return trial, slot, true
}
